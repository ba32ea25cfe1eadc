//! Commands as bytes: a tag, then the fields in the order of the type, integers as LEB128. A command has one encoding.
//! This file does not know sequences, times or files. Source: docs/JOURNAL.md, commands.

use terms::{
    AccountId, ClientOrderId, Command, Deadline, FeeRate, Fees, FundsOrder, IcebergOrder, Money, NewOrder, OrderId,
    OrderKind, OrderName, Position, SelfTrade, Side, Time, TrailingOrder, Trigger,
};

use crate::fees_codec::{put_rates, put_tier, take_rates, take_tier};
use crate::fields::{
    put_account, put_amount, put_client_order_id, put_group, put_symbol, put_terms, put_trail, take_account,
    take_amount, take_balance, take_client_order_id, take_group, take_issue, take_phase, take_price, take_shares,
    take_symbol, take_terms, take_trail,
};
use crate::kill_codec::{Killing, put_among, put_scope, take_killing};
use crate::limits_codec::{put_limits, take_limits};
use crate::protection_codec::{put_protect, put_unprotect, take_protect, take_unprotect};
use crate::rules_codec::{put_rules, take_rules};
use crate::shared_log_codec::{put_message, take_message};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const CREATE_ACCOUNT: u8 = 1;
const ISSUE_SHARES: u8 = 3;
const PLACE_BUY: u8 = 4;
const PLACE_SELL: u8 = 5;
const CANCEL_ORDER: u8 = 6;
const PLACE_CLIENT_BUY: u8 = 7;
const PLACE_CLIENT_SELL: u8 = 8;
const CANCEL_CLIENT_ORDER: u8 = 9;
/// An order of another kind than a limit order. A byte follows with the two bits below and, above them, the kind.
const PLACE_KIND: u8 = 10;
/// A market order for money. A byte with the two bits below follows.
const PLACE_BY_FUNDS: u8 = 11;
/// An order that waits for a price. A byte follows with the three bits below and, above them, the kind; the price
/// stands before the account.
const PLACE_STOP: u8 = 12;
const ACTIVATE_REACHED: u8 = 14;
const CREATE_SYMBOL: u8 = 15;
/// An order with a deadline or a mode of self-trade prevention. The mode's byte and the deadline follow, each zero for
/// none but not both, and then the order, encoded like one without them.
const ON_TERMS: u8 = 19;
const EXPIRE_ORDERS: u8 = 20;
/// The second order of a linked pair. The order follows, encoded like a plain one.
const LINKED: u8 = 21;
/// An amendment. The account, the order and the shares follow.
const AMEND_ORDER: u8 = 17;
const AMEND_CLIENT_ORDER: u8 = 18;
/// An order on the condition that the command before it canceled one. The order follows, encoded like one without a
/// condition.
const IF_CANCELED: u8 = 13;
/// The rules of a symbol.
const CHANGE_RULES: u8 = 16;
const FREE_CLIENT_ORDER_ID: u8 = 33;
/// An iceberg. Its display follows, and then the order, encoded like a plain one.
const ICEBERG: u8 = 30;
/// The fees of a tier in a symbol: both rates, and, if one is above zero, the account that gets them.
const CHANGE_FEES: u8 = 24;
const CHANGE_TIER: u8 = 25;
/// The phase of a symbol.
const CHANGE_PHASE: u8 = 27;
/// A change of phase, with the time at which a calendar had it due.
const CHANGE_PHASE_DUE: u8 = 29;
const END_AUCTION: u8 = 28;
/// An account and its group, zero for none.
const CHANGE_GROUP: u8 = 38;
/// A trailing stop. The distance follows, and then the order, encoded like one without a trigger.
const TRAILING: u8 = 36;
/// A working order. The number of its pending orders follows, one or two, and then the order, encoded like a plain one.
const WORKING: u8 = 34;
/// A pending order. The order follows, encoded like a plain one.
const PENDING: u8 = 35;
/// A cancel of all orders of an account. The account follows, then one and a symbol, or zero for all symbols.
const CANCEL_ALL: u8 = 40;
const OF_SYMBOL: u8 = 1;
const THROUGH: u8 = 2;
/// The kill switch. The scope that is killed or released follows.
const KILL: u8 = 41;
const RELEASE: u8 = 42;
/// The begin of an account's protection, with its grace, and the end, with one if its connections were lost, or zero.
const PROTECT: u8 = 43;
const UNPROTECT: u8 = 44;
/// The limits of an account. The account and the limits follow.
const LIMITS: u8 = 45;
/// A message of the shared log was taken.
const MESSAGE: u8 = 54;
/// The time up to which the calendar was followed.
const FOLLOW_CALENDAR: u8 = 55;
/// Dollars or shares from another account. The payer follows, and then the account or the issue, as above.
const FUND_ACCOUNT: u8 = 46;
const GIVE_SHARES: u8 = 47;
const SELLS: u8 = 1;
const HAS_CLIENT_ID: u8 = 2;
const KIND_SHIFT: u32 = 2;
const FROM_BELOW: u8 = 4;
const STOP_KIND_SHIFT: u32 = 3;

