//! State items of the market as bytes: a tag, then the fields in the order of the type, integers as LEB128. This file
//! does not know files. Source: docs/JOURNAL.md, state items.

use terms::{
    AccountIndex, BandReferences, Deadline, Executed, Execution, Fee, Fees, Money, NewOrder, OrderId, OrderKind,
    Position, SelfTrade, Sequence, Side, StateItem, SymbolIndex, SymbolPhase, Time, Trigger, TriggersLeft,
};

use crate::fees_codec::{put_fee, put_rates, put_tier, take_fee, take_rates, take_tier};
use crate::fields::{
    put_account, put_amount, put_client_order_id, put_group, put_maybe_price, put_symbol, put_terms, put_trail,
    take_account, take_amount, take_client_order_id, take_group, take_index, take_maybe_price, take_phase, take_price,
    take_shares, take_shares_or_none, take_symbol, take_terms, take_trail,
};
use crate::kill_codec::{put_killed, take_killed};
use crate::limits_codec::{put_limits, take_limits};
use crate::pending_codec::{put_pending, take_pending};
use crate::protection_codec::{put_grace, take_grace};
use crate::rules_codec::{put_rules, take_rules};
use crate::shared_log_codec::{put_message, take_message};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const HEAD: u8 = 1;
const ACCOUNT: u8 = 2;
const SYMBOL: u8 = 3;
const POSITION: u8 = 4;
const BUY: u8 = 5;
const SELL: u8 = 6;
const EXECUTION: u8 = 7;
const CLIENT_BUY: u8 = 8;
const CLIENT_SELL: u8 = 9;
/// A client's order of another kind than a limit order. A byte follows: whether it sells, and above that bit the kind.
const CLIENT_KIND: u8 = 10;
/// A symbol whose last price is noted; zero if there was none yet.
const WATCH: u8 = 11;
/// A symbol in which triggers are left, with the prices up to which and down to which they are; zero for none.
const WATCH_LEFT: u8 = 48;
/// A symbol whose bands have a reference: encoded like one in which triggers are left, and then the dynamic and the
/// static reference; zero for none.
const WATCH_BAND: u8 = 49;
/// An order that waits for a price, and one that was reached. A byte follows with the two bits below and, above them,
/// the kind; the price stands before the symbol.
const STOP: u8 = 12;
const REACHED_STOP: u8 = 13;
/// A client's order with a trigger, whether or not it still waits.
const CLIENT_STOP: u8 = 14;
/// Two orders of which one cancels the other.
const LINK: u8 = 18;
/// The deadline of an open order.
const DEADLINE: u8 = 16;
/// An order that waits, or a client's order, with a deadline or a mode of self-trade prevention: these follow, encoded
/// like those of a command, and then the item, like one without them. The deadline of an order that waits has an item
/// of its own.
const ON_TERMS: u8 = 17;
/// The rules of a symbol that has any.
const RULES: u8 = 15;
/// An open iceberg.
const ICEBERG: u8 = 27;
/// A client's iceberg: its display follows, and then the item, like one without it.
const IN_PARTS: u8 = 28;
/// The kind of the order on a book before it, and its mode of self-trade prevention.
const KIND: u8 = 50;
/// The fees of a symbol and tier that have any, and the tier of an account in another one than the first.
const FEES: u8 = 21;
const TIER: u8 = 22;
/// An execution with a fee, which stands behind the other fields.
const CHARGED_EXECUTION: u8 = 23;
/// The sum of the executions of the order before, instead of these.
const EXECUTED: u8 = 43;
/// The phase of a symbol that is not open. Its end follows, zero for none.
const PHASE: u8 = 24;
/// An account in a group, and the group.
const GROUP: u8 = 34;
/// A killed scope.
const KILL: u8 = 35;
/// A protected account, and its grace.
const PROTECTION: u8 = 36;
/// An account with limits, and the limits.
const LIMITS: u8 = 37;
/// The last message of a node that the market took of the shared log.
const MESSAGE: u8 = 42;
/// The time of the last change of a symbol's phase, where several nodes share a log.
const PHASE_CHANGED: u8 = 46;
/// A trailing stop, and a client's order that is or was one: the distance follows, and then the item, like one with a
/// fixed trigger, or without a trigger.
const TRAILING: u8 = 32;
const CLIENT_TRAILING: u8 = 33;
/// A pending order, and one whose working order has executed.
const PENDING: u8 = 30;
const DUE: u8 = 31;
/// An order that waits behind one under way, and one under way: encoded like a pending one, with itself as its working
/// order.
const DELAYED: u8 = 44;
const UNDER_WAY: u8 = 45;
/// The time up to which the calendar was followed.
const CALENDAR: u8 = 47;
const SELLS: u8 = 1;
const FROM_BELOW: u8 = 2;
const STOP_KIND_SHIFT: u32 = 2;

