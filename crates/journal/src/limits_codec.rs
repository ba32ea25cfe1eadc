//! Limits of an account as bytes: bits that say which limits are set, and then their amounts, integers as LEB128.
//! Limits have one encoding. This file does not know where they are written. Source: docs/JOURNAL.md, limits.

use std::num::NonZeroU32;

use terms::{AccountLimits, Distance, Money, Shares};

use crate::fields::{put_amount, take_amount, take_shares, take_shares_or_none};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const OPEN_ORDERS: u8 = 1;
const ORDER_SHARES: u8 = 2;
const ORDER_VALUE: u8 = 4;
const POSITION: u8 = 8;
const COLLAR: u8 = 16;
const ALL: u8 = 31;

const NONE: AccountLimits = AccountLimits::NONE;

/// Appends limits. Panics if no order could obey them: once written, they could never be read again.
pub(crate) fn put_limits(out: &mut Vec<u8>, limits: &AccountLimits) {
    assert!(limits.is_sound(), "invariant: limits that no order could obey are refused by the parser");
    let AccountLimits { open_orders, order_shares, order_value, position, collar } = *limits;
    out.push(bits(limits));
    if let Some(most) = open_orders {
        put_u64(out, most.get().into());
    }
    if order_shares != NONE.order_shares {
        put_u64(out, order_shares.units().unsigned_abs());
    }
    if order_value != NONE.order_value {
        put_amount(out, order_value.units());
    }
    if position != NONE.position {
        put_u64(out, position.units().unsigned_abs());
    }
    if let Some(collar) = collar {
        put_u64(out, collar.hundredths().into());
    }
}

/// Takes limits from the front of `bytes`. It never panics, whatever the bytes are.
pub(crate) fn take_limits(bytes: &mut &[u8]) -> Result<AccountLimits, CodecError> {
    const FAULT: CodecError = CodecError::OutOfBounds("limits");
    let found = take_u8(bytes)?;
    if found & !ALL != 0 {
        return Err(FAULT);
    }
    let mut limits = NONE;
    if found & OPEN_ORDERS != 0 {
        limits.open_orders = Some(take_u32(bytes)?.and_then(NonZeroU32::new).ok_or(FAULT)?);
    }
    if found & ORDER_SHARES != 0 {
        limits.order_shares = take_shares(bytes)?;
    }
    if found & ORDER_VALUE != 0 {
        limits.order_value = Money::from_units(take_amount(bytes, "value")?);
    }
    if found & POSITION != 0 {
        limits.position = take_shares_or_none(bytes)?;
    }
    if found & COLLAR != 0 {
        limits.collar = Some(take_u32(bytes)?.and_then(Distance::from_hundredths).ok_or(FAULT)?);
    }
    // The amount of a limit that is not set is never written.
    if limits.is_sound() && bits(&limits) == found { Ok(limits) } else { Err(FAULT) }
}

fn bits(limits: &AccountLimits) -> u8 {
    let AccountLimits { open_orders, order_shares, order_value, position, collar } = *limits;
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    bit(open_orders.is_some(), OPEN_ORDERS)
        | bit(order_shares != Shares::MAX, ORDER_SHARES)
        | bit(order_value != NONE.order_value, ORDER_VALUE)
        | bit(position != Shares::MAX, POSITION)
        | bit(collar.is_some(), COLLAR)
}

fn take_u32(bytes: &mut &[u8]) -> Result<Option<u32>, CodecError> {
    Ok(u32::try_from(take_u64(bytes)?).ok())
}
