//! Commands as bytes: a tag, then the fields, integers as LEB128. A command has one encoding. This file does not know
//! sequences, times or files. Source: docs/JOURNAL.md, commands.

use terms::{Command, OrderId, OrderName, Symbol};

use crate::amendment_codec::{put_amendment, take_amendment};
use crate::field::{Field, put_if_any, take_if};
use crate::kill_codec::is_among;
use crate::place_codec::{put_place, take_place};
use crate::records::records;
use crate::values::{Capped, Sound};
use crate::varint::{CodecError, take_u8};

/// Appends a command. Panics on an amount that no parser lets in (negative, above its cap, an order without shares):
/// once written, it could never be read again.
pub fn encode(command: &Command, out: &mut Vec<u8>) {
    command.put(out);
}

/// Takes a command from the front of `bytes`. It never panics, whatever the bytes are, and the command that it returns
/// encodes to exactly the bytes taken.
pub fn decode(bytes: &mut &[u8]) -> Result<Command, CodecError> {
    Field::take(bytes)
}

/// Other terms of an order, which is named by its id, or by its client order id.
const AMEND_TERMS: u8 = 59;
const AMEND_CLIENT_TERMS: u8 = 60;

records! {
    Command, "command" {
        1: account, Capped(balance) => CreateAccount { account, balance };
        3: symbol, account, Capped(shares) => IssueShares { symbol, account, shares };
        6: account, order => CancelOrder { account, order: OrderName::Id(order) };
        9: account, id => CancelOrder { account, order: OrderName::Client(id) };
        14: => ActivateReached {};
        15: symbol => CreateSymbol { symbol };
        16: symbol, rules => ChangeRules { symbol, rules };
        17: account, order, shares => AmendOrder { account, order: OrderName::Id(order), shares };
        18: account, id, shares => AmendOrder { account, order: OrderName::Client(id), shares };
        20: => ExpireOrders {};
        24: symbol, tier, fees => ChangeFees { symbol, tier, fees };
        25: account, tier => ChangeTier { account, tier };
        27: symbol, phase => ChangePhase { symbol, phase, due: None };
        28: => EndAuction {};
        29: symbol, phase, due => ChangePhase { symbol, phase, due: Some(due) };
        33: account, id => FreeClientOrderId { account, id };
        38: account, group => ChangeGroup { account, group };
        40: account, Orders(symbol, through) => CancelAll { account, symbol, through };
        41 if is_among: among, account => KillTogether { account, among };
        41: scope => Kill { scope };
        42 if is_among: among, account => ReleaseTogether { account, among };
        42: scope => Release { scope };
        43: account, grace => Protect { account, grace };
        44: account, Loss(is_lost, through) => Unprotect { account, is_lost, through };
        45: account, limits => ChangeLimits { account, limits };
        46: payer, account, Capped(balance) => FundAccount { payer, account, balance };
        47: payer, symbol, account, Capped(shares) => GiveShares { payer, symbol, account, shares };
        61: account, number, Sound(assets) => Deposit { account, assets, number };
        62: payer, account, number, Sound(assets) => DepositFrom { payer, account, assets, number };
        63: account, number, Sound(assets) => Withdraw { account, assets, number };
        64: account => CloseAccount { account };
        54: message => TakeMessage(message);
        55: through => FollowCalendar { through };
        56: account, order => ReplaceOrder { account, order: OrderName::Id(order) };
        57: account, id => ReplaceOrder { account, order: OrderName::Client(id) };
    }
    put(out) {
        Command::Place(ref place) => put_place(place, out),
        Command::Amend(ref amendment) => {
            match amendment.order {
                OrderName::Id(order) => {
                    out.push(AMEND_TERMS);
                    amendment.account.put(out);
                    order.put(out);
                }
                OrderName::Client(id) => {
                    out.push(AMEND_CLIENT_TERMS);
                    amendment.account.put(out);
                    id.put(out);
                }
            }
            put_amendment(amendment, out);
        }
    }
    take(bytes) {
        AMEND_TERMS => {
            let (account, order) = (Field::take(bytes)?, OrderName::Id(Field::take(bytes)?));
            take_amendment(account, order, bytes).map(Command::Amend)
        }
        AMEND_CLIENT_TERMS => {
            let (account, order) = (Field::take(bytes)?, OrderName::Client(Field::take(bytes)?));
            take_amendment(account, order, bytes).map(Command::Amend)
        }
        tag => take_place(tag, bytes).map(Command::Place),
    }
}

/// The orders that a cancel of all means: a byte, the symbol if they are those of one, and the newest if not all are.
struct Orders(Option<Symbol>, Option<OrderId>);

const OF_SYMBOL: u8 = 1;
const THROUGH: u8 = 2;

impl Field for Orders {
    const NAME: &'static str = "which orders are canceled";

    fn put(&self, out: &mut Vec<u8>) {
        let Orders(symbol, through) = *self;
        out.push(if symbol.is_some() { OF_SYMBOL } else { 0 } | if through.is_some() { THROUGH } else { 0 });
        put_if_any(symbol, out);
        put_if_any(through, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Orders, CodecError> {
        let which = take_u8(bytes)?;
        if which > OF_SYMBOL | THROUGH {
            return Err(Orders::fault());
        }
        Ok(Orders(take_if(which & OF_SYMBOL != 0, bytes)?, take_if(which & THROUGH != 0, bytes)?))
    }
}

/// The end of a protection: whether the account is lost, and the newest of its orders that are, if not all are.
struct Loss(bool, Option<OrderId>);

impl Field for Loss {
    const NAME: &'static str = "whether nobody came back";

    fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Loss(false, _) => out.push(0),
            Loss(true, None) => out.push(1),
            Loss(true, Some(through)) => {
                out.push(2);
                through.put(out);
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Result<Loss, CodecError> {
        match take_u8(bytes)? {
            0 => Ok(Loss(false, None)),
            1 => Ok(Loss(true, None)),
            2 => Ok(Loss(true, Some(Field::take(bytes)?))),
            _ => Err(Loss::fault()),
        }
    }
}