/// The byte of an open order, and the one before the time at which an order was done.
const OPEN: u8 = 0;
const DONE: u8 = 1;

/// Appends an item. Panics on an amount below zero: no state has one.
pub fn encode_item(item: &StateItem, out: &mut Vec<u8>) {
    match *item {
        StateItem::Head { sequence, time, next_order } => {
            out.push(HEAD);
            put_u64(out, sequence.0);
            put_u64(out, time.0);
            put_u64(out, next_order.0);
        }
        StateItem::Account { id, balance } => {
            out.push(ACCOUNT);
            put_account(out, id);
            put_amount(out, balance.units());
        }
        StateItem::Symbol { name, issued } => {
            out.push(SYMBOL);
            put_symbol(out, name);
            put_amount(out, issued.units());
        }
        StateItem::Position { account, symbol, shares } => {
            out.push(POSITION);
            put_u64(out, u64::from(account.0));
            put_u64(out, u64::from(symbol.0));
            put_amount(out, shares.units());
        }
        StateItem::Order { order, account, symbol, side, limit, open } => {
            out.push(match side {
                Side::Buy => BUY,
                Side::Sell => SELL,
            });
            put_u64(out, order.0);
            put_u64(out, u64::from(account.0));
            put_u64(out, u64::from(symbol.0));
            put_u64(out, limit.units().unsigned_abs());
            put_u64(out, open.units().unsigned_abs());
        }
        StateItem::Kind { kind, self_trade } => out.extend_from_slice(&[KIND, kind.code(), self_trade.code()]),
        StateItem::Execution(execution) => {
            out.push(if execution.fee.is_none() { EXECUTION } else { CHARGED_EXECUTION });
            put_u64(out, execution.shares.units().unsigned_abs());
            put_u64(out, execution.price.units().unsigned_abs());
            put_u64(out, execution.time.0);
            if !execution.fee.is_none() {
                put_fee(out, execution.fee);
            }
        }
        StateItem::Executed(Executed { executions, shares, money }) => {
            out.push(EXECUTED);
            put_u64(out, executions);
            put_u64(out, shares.units().unsigned_abs());
            put_amount(out, money.units());
        }
        StateItem::Watch { symbol, last, left, references } => {
            out.push(match (left.is_none(), references.is_none()) {
                (true, true) => WATCH,
                (false, true) => WATCH_LEFT,
                (_, false) => WATCH_BAND,
            });
            put_u64(out, u64::from(symbol.0));
            put_maybe_price(out, last);
            if !left.is_none() || !references.is_none() {
                put_maybe_price(out, left.up_to);
                put_maybe_price(out, left.down_to);
            }
            if !references.is_none() {
                put_maybe_price(out, references.dynamic);
                put_maybe_price(out, references.fixed);
            }
        }
        StateItem::Pending { order, account, ref placed, working, is_due } => {
            out.push(if is_due { DUE } else { PENDING });
            put_pending(out, order, working, account, placed);
        }
        StateItem::Delayed { order, account, ref placed, is_under_way } => {
            out.push(if is_under_way { UNDER_WAY } else { DELAYED });
            put_pending(out, order, order, account, placed);
        }
        StateItem::Link { order, partner } => {
            out.push(LINK);
            put_u64(out, order.0);
            put_u64(out, partner.0);
        }
        StateItem::Phase { symbol, phase: SymbolPhase { phase, until } } => {
            out.push(PHASE);
            put_u64(out, u64::from(symbol.0));
            out.push(phase.code());
            put_u64(out, until.map_or(0, |until| until.0));
        }
        StateItem::Rules { symbol, ref rules } => {
            out.push(RULES);
            put_u64(out, u64::from(symbol.0));
            put_rules(out, rules);
        }
        StateItem::Fees { symbol, tier, fees: Fees { maker, taker, account } } => {
            out.push(FEES);
            put_u64(out, u64::from(symbol.0));
            put_tier(out, tier);
            put_rates(out, [maker, taker]);
            put_u64(out, u64::from(account.0));
        }
        StateItem::Tier { account, tier } => {
            out.push(TIER);
            put_u64(out, u64::from(account.0));
            put_tier(out, tier);
        }
        StateItem::Kill { scope } => {
            out.push(KILL);
            put_killed(out, scope);
        }
        StateItem::Protection { account, grace } => {
            out.push(PROTECTION);
            put_u64(out, account.0.into());
            put_grace(out, grace);
        }
        StateItem::Limits { account, ref limits } => {
            out.push(LIMITS);
            put_u64(out, account.0.into());
            put_limits(out, limits);
        }
        StateItem::Calendar { through } => {
            out.push(CALENDAR);
            put_u64(out, through.0);
        }
        StateItem::Message(message) => {
            out.push(MESSAGE);
            put_message(out, message);
        }
        StateItem::PhaseChanged { symbol, at } => {
            out.push(PHASE_CHANGED);
            put_u64(out, u64::from(symbol.0));
            put_u64(out, at.0);
        }
        StateItem::Group { account, group } => {
            out.push(GROUP);
            put_u64(out, u64::from(account.0));
            put_group(out, group);
        }
        StateItem::Deadline { order, until } => {
            out.push(DEADLINE);
            put_u64(out, order.0);
            put_u64(out, until.time().0);
        }
        StateItem::Stop { order, account, placed, is_reached, trail } => {
            if let Some(trail) = trail {
                out.push(TRAILING);
                put_trail(out, trail);
            }
            put_terms(out, ON_TERMS, placed.self_trade, None);
            out.extend_from_slice(&[if is_reached { REACHED_STOP } else { STOP }, stop_bits(&placed)]);
            put_u64(out, order.0);
            put_placed(out, account, &placed);
        }
        StateItem::Iceberg { order, display, shown } => {
            out.push(ICEBERG);
            put_u64(out, order.0);
            put_u64(out, display.units().unsigned_abs());
            put_u64(out, shown.units().unsigned_abs());
        }
        StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
            if let Some(trail) = trail {
                out.push(CLIENT_TRAILING);
                put_trail(out, trail);
            }
            if let Some(display) = display {
                out.push(IN_PARTS);
                put_u64(out, display.units().unsigned_abs());
            }
            put_terms(out, ON_TERMS, placed.self_trade, until);
            match (placed.trigger, placed.kind, placed.side) {
                (Some(_), ..) => out.extend_from_slice(&[CLIENT_STOP, stop_bits(&placed)]),
                (None, OrderKind::Limit, Side::Buy) => out.push(CLIENT_BUY),
                (None, OrderKind::Limit, Side::Sell) => out.push(CLIENT_SELL),
                (None, kind, side) => {
                    out.extend_from_slice(&[CLIENT_KIND, (kind.code() << 1) | u8::from(side == Side::Sell)])
                }
            }
            put_u64(out, order.0);
            put_client_order_id(out, id);
            put_placed(out, account, &placed);
            match done {
                None => out.push(OPEN),
                Some(done) => {
                    out.push(DONE);
                    put_u64(out, done.0);
                }
            }
        }
    }
}

