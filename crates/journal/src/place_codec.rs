//! Commands that place an order as bytes: the bond to the commands beside it, the form, the terms, and then the order,
//! each with a tag of its own. Nothing is written for an order that stands alone, for one that is plain, or for one
//! without terms. Source: docs/JOURNAL.md, commands.

use terms::{Bond, ClientOrderId, FundsOrder, Money, NewOrder, OrderForm, OrderKind, Place, SelfTrade, Side, Trigger};

use crate::fields::{
    put_account, put_amount, put_client_order_id, put_symbol, put_terms, put_trail, take_account, take_amount,
    take_client_order_id, take_price, take_shares, take_symbol, take_terms, take_trail,
};
use crate::varint::{CodecError, put_u64, take_u8};

/// An order on the condition that the command before it canceled one.
const IF_CANCELED: u8 = 13;
/// An order that replaces the one that the command before names.
const REPLACING: u8 = 58;
/// The second order of a linked pair.
const LINKED: u8 = 21;
/// A working order. The number of its pending orders follows, one or two.
const WORKING: u8 = 34;
const PENDING: u8 = 35;
/// An iceberg. Its display follows.
const ICEBERG: u8 = 30;
/// A trailing stop. The distance follows, and then the order, encoded like one without a trigger.
const TRAILING: u8 = 36;
/// An order with a deadline or a mode of self-trade prevention. The mode's byte and the deadline follow, each zero for
/// none but not both.
const ON_TERMS: u8 = 19;
const PLACE_BUY: u8 = 4;
const PLACE_SELL: u8 = 5;
const PLACE_CLIENT_BUY: u8 = 7;
const PLACE_CLIENT_SELL: u8 = 8;
/// An order of another kind than a limit order. A byte follows with the two bits below and, above them, the kind.
const PLACE_KIND: u8 = 10;
/// A market order for money. A byte with the two bits below follows.
const PLACE_BY_FUNDS: u8 = 11;
/// An order that waits for a price. A byte follows with the three bits below and, above them, the kind; the price
/// stands before the account.
const PLACE_STOP: u8 = 12;
const SELLS: u8 = 1;
const HAS_CLIENT_ID: u8 = 2;
const KIND_SHIFT: u32 = 2;
const FROM_BELOW: u8 = 4;
const STOP_KIND_SHIFT: u32 = 3;

/// Appends an order that a command places. Panics on an amount that no parser lets in.
pub(crate) fn put_place(out: &mut Vec<u8>, place: &Place) {
    match place.bond() {
        Bond::Alone => {}
        Bond::IfCanceled => out.push(IF_CANCELED),
        Bond::Replacing => out.push(REPLACING),
        Bond::Linked => out.push(LINKED),
        Bond::Working { two_wait } => out.extend_from_slice(&[WORKING, if two_wait { 2 } else { 1 }]),
        Bond::Pending => out.push(PENDING),
    }
    match place.form() {
        OrderForm::Plain(order) => put_order(out, place, &order),
        OrderForm::Iceberg { order, display } => {
            assert!(!display.is_zero(), "invariant: a parsed order shows something");
            out.push(ICEBERG);
            put_u64(out, display.units().unsigned_abs());
            put_order(out, place, &order);
        }
        OrderForm::Trailing { order, trail } => {
            out.push(TRAILING);
            put_trail(out, trail);
            put_order(out, place, &order);
        }
        OrderForm::Funds(order) => put_funds(out, place, &order),
    }
}

