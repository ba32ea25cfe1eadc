//! The terms of an amendment as bytes: bits that say which it names, and then these terms, integers as LEB128. An
//! amendment has one encoding. This file does not know where it is written. Source: docs/JOURNAL.md, commands.

use terms::{AccountId, Amendment, Change, OrderName, WaitsFor};

use crate::field::{Field, put_if_any};
use crate::records::records;
use crate::varint::{CodecError, take_u8};

const SHARES: u8 = 1;
const LIMIT: u8 = 2;
const WAITS: u8 = 4;
/// A display, zero for none.
const DISPLAY: u8 = 8;
/// A deadline, zero for none.
const UNTIL: u8 = 16;
const TIF: u8 = 32;
const ALL: u8 = 63;

/// Appends the terms that an amendment names.
pub(crate) fn put_amendment(amendment: &Amendment, out: &mut Vec<u8>) {
    let (display, until) = (amendment.display(), amendment.deadline());
    let bits = [
        (amendment.shares().is_some(), SHARES),
        (amendment.limit().is_some(), LIMIT),
        (amendment.waits_for().is_some(), WAITS),
        (display != Change::Keep, DISPLAY),
        (until != Change::Keep, UNTIL),
        (amendment.tif().is_some(), TIF),
    ];
    out.push(bits.into_iter().fold(0, |all, (is_named, bit)| if is_named { all | bit } else { all }));
    put_if_any(amendment.shares(), out);
    put_if_any(amendment.limit(), out);
    put_if_any(amendment.waits_for(), out);
    if display != Change::Keep {
        display.of(None).put(out);
    }
    if until != Change::Keep {
        until.of(None).put(out);
    }
    put_if_any(amendment.tif(), out);
}

/// Takes the terms of an amendment of this order from the front of `bytes`. It never panics, whatever the bytes are.
pub(crate) fn take_amendment(account: AccountId, order: OrderName, bytes: &mut &[u8]) -> Result<Amendment, CodecError> {
    let named = take_u8(bytes)?;
    if named & !ALL != 0 {
        return Err(CodecError::OutOfBounds("terms of an amendment"));
    }
    let mut amendment = Amendment::of(account, order);
    if named & SHARES != 0 {
        amendment = amendment.with_shares(Field::take(bytes)?);
    }
    if named & LIMIT != 0 {
        amendment = amendment.with_limit(Field::take(bytes)?);
    }
    if named & WAITS != 0 {
        amendment = amendment.with_wait(Field::take(bytes)?);
    }
    if named & DISPLAY != 0 {
        amendment = amendment.with_display(Field::take(bytes)?);
    }
    if named & UNTIL != 0 {
        amendment = amendment.with_deadline(Field::take(bytes)?);
    }
    if named & TIF != 0 {
        amendment = amendment.with_tif(Field::take(bytes)?);
    }
    Ok(amendment)
}

// The price for which the order waits: a byte, and then the price or the distance.
records! {
    WaitsFor, "price that an amended order waits for" {
        1: price => StopLoss(price);
        2: price => TakeProfit(price);
        3: trail => Trail(trail);
    }
    put(out) {}
    take(bytes) { _ => Err(WaitsFor::fault()) }
}