/// Decodes an item with a deadline or a mode of self-trade prevention.
fn decode_on_terms(bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let (self_trade, until) = take_terms(bytes)?;
    // The next tag is checked first: a long run of this tag must not become as many nested calls.
    if matches!(bytes.first(), Some(&(ON_TERMS | IN_PARTS | TRAILING | CLIENT_TRAILING))) {
        return Err(CodecError::OutOfBounds("item on terms"));
    }
    match (decode_item(bytes)?, until) {
        (StateItem::Stop { order, account, placed, is_reached, trail }, None) => {
            Ok(StateItem::Stop { order, account, placed: placed.with_self_trade(self_trade), is_reached, trail })
        }
        (StateItem::ClientOrder { order, id, account, placed, until: _, display, trail, done }, until) => {
            let placed = placed.with_self_trade(self_trade);
            Ok(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done })
        }
        _ => Err(CodecError::OutOfBounds("item on terms")),
    }
}

/// Decodes a client's iceberg.
fn decode_in_parts(bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let display = Some(take_shares(bytes)?);
    // The next tag is checked first: a long run of this tag must not become as many nested calls.
    if matches!(bytes.first(), Some(&(IN_PARTS | TRAILING | CLIENT_TRAILING))) {
        return Err(CodecError::OutOfBounds("item in parts"));
    }
    let StateItem::ClientOrder { order, id, account, placed, until, display: _, trail, done } = decode_item(bytes)?
    else {
        return Err(CodecError::OutOfBounds("item in parts"));
    };
    Ok(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done })
}

