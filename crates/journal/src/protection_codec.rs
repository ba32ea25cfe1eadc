//! Cancel on disconnect as bytes: a grace is a number of milliseconds.

use terms::{AccountId, Command, Grace, OrderId};

use crate::fields::{put_account, take_account};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

pub(crate) fn put_grace(out: &mut Vec<u8>, grace: Grace) {
    put_u64(out, grace.millis().into());
}

pub(crate) fn take_grace(bytes: &mut &[u8]) -> Result<Grace, CodecError> {
    u32::try_from(take_u64(bytes)?).ok().and_then(Grace::from_millis).ok_or(CodecError::OutOfBounds("grace"))
}

pub(crate) fn put_protect(out: &mut Vec<u8>, account: AccountId, grace: Grace) {
    put_account(out, account);
    put_grace(out, grace);
}

/// The protection ends because somebody asked for it.
const ASKED: u8 = 0;
/// The account is lost, with all of its orders.
const LOST: u8 = 1;
/// The account is lost, with its orders up to one that follows.
const LOST_THROUGH: u8 = 2;

pub(crate) fn put_unprotect(out: &mut Vec<u8>, account: AccountId, is_lost: bool, through: Option<OrderId>) {
    put_account(out, account);
    match (is_lost, through) {
        (false, _) => out.push(ASKED),
        (true, None) => out.push(LOST),
        (true, Some(through)) => {
            out.push(LOST_THROUGH);
            put_u64(out, through.0);
        }
    }
}

pub(crate) fn take_protect(bytes: &mut &[u8]) -> Result<Command, CodecError> {
    Ok(Command::Protect { account: take_account(bytes)?, grace: take_grace(bytes)? })
}

pub(crate) fn take_unprotect(bytes: &mut &[u8]) -> Result<Command, CodecError> {
    let account = take_account(bytes)?;
    let (is_lost, through) = match take_u8(bytes)? {
        ASKED => (false, None),
        LOST => (true, None),
        LOST_THROUGH => (true, Some(OrderId(take_u64(bytes)?))),
        _ => return Err(CodecError::OutOfBounds("whether nobody came back")),
    };
    Ok(Command::Unprotect { account, is_lost, through })
}
