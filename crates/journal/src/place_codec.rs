//! Commands that place an order as bytes: the bond to the commands beside it, the form, the terms, and then the order,
//! each with a tag of its own. Nothing is written for an order that stands alone, for one that is plain, or for one
//! without terms. Source: docs/JOURNAL.md, commands.

use terms::{Bond, FundsOrder, Money, NewOrder, OrderForm, OrderKind, Place, SelfTrade, Shares, Side, Trail, Trigger};

use crate::field::{Field, put_if_any, take_if};
use crate::order_fields::{SideAndKind, Terms, take_trigger};
use crate::varint::{CodecError, take_u8};

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
/// An order of another kind than a limit order. A byte with its side, whether it has a client order id, and its kind
/// follows.
const PLACE_KIND: u8 = 10;
/// A market order for money. The same byte follows, without a kind.
const PLACE_BY_FUNDS: u8 = 11;
/// An order that waits for a price, which stands before the account. A byte with its side, whether it has a client
/// order id, whether the price is reached from below, and its kind follows.
const PLACE_STOP: u8 = 12;

/// Appends an order that a command places. Panics on an amount that no parser lets in.
pub(crate) fn put_place(place: &Place, out: &mut Vec<u8>) {
    match place.bond() {
        Bond::Alone => {}
        Bond::IfCanceled => out.push(IF_CANCELED),
        Bond::Replacing => out.push(REPLACING),
        Bond::Linked => out.push(LINKED),
        Bond::Working { two_wait } => out.extend_from_slice(&[WORKING, if two_wait { 2 } else { 1 }]),
        Bond::Pending => out.push(PENDING),
    }
    match place.form() {
        OrderForm::Plain(order) => put_order(place, &order, out),
        OrderForm::Iceberg { order, display } => {
            out.push(ICEBERG);
            display.put(out);
            put_order(place, &order, out);
        }
        OrderForm::Trailing { order, trail } => {
            out.push(TRAILING);
            trail.put(out);
            put_order(place, &order, out);
        }
        OrderForm::Funds(order) => put_funds(place, &order, out),
    }
}

fn put_order(place: &Place, order: &NewOrder, out: &mut Vec<u8>) {
    let client_id = place.client_id();
    Terms(order.self_trade, place.deadline()).put_tagged(ON_TERMS, out);
    match (order.trigger, order.kind) {
        (Some(trigger), kind) => {
            out.push(PLACE_STOP);
            SideAndKind(order.side, [client_id.is_some(), trigger.is_from_below()], kind).put(out);
        }
        (None, OrderKind::Limit) => out.push(match (order.side, client_id) {
            (Side::Buy, None) => PLACE_BUY,
            (Side::Sell, None) => PLACE_SELL,
            (Side::Buy, Some(_)) => PLACE_CLIENT_BUY,
            (Side::Sell, Some(_)) => PLACE_CLIENT_SELL,
        }),
        (None, kind) => {
            out.push(PLACE_KIND);
            SideAndKind(order.side, [client_id.is_some()], kind).put(out);
        }
    }
    put_if_any(client_id, out);
    put_if_any(order.trigger.map(Trigger::price), out);
    place.account.put(out);
    order.symbol.put(out);
    if order.kind.is_market() {
        assert!(order.limit == order.side.any_price(), "invariant: a market order accepts every price");
    } else {
        order.limit.put(out);
    }
    order.shares.put(out);
}

fn put_funds(place: &Place, order: &FundsOrder, out: &mut Vec<u8>) {
    let client_id = place.client_id();
    Terms(order.self_trade, None).put_tagged(ON_TERMS, out);
    out.push(PLACE_BY_FUNDS);
    SideAndKind(order.side, [client_id.is_some()], OrderKind::Limit).put(out);
    put_if_any(client_id, out);
    place.account.put(out);
    order.symbol.put(out);
    assert!(order.funds > Money::ZERO && order.funds <= Money::CAP, "invariant: parsed funds are within bounds");
    order.funds.put(out);
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
            let (display, fault) = (Shares::take(bytes)?, CodecError::OutOfBounds("order that shows a part"));
            let Some((place, order)) = take_plain(bytes, fault)? else { return Err(fault) };
            let iceberg = Place::iceberg(place.account, order, display).ok_or(fault)?;
            Ok(iceberg.named(place.client_id()).until(place.deadline()))
        }
        TRAILING => {
            let (trail, fault) = (Trail::take(bytes)?, CodecError::OutOfBounds("order that follows the market"));
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
    let Terms(self_trade, until) = Field::take(bytes)?;
    let fault = CodecError::OutOfBounds("command on terms");
    take_order(take_u8(bytes)?, bytes, self_trade, fault)?.with_deadline(until).ok_or(fault)
}

fn take_order(tag: u8, bytes: &mut &[u8], self_trade: SelfTrade, fault: CodecError) -> Result<Place, CodecError> {
    let (side, has_id, is_from_below, kind) = match tag {
        PLACE_BUY => (Side::Buy, false, None, OrderKind::Limit),
        PLACE_SELL => (Side::Sell, false, None, OrderKind::Limit),
        PLACE_CLIENT_BUY => (Side::Buy, true, None, OrderKind::Limit),
        PLACE_CLIENT_SELL => (Side::Sell, true, None, OrderKind::Limit),
        PLACE_KIND => match Field::take(bytes)? {
            SideAndKind(_, _, OrderKind::Limit) => return Err(OrderKind::fault()),
            SideAndKind(side, [has_id], kind) => (side, has_id, None, kind),
        },
        PLACE_STOP => {
            let SideAndKind(side, [has_id, is_from_below], kind) = Field::take(bytes)?;
            (side, has_id, Some(is_from_below), kind)
        }
        PLACE_BY_FUNDS => return take_funds(bytes, self_trade),
        _ => return Err(fault),
    };
    let client_id = take_if(has_id, bytes)?;
    let trigger = is_from_below.map(|is_from_below| take_trigger(is_from_below, bytes)).transpose()?;
    let (account, symbol) = (Field::take(bytes)?, Field::take(bytes)?);
    let limit = if kind.is_market() { side.any_price() } else { Field::take(bytes)? };
    let order = NewOrder { symbol, side, limit, shares: Field::take(bytes)?, kind, trigger, self_trade };
    Ok(Place::order(account, order).named(client_id))
}

fn take_funds(bytes: &mut &[u8], self_trade: SelfTrade) -> Result<Place, CodecError> {
    let SideAndKind(side, [has_id], OrderKind::Limit) = Field::take(bytes)? else { return Err(OrderKind::fault()) };
    let client_id = take_if(has_id, bytes)?;
    let (account, symbol, funds) = (Field::take(bytes)?, Field::take(bytes)?, Field::take(bytes)?);
    if funds == Money::ZERO || funds > Money::CAP {
        return Err(CodecError::OutOfBounds("funds"));
    }
    Ok(Place::funds(account, FundsOrder { symbol, side, funds, self_trade }).named(client_id))
}