/// Decodes a trailing stop, or a client's order that is or was one.
fn decode_trailing(tag: u8, bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let trail = Some(take_trail(bytes)?);
    let fault = CodecError::OutOfBounds("item that follows the market");
    // The next tag is checked first: a long run of these tags must not become as many nested calls.
    if matches!(bytes.first(), Some(&(TRAILING | CLIENT_TRAILING))) {
        return Err(fault);
    }
    match (tag, decode_item(bytes)?) {
        (TRAILING, StateItem::Stop { order, account, placed, is_reached: false, trail: _ }) => {
            Ok(StateItem::Stop { order, account, placed, is_reached: false, trail })
        }
        (CLIENT_TRAILING, StateItem::ClientOrder { order, id, account, placed, until, display, trail: _, done })
            if placed.trigger.is_none() =>
        {
            Ok(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done })
        }
        _ => Err(fault),
    }
}

fn stop_bits(placed: &NewOrder<SymbolIndex>) -> u8 {
    let sells = if placed.side == Side::Sell { SELLS } else { 0 };
    let from_below = if placed.trigger.is_some_and(Trigger::is_from_below) { FROM_BELOW } else { 0 };
    sells | from_below | (placed.kind.code() << STOP_KIND_SHIFT)
}

/// Puts the account of an order, and its terms without side and kind.
fn put_placed(out: &mut Vec<u8>, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
    put_u64(out, u64::from(account.0));
    if let Some(trigger) = placed.trigger {
        put_u64(out, trigger.price().units().unsigned_abs());
    }
    put_u64(out, u64::from(placed.symbol.0));
    put_u64(out, placed.limit.units().unsigned_abs());
    put_u64(out, placed.shares.units().unsigned_abs());
}