/// Appends a command. Panics on an amount that no parser lets in (negative, above its cap, an order without shares):
/// once written, it could never be read again.
pub fn encode(command: &Command, out: &mut Vec<u8>) {
    match *command {
        Command::CreateAccount { account, balance } => {
            out.push(CREATE_ACCOUNT);
            put_account(out, account);
            assert!(balance <= Money::CAP, "invariant: a parsed balance is at most its cap");
            put_amount(out, balance.units());
        }
        Command::CreateSymbol { symbol } => {
            out.push(CREATE_SYMBOL);
            put_symbol(out, symbol);
        }
        Command::IssueShares { symbol, account, shares } => {
            out.push(ISSUE_SHARES);
            put_symbol(out, symbol);
            put_account(out, account);
            assert!(shares <= Position::CAP, "invariant: parsed shares are at most their cap");
            put_amount(out, shares.units());
        }
        Command::FundAccount { payer, account, balance } => {
            out.push(FUND_ACCOUNT);
            put_account(out, payer);
            put_account(out, account);
            assert!(balance <= Money::CAP, "invariant: a parsed balance is at most its cap");
            put_amount(out, balance.units());
        }
        Command::GiveShares { payer, symbol, account, shares } => {
            out.push(GIVE_SHARES);
            put_account(out, payer);
            put_symbol(out, symbol);
            put_account(out, account);
            assert!(shares <= Position::CAP, "invariant: parsed shares are at most their cap");
            put_amount(out, shares.units());
        }
        Command::PlaceOrder { account, ref order, client_id, until } => {
            put_terms(out, ON_TERMS, order.self_trade, until);
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
            put_account(out, account);
            put_symbol(out, order.symbol);
            match order.kind {
                OrderKind::Market => {
                    assert!(order.limit == order.side.any_price(), "invariant: a market order accepts every price");
                }
                OrderKind::Limit
                | OrderKind::PostOnly
                | OrderKind::PostOnlyMove
                | OrderKind::ImmediateOrCancel
                | OrderKind::FillOrKill => put_u64(out, order.limit.units().unsigned_abs()),
            }
            assert!(!order.shares.is_zero(), "invariant: a parsed order has shares");
            put_u64(out, order.shares.units().unsigned_abs());
        }
        Command::PlaceByFunds { account, ref order, client_id } => {
            put_terms(out, ON_TERMS, order.self_trade, None);
            out.extend_from_slice(&[PLACE_BY_FUNDS, bits(order.side, client_id)]);
            if let Some(id) = client_id {
                put_client_order_id(out, id);
            }
            put_account(out, account);
            put_symbol(out, order.symbol);
            assert!(
                order.funds > Money::ZERO && order.funds <= Money::CAP,
                "invariant: parsed funds are within bounds"
            );
            put_amount(out, order.funds.units());
        }
        Command::CancelOrder { account, order: OrderName::Id(order) } => {
            out.push(CANCEL_ORDER);
            put_account(out, account);
            put_u64(out, order.0);
        }
        Command::CancelOrder { account, order: OrderName::Client(id) } => {
            out.push(CANCEL_CLIENT_ORDER);
            put_account(out, account);
            put_client_order_id(out, id);
        }
        Command::AmendOrder { account, order, shares } => {
            match order {
                OrderName::Id(order) => {
                    out.push(AMEND_ORDER);
                    put_account(out, account);
                    put_u64(out, order.0);
                }
                OrderName::Client(id) => {
                    out.push(AMEND_CLIENT_ORDER);
                    put_account(out, account);
                    put_client_order_id(out, id);
                }
            }
            assert!(!shares.is_zero(), "invariant: a parsed amendment leaves shares");
            put_u64(out, shares.units().unsigned_abs());
        }
        Command::CancelAll { account, symbol, through } => {
            out.push(CANCEL_ALL);
            put_account(out, account);
            out.push(if symbol.is_some() { OF_SYMBOL } else { 0 } | if through.is_some() { THROUGH } else { 0 });
            if let Some(symbol) = symbol {
                put_symbol(out, symbol);
            }
            if let Some(through) = through {
                put_u64(out, through.0);
            }
        }
        Command::Kill { scope } => {
            out.push(KILL);
            put_scope(out, scope);
        }
        Command::Release { scope } => {
            out.push(RELEASE);
            put_scope(out, scope);
        }
        Command::KillTogether { account, among } => {
            out.push(KILL);
            put_among(out, account, among);
        }
        Command::ReleaseTogether { account, among } => {
            out.push(RELEASE);
            put_among(out, account, among);
        }
        Command::Protect { account, grace } => {
            out.push(PROTECT);
            put_protect(out, account, grace);
        }
        Command::Unprotect { account, is_lost, through } => {
            out.push(UNPROTECT);
            put_unprotect(out, account, is_lost, through);
        }
        Command::ChangeLimits { account, ref limits } => {
            out.push(LIMITS);
            put_account(out, account);
            put_limits(out, limits);
        }
        Command::TakeMessage(message) => {
            out.push(MESSAGE);
            put_message(out, message);
        }
        Command::ActivateReached => out.push(ACTIVATE_REACHED),
        Command::ExpireOrders => out.push(EXPIRE_ORDERS),
        Command::FreeClientOrderId { account, id } => {
            out.push(FREE_CLIENT_ORDER_ID);
            put_account(out, account);
            put_client_order_id(out, id);
        }
        Command::ChangeRules { symbol, ref rules } => {
            out.push(CHANGE_RULES);
            put_symbol(out, symbol);
            put_rules(out, rules);
        }
        Command::ChangeFees { symbol, tier, fees } => {
            out.push(CHANGE_FEES);
            put_symbol(out, symbol);
            put_tier(out, tier);
            put_rates(out, fees.map_or([FeeRate::ZERO; 2], |fees| [fees.maker, fees.taker]));
            if let Some(fees) = fees {
                assert!(fees.is_any(), "invariant: fees of nothing are read as none");
                put_account(out, fees.account);
            }
        }
        Command::ChangeTier { account, tier } => {
            out.push(CHANGE_TIER);
            put_account(out, account);
            put_tier(out, tier);
        }
        Command::ChangePhase { symbol, phase, due } => {
            out.push(if due.is_some() { CHANGE_PHASE_DUE } else { CHANGE_PHASE });
            put_symbol(out, symbol);
            out.push(phase.code());
            if let Some(due) = due {
                put_u64(out, due.0);
            }
        }
        Command::EndAuction => out.push(END_AUCTION),
        Command::FollowCalendar { through } => {
            out.push(FOLLOW_CALENDAR);
            put_u64(out, through.0);
        }
        Command::ChangeGroup { account, group } => {
            out.push(CHANGE_GROUP);
            put_account(out, account);
            put_group(out, group);
        }
        Command::PlaceLinked { account, order, client_id, until } => {
            out.push(LINKED);
            encode(&Command::PlaceOrder { account, order, client_id, until }, out);
        }
        Command::PlaceWorking { account, order, client_id, until, two_wait } => {
            out.extend_from_slice(&[WORKING, if two_wait { 2 } else { 1 }]);
            encode(&Command::PlaceOrder { account, order, client_id, until }, out);
        }
        Command::PlacePending { account, order, client_id, until } => {
            out.push(PENDING);
            encode(&Command::PlaceOrder { account, order, client_id, until }, out);
        }
        Command::PlaceIceberg { .. } if command.unconditional().is_none() => {
            let asked = command.as_iceberg().expect("invariant: this command places one");
            let IcebergOrder { account, order, display, client_id, until } = asked;
            assert!(!display.is_zero(), "invariant: a parsed order shows something");
            out.push(ICEBERG);
            put_u64(out, display.units().unsigned_abs());
            encode(&Command::PlaceOrder { account, order, client_id, until }, out);
        }
        Command::PlaceTrailing { .. } if command.unconditional().is_none() => {
            let asked = command.as_trailing().expect("invariant: this command places one");
            let TrailingOrder { account, order, trail, client_id, until } = asked;
            out.push(TRAILING);
            put_trail(out, trail);
            encode(&Command::PlaceOrder { account, order, client_id, until }, out);
        }
        Command::PlaceIfCanceled { .. }
        | Command::PlaceByFundsIfCanceled { .. }
        | Command::PlaceIceberg { .. }
        | Command::PlaceTrailing { .. } => {
            out.push(IF_CANCELED);
            encode(&command.unconditional().expect("invariant: it has the condition"), out);
        }
    }
}

