//! State items of the market as bytes: a tag, then the fields, integers as LEB128. This file does not know files.
//! Source: docs/JOURNAL.md, state items.

use terms::{
    BandReferences, ClientOrderId, Executed, Execution, Fee, Fees, OrderId, OrderKind, SelfTrade, Shares, Side,
    StateItem, SymbolPhase, Trail, Trigger, TriggersLeft,
};

use crate::field::{Field, put_if_any};
use crate::order_fields::{SideAndKind, Terms, put_placed, take_placed};
use crate::pending_codec::{Delayed, Pending};
use crate::records::records;
use crate::values::{Given, MaybeZero};
use crate::varint::{CodecError, take_u8};

/// Appends an item. Panics on an amount below zero: no state has one.
pub fn encode_item(item: &StateItem, out: &mut Vec<u8>) {
    item.put(out);
}

/// Takes an item from the front of `bytes`. It never panics, whatever the bytes are.
pub fn decode_item(bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    Field::take(bytes)
}

records! {
    StateItem, "state item" {
        1: sequence, time, next_order => Head { sequence, time, next_order };
        2: id, balance => Account { id, balance };
        3: name, issued => Symbol { name, issued };
        4: account, symbol, shares => Position { account, symbol, shares };
        5: order, account, symbol, limit, open => Order { order, account, symbol, side: Side::Buy, limit, open };
        6: order, account, symbol, limit, open => Order { order, account, symbol, side: Side::Sell, limit, open };
        50: kind, self_trade => Kind { kind, self_trade };
        7: shares, price, time => Execution(Execution { shares, price, time, fee: Fee::NONE });
        23: shares, price, time, Given(fee) => Execution(Execution { shares, price, time, fee });
        43: executions, shares, money => Executed(Executed { executions, shares, money });
        11: symbol, last => Watch {
            symbol,
            last,
            left: TriggersLeft { up_to: None, down_to: None },
            references: BandReferences::NONE,
        };
        48: symbol, last, Given(left) => Watch { symbol, last, left, references: BandReferences::NONE };
        49: symbol, last, left, Given(references) => Watch { symbol, last, left, references };
        15: symbol, rules => Rules { symbol, rules };
        16: order, until => Deadline { order, until };
        18: order, partner => Link { order, partner };
        21: symbol, tier, maker, taker, account => Fees { symbol, tier, fees: Fees { maker, taker, account } };
        22: account, tier => Tier { account, tier };
        24: symbol, phase, until => Phase { symbol, phase: SymbolPhase { phase, until } };
        27: order, display, MaybeZero(shown) => Iceberg { order, display, shown };
        30: Pending(order, working, account, placed) => Pending { order, account, placed, working, is_due: false };
        31: Pending(order, working, account, placed) => Pending { order, account, placed, working, is_due: true };
        34: account, group => Group { account, group };
        51: account, status => AccountStatus { account, status };
        35: scope => Kill { scope };
        36: account, grace => Protection { account, grace };
        37: account, limits => Limits { account, limits };
        42: message => Message(message);
        44: Delayed(order, account, placed) => Delayed { order, account, placed, is_under_way: false };
        45: Delayed(order, account, placed) => Delayed { order, account, placed, is_under_way: true };
        46: symbol, at => PhaseChanged { symbol, at };
        47: through => Calendar { through };
    }
    put(out) {
        StateItem::Stop { order, account, ref placed, is_reached, trail } => {
            put_tagged(TRAILING, trail, out);
            Terms(placed.self_trade, None).put_tagged(ON_TERMS, out);
            out.push(if is_reached { REACHED_STOP } else { STOP });
            SideAndKind(placed.side, [placed.trigger.is_some_and(Trigger::is_from_below)], placed.kind).put(out);
            order.put(out);
            put_placed(account, placed, out);
        }
        StateItem::ClientOrder { order, id, account, ref placed, until, display, trail, done } => {
            put_tagged(CLIENT_TRAILING, trail, out);
            put_tagged(IN_PARTS, display, out);
            Terms(placed.self_trade, until).put_tagged(ON_TERMS, out);
            match (placed.trigger, placed.kind, placed.side) {
                (Some(trigger), kind, side) => {
                    out.push(CLIENT_STOP);
                    SideAndKind(side, [trigger.is_from_below()], kind).put(out);
                }
                (None, OrderKind::Limit, Side::Buy) => out.push(CLIENT_BUY),
                (None, OrderKind::Limit, Side::Sell) => out.push(CLIENT_SELL),
                (None, kind, side) => {
                    out.push(CLIENT_KIND);
                    SideAndKind(side, [], kind).put(out);
                }
            }
            order.put(out);
            id.put(out);
            put_placed(account, placed, out);
            out.push(u8::from(done.is_some()));
            put_if_any(done, out);
        }
    }
    take(bytes) {
        tag => take_order(tag, bytes),
    }
}