/// Takes an item from the front of `bytes`. It never panics, whatever the bytes are.
pub fn decode_item(bytes: &mut &[u8]) -> Result<StateItem, CodecError> {
    let tag = take_u8(bytes)?;
    match tag {
        HEAD => Ok(StateItem::Head {
            sequence: Sequence(take_u64(bytes)?),
            time: Time(take_u64(bytes)?),
            next_order: OrderId(take_u64(bytes)?),
        }),
        ACCOUNT => Ok(StateItem::Account {
            id: take_account(bytes)?,
            balance: Money::from_units(take_amount(bytes, "balance")?),
        }),
        SYMBOL => Ok(StateItem::Symbol {
            name: take_symbol(bytes)?,
            issued: Position::from_units(take_amount(bytes, "number of shares issued")?),
        }),
        POSITION => Ok(StateItem::Position {
            account: AccountIndex(take_index(bytes)?),
            symbol: SymbolIndex(take_index(bytes)?),
            shares: Position::from_units(take_amount(bytes, "position")?),
        }),
        BUY | SELL => Ok(StateItem::Order {
            order: OrderId(take_u64(bytes)?),
            account: AccountIndex(take_index(bytes)?),
            symbol: SymbolIndex(take_index(bytes)?),
            side: if tag == BUY { Side::Buy } else { Side::Sell },
            limit: take_price(bytes)?,
            open: take_shares(bytes)?,
        }),
        KIND => {
            let (kind, mode) = (take_kind(take_u8(bytes)?)?, take_u8(bytes)?);
            let fault = CodecError::OutOfBounds("mode of self-trade prevention");
            let self_trade = SelfTrade::from_code(mode).ok_or(fault)?;
            Ok(StateItem::Kind { kind, self_trade })
        }
        EXECUTION => Ok(StateItem::Execution(Execution {
            shares: take_shares(bytes)?,
            price: take_price(bytes)?,
            time: Time(take_u64(bytes)?),
            fee: Fee::NONE,
        })),
        CHARGED_EXECUTION => {
            let (shares, price, time) = (take_shares(bytes)?, take_price(bytes)?, Time(take_u64(bytes)?));
            let fee = Some(take_fee(bytes)?).filter(|fee| !fee.is_none()).ok_or(CodecError::OutOfBounds("fee"))?;
            Ok(StateItem::Execution(Execution { shares, price, time, fee }))
        }
        EXECUTED => Ok(StateItem::Executed(Executed {
            executions: take_u64(bytes)?,
            shares: take_shares(bytes)?,
            money: Money::from_units(take_amount(bytes, "money")?),
        })),
        WATCH => Ok(StateItem::Watch {
            symbol: SymbolIndex(take_index(bytes)?),
            last: take_maybe_price(bytes)?,
            left: TriggersLeft::default(),
            references: BandReferences::NONE,
        }),
        WATCH_LEFT | WATCH_BAND => {
            let (symbol, last) = (SymbolIndex(take_index(bytes)?), take_maybe_price(bytes)?);
            let left = TriggersLeft { up_to: take_maybe_price(bytes)?, down_to: take_maybe_price(bytes)? };
            let references = if tag == WATCH_BAND {
                BandReferences { dynamic: take_maybe_price(bytes)?, fixed: take_maybe_price(bytes)? }
            } else {
                BandReferences::NONE
            };
            let says_nothing = if tag == WATCH_BAND { references.is_none() } else { left.is_none() };
            if says_nothing {
                Err(CodecError::OutOfBounds("price"))
            } else {
                Ok(StateItem::Watch { symbol, last, left, references })
            }
        }
        PHASE => {
            let (symbol, phase) = (SymbolIndex(take_index(bytes)?), take_phase(bytes)?);
            let until = Some(Time(take_u64(bytes)?)).filter(|until| *until != Time(0));
            Ok(StateItem::Phase { symbol, phase: SymbolPhase { phase, until } })
        }
        RULES => Ok(StateItem::Rules { symbol: SymbolIndex(take_index(bytes)?), rules: take_rules(bytes)? }),
        FEES => {
            let (symbol, tier) = (SymbolIndex(take_index(bytes)?), take_tier(bytes)?);
            let ([maker, taker], account) = (take_rates(bytes)?, AccountIndex(take_index(bytes)?));
            Ok(StateItem::Fees { symbol, tier, fees: Fees { maker, taker, account } })
        }
        TIER => Ok(StateItem::Tier { account: AccountIndex(take_index(bytes)?), tier: take_tier(bytes)? }),
        KILL => Ok(StateItem::Kill { scope: take_killed(bytes)? }),
        PROTECTION => {
            Ok(StateItem::Protection { account: AccountIndex(take_index(bytes)?), grace: take_grace(bytes)? })
        }
        MESSAGE => Ok(StateItem::Message(take_message(bytes)?)),
        PHASE_CHANGED => {
            Ok(StateItem::PhaseChanged { symbol: SymbolIndex(take_index(bytes)?), at: Time(take_u64(bytes)?) })
        }
        CALENDAR => Ok(StateItem::Calendar { through: Time(take_u64(bytes)?) }),
        LIMITS => Ok(StateItem::Limits { account: AccountIndex(take_index(bytes)?), limits: take_limits(bytes)? }),
        GROUP => Ok(StateItem::Group { account: AccountIndex(take_index(bytes)?), group: take_group(bytes)? }),
        STOP | REACHED_STOP => {
            let (kind, side, from_below) = take_stop_bits(bytes)?;
            let order = OrderId(take_u64(bytes)?);
            let (account, placed) = take_placed(bytes, kind, side, Some(from_below))?;
            Ok(StateItem::Stop { order, account, placed, is_reached: tag == REACHED_STOP, trail: None })
        }
        DEADLINE => {
            let order = OrderId(take_u64(bytes)?);
            let until = Deadline::from_code(take_u64(bytes)?).ok_or(CodecError::OutOfBounds("deadline"))?;
            Ok(StateItem::Deadline { order, until })
        }
        ICEBERG => Ok(StateItem::Iceberg {
            order: OrderId(take_u64(bytes)?),
            display: take_shares(bytes)?,
            shown: take_shares_or_none(bytes)?,
        }),
        IN_PARTS => decode_in_parts(bytes),
        TRAILING | CLIENT_TRAILING => decode_trailing(tag, bytes),
        PENDING | DUE => {
            let (order, working, account, placed) = take_pending(bytes)?;
            Ok(StateItem::Pending { order, account, placed, working, is_due: tag == DUE })
        }
        DELAYED | UNDER_WAY => {
            let (order, working, account, placed) = take_pending(bytes)?;
            if working != order {
                return Err(CodecError::OutOfBounds("order that another one waits for"));
            }
            Ok(StateItem::Delayed { order, account, placed, is_under_way: tag == UNDER_WAY })
        }
        LINK => Ok(StateItem::Link { order: OrderId(take_u64(bytes)?), partner: OrderId(take_u64(bytes)?) }),
        ON_TERMS => decode_on_terms(bytes),
        CLIENT_BUY => take_client_order(bytes, OrderKind::Limit, Side::Buy, None),
        CLIENT_SELL => take_client_order(bytes, OrderKind::Limit, Side::Sell, None),
        CLIENT_KIND => {
            let bits = take_u8(bytes)?;
            let kind = take_kind(bits >> 1)?;
            take_client_order(bytes, kind, if bits & 1 == 0 { Side::Buy } else { Side::Sell }, None)
        }
        CLIENT_STOP => {
            let (kind, side, from_below) = take_stop_bits(bytes)?;
            take_client_order(bytes, kind, side, Some(from_below))
        }
        unknown => Err(CodecError::UnknownTag(unknown)),
    }
}