/// Decodes an order with a deadline or a mode of self-trade prevention.
fn decode_on_terms(bytes: &mut &[u8]) -> Result<Command, CodecError> {
    let (self_trade, until) = take_terms(bytes)?;
    // The next tag is checked first: a long run of this tag must not become as many nested calls.
    if matches!(bytes.first(), Some(&(ON_TERMS | IF_CANCELED | LINKED | ICEBERG | TRAILING | WORKING | PENDING))) {
        return Err(CodecError::OutOfBounds("command on terms"));
    }
    match (decode(bytes)?, until) {
        (Command::PlaceOrder { account, order, client_id, until: _ }, until) => {
            Ok(Command::PlaceOrder { account, order: order.with_self_trade(self_trade), client_id, until })
        }
        (Command::PlaceByFunds { account, order, client_id }, None) => {
            Ok(Command::PlaceByFunds { account, order: FundsOrder { self_trade, ..order }, client_id })
        }
        _ => Err(CodecError::OutOfBounds("command on terms")),
    }
}

/// Takes a command from the front of `bytes`. It never panics, whatever the bytes are, and the command that it returns
/// encodes to exactly the bytes taken.
pub fn decode(bytes: &mut &[u8]) -> Result<Command, CodecError> {
    let tag = take_u8(bytes)?;
    match tag {
        CREATE_ACCOUNT => Ok(Command::CreateAccount { account: take_account(bytes)?, balance: take_balance(bytes)? }),
        CREATE_SYMBOL => Ok(Command::CreateSymbol { symbol: take_symbol(bytes)? }),
        ISSUE_SHARES => Ok(Command::IssueShares {
            symbol: take_symbol(bytes)?,
            account: take_account(bytes)?,
            shares: take_issue(bytes)?,
        }),
        FUND_ACCOUNT => Ok(Command::FundAccount {
            payer: take_account(bytes)?,
            account: take_account(bytes)?,
            balance: take_balance(bytes)?,
        }),
        GIVE_SHARES => Ok(Command::GiveShares {
            payer: take_account(bytes)?,
            symbol: take_symbol(bytes)?,
            account: take_account(bytes)?,
            shares: take_issue(bytes)?,
        }),
        PLACE_BUY => take_order(bytes, OrderKind::Limit, Side::Buy, None, None),
        PLACE_SELL => take_order(bytes, OrderKind::Limit, Side::Sell, None, None),
        PLACE_CLIENT_BUY | PLACE_CLIENT_SELL => {
            let id = take_client_order_id(bytes)?;
            let side = if tag == PLACE_CLIENT_BUY { Side::Buy } else { Side::Sell };
            take_order(bytes, OrderKind::Limit, side, None, Some(id))
        }
        PLACE_KIND => {
            let bits = take_u8(bytes)?;
            let kind = OrderKind::from_code(bits >> KIND_SHIFT).filter(|&kind| kind != OrderKind::Limit);
            let kind = kind.ok_or(CodecError::OutOfBounds("kind of an order"))?;
            let (side, id) = take_side_and_id(bits, bytes)?;
            take_order(bytes, kind, side, None, id)
        }
        PLACE_STOP => {
            let bits = take_u8(bytes)?;
            let kind =
                OrderKind::from_code(bits >> STOP_KIND_SHIFT).ok_or(CodecError::OutOfBounds("kind of an order"))?;
            let (side, id) = take_side_and_id(bits, bytes)?;
            let price = take_price(bytes)?;
            let trigger = if bits & FROM_BELOW == 0 { Trigger::from_above(price) } else { Trigger::from_below(price) };
            take_order(bytes, kind, side, Some(trigger), id)
        }
        ACTIVATE_REACHED => Ok(Command::ActivateReached),
        PLACE_BY_FUNDS => {
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
            let order = FundsOrder { symbol, side, funds, self_trade: SelfTrade::Allowed };
            Ok(Command::PlaceByFunds { account, order, client_id })
        }
        CANCEL_ORDER => {
            Ok(Command::CancelOrder { account: take_account(bytes)?, order: OrderId(take_u64(bytes)?).into() })
        }
        CANCEL_CLIENT_ORDER => {
            Ok(Command::CancelOrder { account: take_account(bytes)?, order: take_client_order_id(bytes)?.into() })
        }
        AMEND_ORDER => {
            let (account, order) = (take_account(bytes)?, OrderId(take_u64(bytes)?));
            Ok(Command::AmendOrder { account, order: order.into(), shares: take_shares(bytes)? })
        }
        AMEND_CLIENT_ORDER => {
            let (account, id) = (take_account(bytes)?, take_client_order_id(bytes)?);
            Ok(Command::AmendOrder { account, order: id.into(), shares: take_shares(bytes)? })
        }
        CANCEL_ALL => {
            let account = take_account(bytes)?;
            let which = take_u8(bytes)?;
            if which > OF_SYMBOL | THROUGH {
                return Err(CodecError::OutOfBounds("which orders are canceled"));
            }
            let symbol = if which & OF_SYMBOL != 0 { Some(take_symbol(bytes)?) } else { None };
            let through = if which & THROUGH != 0 { Some(OrderId(take_u64(bytes)?)) } else { None };
            Ok(Command::CancelAll { account, symbol, through })
        }
        KILL => Ok(match take_killing(bytes)? {
            Killing::Scope(scope) => Command::Kill { scope },
            Killing::Among(account, among) => Command::KillTogether { account, among },
        }),
        RELEASE => Ok(match take_killing(bytes)? {
            Killing::Scope(scope) => Command::Release { scope },
            Killing::Among(account, among) => Command::ReleaseTogether { account, among },
        }),
        PROTECT => take_protect(bytes),
        UNPROTECT => take_unprotect(bytes),
        MESSAGE => Ok(Command::TakeMessage(take_message(bytes)?)),
        LIMITS => Ok(Command::ChangeLimits { account: take_account(bytes)?, limits: take_limits(bytes)? }),
        EXPIRE_ORDERS => Ok(Command::ExpireOrders),
        ON_TERMS => decode_on_terms(bytes),
        FREE_CLIENT_ORDER_ID => {
            Ok(Command::FreeClientOrderId { account: take_account(bytes)?, id: take_client_order_id(bytes)? })
        }
        ICEBERG => {
            let display = take_shares(bytes)?;
            // The next tag is checked first, as below.
            if matches!(bytes.first(), Some(&(IF_CANCELED | LINKED | ICEBERG | TRAILING | WORKING | PENDING))) {
                return Err(CodecError::OutOfBounds("order that shows a part"));
            }
            let Command::PlaceOrder { account, order, client_id, until } = decode(bytes)? else {
                return Err(CodecError::OutOfBounds("order that shows a part"));
            };
            let asked = IcebergOrder { account, order, display, client_id, until };
            asked.command().ok_or(CodecError::OutOfBounds("order that shows a part"))
        }
        TRAILING => {
            let (trail, fault) = (take_trail(bytes)?, CodecError::OutOfBounds("order that follows the market"));
            // The next tag is checked first, as below.
            if matches!(bytes.first(), Some(&(IF_CANCELED | LINKED | ICEBERG | TRAILING | WORKING | PENDING))) {
                return Err(fault);
            }
            let Command::PlaceOrder { account, order, client_id, until } = decode(bytes)? else { return Err(fault) };
            match order.trigger {
                None => Ok(TrailingOrder { account, order, trail, client_id, until }.command()),
                Some(_) => Err(fault),
            }
        }
        CHANGE_PHASE | CHANGE_PHASE_DUE => {
            let (symbol, phase) = (take_symbol(bytes)?, take_phase(bytes)?);
            let due = (tag == CHANGE_PHASE_DUE).then(|| take_u64(bytes)).transpose()?.map(Time);
            Ok(Command::ChangePhase { symbol, phase, due })
        }
        END_AUCTION => Ok(Command::EndAuction),
        FOLLOW_CALENDAR => Ok(Command::FollowCalendar { through: Time(take_u64(bytes)?) }),
        CHANGE_GROUP => Ok(Command::ChangeGroup { account: take_account(bytes)?, group: take_group(bytes)? }),
        CHANGE_RULES => Ok(Command::ChangeRules { symbol: take_symbol(bytes)?, rules: take_rules(bytes)? }),
        CHANGE_FEES => {
            let (symbol, tier, [maker, taker]) = (take_symbol(bytes)?, take_tier(bytes)?, take_rates(bytes)?);
            let is_any = maker != FeeRate::ZERO || taker != FeeRate::ZERO;
            let account = is_any.then(|| take_account(bytes)).transpose()?;
            Ok(Command::ChangeFees { symbol, tier, fees: account.map(|account| Fees { maker, taker, account }) })
        }
        CHANGE_TIER => Ok(Command::ChangeTier { account: take_account(bytes)?, tier: take_tier(bytes)? }),
        // The next tag is checked first: a long run of this tag must not become as many nested calls.
        IF_CANCELED | LINKED if matches!(bytes.first(), Some(&(IF_CANCELED | LINKED | WORKING | PENDING))) => {
            Err(CodecError::OutOfBounds("command on a condition"))
        }
        IF_CANCELED => decode(bytes)?.if_canceled().ok_or(CodecError::OutOfBounds("command on a condition")),
        LINKED => {
            let Command::PlaceOrder { account, order, client_id, until } = decode(bytes)? else {
                return Err(CodecError::OutOfBounds("linked command"));
            };
            Ok(Command::PlaceLinked { account, order, client_id, until })
        }
        WORKING => {
            let two_wait = match take_u8(bytes)? {
                1 => false,
                2 => true,
                _ => return Err(CodecError::OutOfBounds("number of orders that wait")),
            };
            let (account, order, client_id, until) = decode_plain(bytes)?;
            Ok(Command::PlaceWorking { account, order, client_id, until, two_wait })
        }
        PENDING => {
            let (account, order, client_id, until) = decode_plain(bytes)?;
            Ok(Command::PlacePending { account, order, client_id, until })
        }
        unknown => Err(CodecError::UnknownTag(unknown)),
    }
}