// Orders that wait for a price, and clients' orders, may have parts with tags of their own in front. No line describes
// them: they would be one record for each set of parts.

const CLIENT_BUY: u8 = 8;
const CLIENT_SELL: u8 = 9;
/// A client's order of another kind than a limit order. Its side and kind follow.
const CLIENT_KIND: u8 = 10;
/// An order that waits for a price, and one that was reached. The side, whether the price is reached from below, and
/// the kind follow.
const STOP: u8 = 12;
const REACHED_STOP: u8 = 13;
/// A client's order with a trigger, whether or not it still waits.
const CLIENT_STOP: u8 = 14;
/// A deadline or a mode of self-trade prevention. The deadline of an order that waits has an item of its own.
const ON_TERMS: u8 = 17;
/// The display of a client's iceberg.
const IN_PARTS: u8 = 28;
/// The distance of a trailing stop, and of a client's order that is or was one. An order that waits stands with the
/// trigger that it has now, and a client's order without a trigger.
const TRAILING: u8 = 32;
const CLIENT_TRAILING: u8 = 33;

fn put_tagged<T: Field>(tag: u8, part: Option<T>, out: &mut Vec<u8>) {
    if let Some(part) = part {
        out.push(tag);
        part.put(out);
    }
}

/// Takes an order that waits for a price, or a client's order, behind its first tag. Each part may stand there once, in
/// the order in which they are written.
fn take_order(first: u8, bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let fault = CodecError::OutOfBounds("item of an order");
    let mut tag = first;
    let trail = take_tagged::<Trail>(&[TRAILING, CLIENT_TRAILING], &mut tag, bytes)?;
    let display = take_tagged::<Shares>(&[IN_PARTS], &mut tag, bytes)?;
    let terms = take_tagged(&[ON_TERMS], &mut tag, bytes)?;
    let Terms(self_trade, until) = terms.unwrap_or(Terms(SelfTrade::Allowed, None));
    let (side, kind, is_from_below) = match tag {
        CLIENT_BUY => (Side::Buy, OrderKind::Limit, None),
        CLIENT_SELL => (Side::Sell, OrderKind::Limit, None),
        CLIENT_KIND => {
            let SideAndKind(side, [], kind) = Field::take(bytes)?;
            (side, kind, None)
        }
        STOP | REACHED_STOP | CLIENT_STOP => {
            let SideAndKind(side, [is_from_below], kind) = Field::take(bytes)?;
            (side, kind, Some(is_from_below))
        }
        unknown if unknown == first => return Err(CodecError::UnknownTag(unknown)),
        _ => return Err(fault),
    };
    let order = OrderId::take(bytes)?;
    if matches!(tag, STOP | REACHED_STOP) {
        let (account, placed) = take_placed(side, kind, self_trade, is_from_below, bytes)?;
        let is_reached = tag == REACHED_STOP;
        let is_others = first == CLIENT_TRAILING || display.is_some() || until.is_some();
        if is_others || is_reached && trail.is_some() {
            return Err(fault);
        }
        return Ok(StateItem::Stop { order, account, placed, is_reached, trail });
    }
    let id = ClientOrderId::take(bytes)?;
    let (account, placed) = take_placed(side, kind, self_trade, is_from_below, bytes)?;
    let done = match take_u8(bytes)? {
        0 => None,
        1 => Some(Field::take(bytes)?),
        _ => return Err(CodecError::OutOfBounds("state of an order")),
    };
    if first == TRAILING || trail.is_some() && placed.trigger.is_some() {
        return Err(fault);
    }
    Ok(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done })
}

/// Takes a part with one of these tags, and the tag behind it; none if the tag is another one.
fn take_tagged<T: Field>(tags: &[u8], tag: &mut u8, bytes: &mut &[u8]) -> Result<Option<T>, CodecError> {
    if !tags.contains(tag) {
        return Ok(None);
    }
    let part = T::take(bytes)?;
    *tag = take_u8(bytes)?;
    Ok(Some(part))
}