fn take_kind(code: u8) -> Result<OrderKind, CodecError> {
    OrderKind::from_code(code).ok_or(CodecError::OutOfBounds("kind of an order"))
}

/// Takes the kind, the side, and whether the trigger is reached from below.
fn take_stop_bits(bytes: &mut &[u8]) -> Result<(OrderKind, Side, bool), CodecError> {
    let bits = take_u8(bytes)?;
    let side = if bits & SELLS == 0 { Side::Buy } else { Side::Sell };
    Ok((take_kind(bits >> STOP_KIND_SHIFT)?, side, bits & FROM_BELOW != 0))
}

/// Takes the fields of an order. `from_below` says from where its trigger is reached; none without a trigger.
fn take_placed(
    bytes: &mut &[u8],
    kind: OrderKind,
    side: Side,
    from_below: Option<bool>,
) -> Result<(AccountIndex, NewOrder<SymbolIndex>), CodecError> {
    let account = AccountIndex(take_index(bytes)?);
    let trigger = match from_below {
        None => None,
        Some(true) => Some(Trigger::from_below(take_price(bytes)?)),
        Some(false) => Some(Trigger::from_above(take_price(bytes)?)),
    };
    let (symbol, limit) = (SymbolIndex(take_index(bytes)?), take_price(bytes)?);
    let (shares, self_trade) = (take_shares(bytes)?, SelfTrade::Allowed);
    Ok((account, NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }))
}

fn take_client_order(
    bytes: &mut &[u8],
    kind: OrderKind,
    side: Side,
    from_below: Option<bool>,
) -> Result<StateItem, CodecError> {
    let (order, id) = (OrderId(take_u64(bytes)?), take_client_order_id(bytes)?);
    let (account, placed) = take_placed(bytes, kind, side, from_below)?;
    let done = match take_u8(bytes)? {
        OPEN => None,
        DONE => Some(Time(take_u64(bytes)?)),
        _ => return Err(CodecError::OutOfBounds("state of an order")),
    };
    Ok(StateItem::ClientOrder { order, id, account, placed, until: None, display: None, trail: None, done })
}