/// The parts of a command that places a plain order, with or without a deadline.
type Plain = (AccountId, NewOrder, Option<ClientOrderId>, Option<Deadline>);

fn decode_plain(bytes: &mut &[u8]) -> Result<Plain, CodecError> {
    // The next tag is checked first: a long run of such tags must not become as many nested calls.
    let is_other = matches!(bytes.first(), Some(&(IF_CANCELED | LINKED | ICEBERG | WORKING | PENDING)));
    match if is_other { None } else { Some(decode(bytes)?) } {
        Some(Command::PlaceOrder { account, order, client_id, until }) => Ok((account, order, client_id, until)),
        _ => Err(CodecError::OutOfBounds("command among orders that wait")),
    }
}

fn bits(side: Side, client_id: Option<ClientOrderId>) -> u8 {
    let sells = if side == Side::Sell { SELLS } else { 0 };
    sells | if client_id.is_some() { HAS_CLIENT_ID } else { 0 }
}

fn take_side_and_id(bits: u8, bytes: &mut &[u8]) -> Result<(Side, Option<ClientOrderId>), CodecError> {
    let side = if bits & SELLS == 0 { Side::Buy } else { Side::Sell };
    let id = (bits & HAS_CLIENT_ID != 0).then(|| take_client_order_id(bytes)).transpose()?;
    Ok((side, id))
}

/// Takes the fields that every order has behind its tag, its client order id and its trigger.
fn take_order(
    bytes: &mut &[u8],
    kind: OrderKind,
    side: Side,
    trigger: Option<Trigger>,
    client_id: Option<ClientOrderId>,
) -> Result<Command, CodecError> {
    let (account, symbol) = (take_account(bytes)?, take_symbol(bytes)?);
    let limit = if kind == OrderKind::Market { side.any_price() } else { take_price(bytes)? };
    let shares = take_shares(bytes)?;
    let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade: SelfTrade::Allowed };
    Ok(Command::PlaceOrder { account, order, client_id, until: None })
}
