//! The terms of an amendment as bytes: bits that say which it names, and then these terms, integers as LEB128. An
//! amendment has one encoding. This file does not know where it is written. Source: docs/JOURNAL.md, commands.

use terms::{AccountId, Amendment, Change, Deadline, OrderName, TimeInForce, WaitsFor};

use crate::fields::{put_trail, take_price, take_shares, take_shares_or_none, take_trail};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const SHARES: u8 = 1;
const LIMIT: u8 = 2;
const WAITS: u8 = 4;
/// A display, zero for none.
const DISPLAY: u8 = 8;
/// A deadline, zero for none.
const UNTIL: u8 = 16;
const TIF: u8 = 32;
const ALL: u8 = 63;

/// The price for which the order waits: a byte, and then the price or the distance.
const STOP_LOSS: u8 = 1;
const TAKE_PROFIT: u8 = 2;
const TRAIL: u8 = 3;

/// Appends the terms that an amendment names.
pub(crate) fn put_amendment(out: &mut Vec<u8>, amendment: &Amendment) {
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
    if let Some(shares) = amendment.shares() {
        put_u64(out, shares.units().unsigned_abs());
    }
    if let Some(limit) = amendment.limit() {
        put_u64(out, limit.units().unsigned_abs());
    }
    match amendment.waits_for() {
        None => {}
        Some(WaitsFor::StopLoss(price)) => {
            out.push(STOP_LOSS);
            put_u64(out, price.units().unsigned_abs());
        }
        Some(WaitsFor::TakeProfit(price)) => {
            out.push(TAKE_PROFIT);
            put_u64(out, price.units().unsigned_abs());
        }
        Some(WaitsFor::Trail(trail)) => {
            out.push(TRAIL);
            put_trail(out, trail);
        }
    }
    if display != Change::Keep {
        put_u64(out, display.of(None).map_or(0, |display| display.units().unsigned_abs()));
    }
    if until != Change::Keep {
        put_u64(out, Deadline::code(until.of(None)));
    }
    if let Some(tif) = amendment.tif() {
        out.push(tif.code());
    }
}

/// Takes the terms of an amendment of this order from the front of `bytes`. It never panics, whatever the bytes are.
pub(crate) fn take_amendment(bytes: &mut &[u8], account: AccountId, order: OrderName) -> Result<Amendment, CodecError> {
    let named = take_u8(bytes)?;
    if named & !ALL != 0 {
        return Err(CodecError::OutOfBounds("terms of an amendment"));
    }
    let mut amendment = Amendment::of(account, order);
    if named & SHARES != 0 {
        amendment = amendment.with_shares(take_shares(bytes)?);
    }
    if named & LIMIT != 0 {
        amendment = amendment.with_limit(take_price(bytes)?);
    }
    if named & WAITS != 0 {
        amendment = amendment.with_wait(match take_u8(bytes)? {
            STOP_LOSS => WaitsFor::StopLoss(take_price(bytes)?),
            TAKE_PROFIT => WaitsFor::TakeProfit(take_price(bytes)?),
            TRAIL => WaitsFor::Trail(take_trail(bytes)?),
            _ => return Err(CodecError::OutOfBounds("price that an amended order waits for")),
        });
    }
    if named & DISPLAY != 0 {
        let display = take_shares_or_none(bytes)?;
        amendment = amendment.with_display(Some(display).filter(|display| !display.is_zero()));
    }
    if named & UNTIL != 0 {
        let code = take_u64(bytes)?;
        let until = Deadline::from_code(code);
        if Deadline::code(until) != code {
            return Err(CodecError::OutOfBounds("deadline"));
        }
        amendment = amendment.with_deadline(until);
    }
    if named & TIF != 0 {
        let tif = TimeInForce::from_code(take_u8(bytes)?);
        amendment = amendment.with_tif(tif.ok_or(CodecError::OutOfBounds("time in force of an amendment"))?);
    }
    Ok(amendment)
}
