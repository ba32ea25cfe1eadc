//! Commands as bytes: a tag, then the fields in the order of the type, integers as LEB128. A command has one encoding.
//! This file does not know sequences, times or files. Source: docs/JOURNAL.md, commands.

use terms::{Command, FeeRate, Fees, Money, OrderId, OrderName, Position, Time};

use crate::amendment_codec::{put_amendment, take_amendment};
use crate::fees_codec::{put_rates, put_tier, take_rates, take_tier};
use crate::fields::{
    put_account, put_amount, put_client_order_id, put_group, put_symbol, take_account, take_balance,
    take_client_order_id, take_group, take_issue, take_phase, take_shares, take_symbol,
};
use crate::kill_codec::{Killing, put_among, put_scope, take_killing};
use crate::limits_codec::{put_limits, take_limits};
use crate::place_codec::{put_place, take_place};
use crate::protection_codec::{put_protect, put_unprotect, take_protect, take_unprotect};
use crate::rules_codec::{put_rules, take_rules};
use crate::shared_log_codec::{put_message, take_message};
use crate::varint::{CodecError, put_u64, take_u8, take_u64};

const CREATE_ACCOUNT: u8 = 1;
const ISSUE_SHARES: u8 = 3;
const CANCEL_ORDER: u8 = 6;
const CANCEL_CLIENT_ORDER: u8 = 9;
const ACTIVATE_REACHED: u8 = 14;
const CREATE_SYMBOL: u8 = 15;
const EXPIRE_ORDERS: u8 = 20;
/// An amendment. The account, the order and the shares follow.
const AMEND_ORDER: u8 = 17;
const AMEND_CLIENT_ORDER: u8 = 18;
/// Other terms of an order. The account and the order follow, then the terms (`amendment_codec.rs`).
const AMEND_TERMS: u8 = 59;
const AMEND_CLIENT_TERMS: u8 = 60;
/// The rules of a symbol.
const CHANGE_RULES: u8 = 16;
const FREE_CLIENT_ORDER_ID: u8 = 33;
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
/// The name of the order that the next command's order replaces.
const REPLACE_ORDER: u8 = 56;
const REPLACE_CLIENT_ORDER: u8 = 57;
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
        Command::Place(ref place) => put_place(out, place),
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
        Command::ReplaceOrder { account, order: OrderName::Id(order) } => {
            out.push(REPLACE_ORDER);
            put_account(out, account);
            put_u64(out, order.0);
        }
        Command::ReplaceOrder { account, order: OrderName::Client(id) } => {
            out.push(REPLACE_CLIENT_ORDER);
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
        Command::Amend(ref amendment) => {
            match amendment.order {
                OrderName::Id(order) => {
                    out.push(AMEND_TERMS);
                    put_account(out, amendment.account);
                    put_u64(out, order.0);
                }
                OrderName::Client(id) => {
                    out.push(AMEND_CLIENT_TERMS);
                    put_account(out, amendment.account);
                    put_client_order_id(out, id);
                }
            }
            put_amendment(out, amendment);
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
        ACTIVATE_REACHED => Ok(Command::ActivateReached),
        CANCEL_ORDER => {
            Ok(Command::CancelOrder { account: take_account(bytes)?, order: OrderId(take_u64(bytes)?).into() })
        }
        CANCEL_CLIENT_ORDER => {
            Ok(Command::CancelOrder { account: take_account(bytes)?, order: take_client_order_id(bytes)?.into() })
        }
        REPLACE_ORDER => {
            Ok(Command::ReplaceOrder { account: take_account(bytes)?, order: OrderId(take_u64(bytes)?).into() })
        }
        REPLACE_CLIENT_ORDER => {
            Ok(Command::ReplaceOrder { account: take_account(bytes)?, order: take_client_order_id(bytes)?.into() })
        }
        AMEND_ORDER => {
            let (account, order) = (take_account(bytes)?, OrderId(take_u64(bytes)?));
            Ok(Command::AmendOrder { account, order: order.into(), shares: take_shares(bytes)? })
        }
        AMEND_CLIENT_ORDER => {
            let (account, id) = (take_account(bytes)?, take_client_order_id(bytes)?);
            Ok(Command::AmendOrder { account, order: id.into(), shares: take_shares(bytes)? })
        }
        AMEND_TERMS => {
            let (account, order) = (take_account(bytes)?, OrderId(take_u64(bytes)?));
            take_amendment(bytes, account, order.into()).map(Command::Amend)
        }
        AMEND_CLIENT_TERMS => {
            let (account, id) = (take_account(bytes)?, take_client_order_id(bytes)?);
            take_amendment(bytes, account, id.into()).map(Command::Amend)
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
        FREE_CLIENT_ORDER_ID => {
            Ok(Command::FreeClientOrderId { account: take_account(bytes)?, id: take_client_order_id(bytes)? })
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
        _ => take_place(tag, bytes).map(Command::Place),
    }
}