fn put_order(out: &mut Vec<u8>, place: &Place, order: &NewOrder) {
    let client_id = place.client_id();
    put_terms(out, ON_TERMS, order.self_trade, place.deadline());
    match (order.trigger, order.kind) {
        (Some(trigger), kind) => {
            let from_below = if trigger.is_from_below() { FROM_BELOW } else { 0 };
            let bits = bits(order.side, client_id) | from_below | (kind.code() << STOP_KIND_SHIFT);
            out.extend_from_slice(&[PLACE_STOP, bits]);
        }
        (None, OrderKind::Limit) => out.push(match (order.side, client_id) {
            (Side::Buy, None) => PLACE_BUY,
            (Side::Sell, None) => PLACE_SELL,
            (Side::Buy, Some(_)) => PLACE_CLIENT_BUY,
            (Side::Sell, Some(_)) => PLACE_CLIENT_SELL,
        }),
        (None, kind) => {
            out.extend_from_slice(&[PLACE_KIND, bits(order.side, client_id) | (kind.code() << KIND_SHIFT)]);
        }
    }
    if let Some(id) = client_id {
        put_client_order_id(out, id);
    }
    if let Some(trigger) = order.trigger {
        put_u64(out, trigger.price().units().unsigned_abs());
    }
    put_account(out, place.account);
    put_symbol(out, order.symbol);
    match order.kind {
        OrderKind::Market | OrderKind::AuctionMarket => {
            assert!(order.limit == order.side.any_price(), "invariant: a market order accepts every price");
        }
        OrderKind::Limit
        | OrderKind::PostOnly
        | OrderKind::PostOnlyMove
        | OrderKind::ImmediateOrCancel
        | OrderKind::FillOrKill
        | OrderKind::AuctionLimit => put_u64(out, order.limit.units().unsigned_abs()),
    }
    assert!(!order.shares.is_zero(), "invariant: a parsed order has shares");
    put_u64(out, order.shares.units().unsigned_abs());
}

fn put_funds(out: &mut Vec<u8>, place: &Place, order: &FundsOrder) {
    let client_id = place.client_id();
    put_terms(out, ON_TERMS, order.self_trade, None);
    out.extend_from_slice(&[PLACE_BY_FUNDS, bits(order.side, client_id)]);
    if let Some(id) = client_id {
        put_client_order_id(out, id);
    }
    put_account(out, place.account);
    put_symbol(out, order.symbol);
    assert!(order.funds > Money::ZERO && order.funds <= Money::CAP, "invariant: parsed funds are within bounds");
    put_amount(out, order.funds.units());
}

fn bits(side: Side, client_id: Option<ClientOrderId>) -> u8 {
    let sells = if side == Side::Sell { SELLS } else { 0 };
    sells | if client_id.is_some() { HAS_CLIENT_ID } else { 0 }
}

/// Takes an order that a command places, behind its first tag. Each part may stand there once, in the order in which
/// they are written, so that a long run of tags does not become as many nested calls.
pub(crate) fn take_place(tag: u8, bytes: &mut &[u8]) -> Result<Place, CodecError> {
    let (bond, fault) = match tag {
        IF_CANCELED => (Bond::IfCanceled, CodecError::OutOfBounds("command on a condition")),
        REPLACING => (Bond::Replacing, CodecError::OutOfBounds("command that replaces an order")),
        LINKED => (Bond::Linked, CodecError::OutOfBounds("linked command")),
        WORKING => (Bond::Working { two_wait: take_two_wait(bytes)? }, OTHER_AMONG_WAITING),
        PENDING => (Bond::Pending, OTHER_AMONG_WAITING),
        _ => return take_form(tag, bytes, CodecError::UnknownTag(tag)),
    };
    take_form(take_u8(bytes)?, bytes, fault)?.with_bond(bond).ok_or(fault)
}

const OTHER_AMONG_WAITING: CodecError = CodecError::OutOfBounds("command among orders that wait");

fn take_two_wait(bytes: &mut &[u8]) -> Result<bool, CodecError> {
    match take_u8(bytes)? {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(CodecError::OutOfBounds("number of orders that wait")),
    }
}

/// Takes an order of any form without a bond. `fault` is the error for another tag.
fn take_form(tag: u8, bytes: &mut &[u8], fault: CodecError) -> Result<Place, CodecError> {
    match tag {
        ICEBERG => {
            let (display, fault) = (take_shares(bytes)?, CodecError::OutOfBounds("order that shows a part"));
            let Some((place, order)) = take_plain(bytes, fault)? else { return Err(fault) };
            let iceberg = Place::iceberg(place.account, order, display).ok_or(fault)?;
            Ok(iceberg.named(place.client_id()).until(place.deadline()))
        }
        TRAILING => {
            let (trail, fault) = (take_trail(bytes)?, CodecError::OutOfBounds("order that follows the market"));
            let Some((place, order)) = take_plain(bytes, fault)? else { return Err(fault) };
            let trailing = Place::trailing(place.account, order, trail).ok_or(fault)?;
            Ok(trailing.named(place.client_id()).until(place.deadline()))
        }
        _ => take_on_terms(tag, bytes, fault),
    }
}

