//! Pending orders as they stand in a state item behind its tag. Source: docs/JOURNAL.md, state items.

use terms::{AccountIndex, NewOrder, OrderId, OrderKind, SelfTrade, Side, SymbolIndex, Trigger};

use crate::fields::{take_index, take_price, take_shares};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const SELLS: u8 = 1;
const HAS_TRIGGER: u8 = 2;
const FROM_BELOW: u8 = 4;
const KIND_SHIFT: u32 = 3;

type Pending = (OrderId, OrderId, AccountIndex, NewOrder<SymbolIndex>);

/// Puts the order, the distance of its working order's id, the mode of self-trade prevention, a byte with the bits
/// above and, over them, the kind, and the fields that every order has.
pub(crate) fn put_pending(
    out: &mut Vec<u8>,
    order: OrderId,
    working: OrderId,
    account: AccountIndex,
    placed: &NewOrder<SymbolIndex>,
) {
    put_u64(out, order.0);
    put_u64(out, order.0.checked_sub(working.0).expect("invariant: what waits was placed behind what it waits for"));
    let sells = if placed.side == Side::Sell { SELLS } else { 0 };
    let trigger = match placed.trigger.map(Trigger::is_from_below) {
        None => 0,
        Some(false) => HAS_TRIGGER,
        Some(true) => HAS_TRIGGER | FROM_BELOW,
    };
    out.extend_from_slice(&[placed.self_trade.code(), sells | trigger | (placed.kind.code() << KIND_SHIFT)]);
    put_u64(out, u64::from(account.0));
    if let Some(trigger) = placed.trigger {
        put_u64(out, trigger.price().units().unsigned_abs());
    }
    put_u64(out, u64::from(placed.symbol.0));
    put_u64(out, placed.limit.units().unsigned_abs());
    put_u64(out, placed.shares.units().unsigned_abs());
}

pub(crate) fn take_pending(bytes: &mut &[u8]) -> Result<Pending, CodecError> {
    let order = OrderId(take_u64(bytes)?);
    let working = order.0.checked_sub(take_u64(bytes)?).map(OrderId);
    let working = working.ok_or(CodecError::OutOfBounds("order that another one waits for"))?;
    let self_trade = SelfTrade::from_code(take_u8(bytes)?).ok_or(CodecError::OutOfBounds("self-trade prevention"))?;
    let bits = take_u8(bytes)?;
    let side = if bits & SELLS == 0 { Side::Buy } else { Side::Sell };
    let kind = OrderKind::from_code(bits >> KIND_SHIFT).ok_or(CodecError::OutOfBounds("kind of an order"))?;
    let account = AccountIndex(take_index(bytes)?);
    let trigger = match (bits & HAS_TRIGGER != 0, bits & FROM_BELOW != 0) {
        (false, false) => None,
        (true, true) => Some(Trigger::from_below(take_price(bytes)?)),
        (true, false) => Some(Trigger::from_above(take_price(bytes)?)),
        (false, true) => return Err(CodecError::OutOfBounds("kind of an order")),
    };
    let symbol = SymbolIndex(take_index(bytes)?);
    let (limit, shares) = (take_price(bytes)?, take_shares(bytes)?);
    Ok((order, working, account, NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }))
}