/// Takes a plain order with its terms; none if there is an order for money.
fn take_plain(bytes: &mut &[u8], fault: CodecError) -> Result<Option<(Place, NewOrder)>, CodecError> {
    let place = take_on_terms(take_u8(bytes)?, bytes, fault)?;
    Ok(place.plain().map(|order| (place, order)))
}

/// Takes an order for shares or money, perhaps with a deadline or a mode of self-trade prevention.
fn take_on_terms(tag: u8, bytes: &mut &[u8], fault: CodecError) -> Result<Place, CodecError> {
    if tag != ON_TERMS {
        return take_order(tag, bytes, SelfTrade::Allowed, fault);
    }
    let (self_trade, until) = take_terms(bytes)?;
    let fault = CodecError::OutOfBounds("command on terms");
    take_order(take_u8(bytes)?, bytes, self_trade, fault)?.with_deadline(until).ok_or(fault)
}

fn take_order(tag: u8, bytes: &mut &[u8], self_trade: SelfTrade, fault: CodecError) -> Result<Place, CodecError> {
    let (kind, side, trigger, client_id) = match tag {
        PLACE_BUY => (OrderKind::Limit, Side::Buy, None, None),
        PLACE_SELL => (OrderKind::Limit, Side::Sell, None, None),
        PLACE_CLIENT_BUY => (OrderKind::Limit, Side::Buy, None, Some(take_client_order_id(bytes)?)),
        PLACE_CLIENT_SELL => (OrderKind::Limit, Side::Sell, None, Some(take_client_order_id(bytes)?)),
        PLACE_KIND => {
            let bits = take_u8(bytes)?;
            let kind = OrderKind::from_code(bits >> KIND_SHIFT).filter(|&kind| kind != OrderKind::Limit);
            let kind = kind.ok_or(CodecError::OutOfBounds("kind of an order"))?;
            let (side, client_id) = take_side_and_id(bits, bytes)?;
            (kind, side, None, client_id)
        }
        PLACE_STOP => {
            let bits = take_u8(bytes)?;
            let kind =
                OrderKind::from_code(bits >> STOP_KIND_SHIFT).ok_or(CodecError::OutOfBounds("kind of an order"))?;
            let (side, client_id) = take_side_and_id(bits, bytes)?;
            let price = take_price(bytes)?;
            let trigger = if bits & FROM_BELOW == 0 { Trigger::from_above(price) } else { Trigger::from_below(price) };
            (kind, side, Some(trigger), client_id)
        }
        PLACE_BY_FUNDS => return take_funds(bytes, self_trade),
        _ => return Err(fault),
    };
    let (account, symbol) = (take_account(bytes)?, take_symbol(bytes)?);
    let limit = if kind.is_market() { side.any_price() } else { take_price(bytes)? };
    let shares = take_shares(bytes)?;
    let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
    Ok(Place::order(account, order).named(client_id))
}

fn take_funds(bytes: &mut &[u8], self_trade: SelfTrade) -> Result<Place, CodecError> {
    let bits = take_u8(bytes)?;
    if bits & !(SELLS | HAS_CLIENT_ID) != 0 {
        return Err(CodecError::OutOfBounds("kind of an order"));
    }
    let (side, client_id) = take_side_and_id(bits, bytes)?;
    let (account, symbol) = (take_account(bytes)?, take_symbol(bytes)?);
    let funds = Money::from_units(take_amount(bytes, "funds")?);
    if funds == Money::ZERO || funds > Money::CAP {
        return Err(CodecError::OutOfBounds("funds"));
    }
    Ok(Place::funds(account, FundsOrder { symbol, side, funds, self_trade }).named(client_id))
}

fn take_side_and_id(bits: u8, bytes: &mut &[u8]) -> Result<(Side, Option<ClientOrderId>), CodecError> {
    let side = if bits & SELLS == 0 { Side::Buy } else { Side::Sell };
    let id = (bits & HAS_CLIENT_ID != 0).then(|| take_client_order_id(bytes)).transpose()?;
    Ok((side, id))
}
