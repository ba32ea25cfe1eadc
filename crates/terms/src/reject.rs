//! Refusals as values with their facts. Their `Display` is the sentence for clients.

use std::fmt;

use crate::amendment::AmendFault;
use crate::amount::{Money, Position, Price, Shares};
use crate::iceberg::ICEBERG_PARTS_MAX;
use crate::ids::{Deadline, OrderId, Time};
use crate::kills::KillScope;
use crate::order::Trigger;
use crate::past_limit::PastLimit;
use crate::rules::BrokenRule;
use crate::trail::Trail;
use crate::transfers::{AccountUse, TransferNumber};

/// The reason why a command or query was refused. A refused one changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// An account of this id exists.
    AccountExists,
    /// No account of this id exists.
    UnknownAccount,
    /// No symbol of this name exists.
    UnknownSymbol,
    /// No account of this id exists that could give dollars or shares.
    UnknownPayer,
    /// All accounts together would have been created with more than [`Money::CAP`].
    TooMuchMoney { issued: Money },
    /// The total of issued shares of the symbol would exceed [`Position::CAP`].
    TooManyShares { issued: Position },
    /// A buy needs limit × shares.
    InsufficientFunds { needed: Money, available: Money },
    /// A sell needs its shares: there is no short sale.
    InsufficientShares { needed: Position, available: Position },
    /// A post-only order would execute at once, at this price first.
    WouldTake { price: Price },
    /// An execution at `last` reaches the order's trigger already.
    TriggersAtOnce { trigger: Trigger, last: Price },
    /// A closed account, which places no orders and gets nothing.
    AccountClosed,
    /// An account that has something, or gets something, cannot be closed.
    AccountInUse(AccountUse),
    /// A transfer with a number that is not the next one of its account.
    NotNextTransfer { number: TransferNumber, next: TransferNumber },
    /// An order for money finds no order to trade with, or a price at which the money does not buy even one unit of
    /// shares.
    FundsTradeNothing { funds: Money },
    /// An order for money would wait for its turn. It cannot: its number of shares is not known before.
    WouldWait,
    /// No order of this id, or another account's: the same words, so that a client learns nothing of other accounts.
    UnknownOrder,
    /// A cancel of an order with nothing open.
    NothingOpen,
    /// An amendment of an order with nothing open.
    NothingToAmend,
    /// An amendment that takes no shares off the order, which has this many.
    AmendsUpward { shares: Shares },
    /// An amendment that leaves the order no more shares than were executed.
    AmendsBelowExecuted { executed: Shares },
    /// An amendment that gives an order with a partner another number of shares.
    AmendsOneOfTwo { partner: OrderId },
    /// An amendment with a term that the order cannot have.
    CannotAmend(AmendFault),
    /// A second order of a pair whose first the command before did not place.
    NotLinked,
    /// An order that cannot be linked with the one before it.
    CannotLink { order: OrderId },
    /// An order whose deadline is not after the time of its placing.
    DeadlinePassed { until: Deadline, now: Time },
    /// An order on the condition that the command before it canceled one, which it did not.
    NotCanceled,
    /// An order was to be replaced or left as it is, and the order that was to replace it was not placed.
    Kept,
    /// A display that is too small or too large for the order.
    DisplayOutOfBounds { display: Shares, least: Shares, most: Shares },
    /// A display that is no multiple of its symbol's lot.
    DisplayOffLot { display: Shares, lot: Shares },
    /// The client order id stands for this order, whose terms differ from those of the one to be placed.
    ClientOrderIdTaken { order: OrderId, differs: OrderDifference },
    /// The order breaks a rule of its symbol.
    BreaksRule(BrokenRule),
    /// An opening of a symbol that its rules halt.
    HaltedByRules,
    /// A trailing stop in a symbol of which no execution is known.
    NothingToTrail,
    /// A trailing stop whose trigger would be no price.
    TrailTooFar { trail: Trail, last: Price },
    /// A trailing stop in a symbol that has this many already, or that has this many of the account.
    TooManyTrails { most: usize, of_account: bool },
    /// A working order of a kind that does not rest, or that waits itself.
    CannotWork,
    /// A pending order without a working order in its request.
    NotWorking,
    /// A pending order of another symbol than its working order.
    CannotPend { order: OrderId },
    /// An amendment of a pending order.
    AmendsPending { working: OrderId },
    /// An order in a killed scope.
    Killed(KillScope<(), ()>),
    /// A scope cannot be released while its kill still has orders to cancel.
    KillGoesOn,
    /// An order that exceeds a limit of its account.
    PastLimit(PastLimit),
    /// An order would wait behind others of its symbol, one of which is under way, and too many wait already.
    TooManyWaiting { most: u32 },
    /// No room for another account, symbol or open order (2^32 - 1 each).
    Full,
}

/// The parts in which two orders of one account differ. Its `Display` names them: "another side and limit".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderDifference {
    /// Whether their symbols differ.
    pub symbol: bool,
    /// Whether one buys and the other sells.
    pub side: bool,
    /// Whether their limits differ.
    pub limit: bool,
    /// Whether they were placed with different numbers of shares.
    pub shares: bool,
    /// Whether their kinds differ.
    pub kind: bool,
    /// Whether their triggers differ, or only one has a trigger.
    pub trigger: bool,
    /// Whether their modes of self-trade prevention differ.
    pub self_trade: bool,
    /// Whether their deadlines differ, or only one has a deadline.
    pub until: bool,
    /// Whether they were placed with different partners, or only one with a partner. Gateways find that out.
    pub partner: bool,
    /// Whether their displays differ, or only one has a display.
    pub display: bool,
}

impl OrderDifference {
    /// Whether they differ in no part.
    pub fn is_none(self) -> bool {
        self == OrderDifference::default()
    }
}

impl fmt::Display for OrderDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.symbol, "symbol"),
            (self.side, "side"),
            (self.limit, "limit"),
            (self.shares, "number of shares"),
            (self.kind, "kind"),
            (self.trigger, "stop"),
            (self.self_trade, "self-trade prevention"),
            (self.until, "deadline"),
            (self.partner, "partner"),
            (self.display, "display"),
        ];
        let mut parts = parts.into_iter().filter_map(|(differs, part)| differs.then_some(part)).peekable();
        let mut between = "another ";
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none() && between == ", ";
            write!(f, "{}{part}", if last { " and " } else { between })?;
            between = ", ";
        }
        Ok(())
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reject::AccountExists => f.write_str("Account already exists"),
            Reject::UnknownAccount => f.write_str("Unknown account"),
            Reject::UnknownSymbol => f.write_str("Unknown symbol"),
            Reject::UnknownPayer => f.write_str(
                "Budget is of an account that there is not: an operator creates it, or names another one in the access file",
            ),
            Reject::TooMuchMoney { issued } => write!(
                f,
                "Too much money: all accounts together may be created with at most {}; {issued} was created so far",
                Money::CAP
            ),
            Reject::TooManyShares { issued } => write!(
                f,
                "Too many shares: at most {} of a symbol may be issued; {issued} were issued so far",
                Position::CAP
            ),
            Reject::InsufficientFunds { needed, available } => {
                write!(f, "Insufficient funds: {needed} needed, {available} available")
            }
            Reject::InsufficientShares { needed, available } => {
                write!(f, "Insufficient shares: {needed} needed, {available} available")
            }
            Reject::NotNextTransfer { number, next } => {
                let (why, advice) = match number < next {
                    true => ("was made already, by this request or by another one", "so this one changes nothing"),
                    false => ("would leave out others", "so send those first"),
                };
                write!(f, "Transfer {number} of this account {why}, {advice}: the next one is {next}")
            }
            Reject::AccountClosed => f.write_str("Account is closed: it places no orders and gets nothing"),
            Reject::AccountInUse(found) => found.fmt(f),
            Reject::WouldTake { price } => {
                write!(f, "Post-only order would execute at once, at {price}: choose a limit that does not cross")
            }
            Reject::TriggersAtOnce { trigger, last } => {
                let side = if trigger.is_from_below() { "above" } else { "below" };
                write!(f, "Stop would trigger at once: an execution at {last} reaches it, so choose a stop {side} that")
            }
            Reject::FundsTradeNothing { funds } => {
                write!(
                    f,
                    "Nothing can be traded for {funds}: nobody is on the other side, or a share costs too much"
                )
            }
            Reject::WouldWait => f.write_str(
                "An order for money executes at once, and would have to wait for its turn now: try again in a moment",
            ),
            Reject::UnknownOrder => f.write_str("Unknown order"),
            Reject::Killed(scope) => write!(
                f,
                "Kill switch: {} takes cancels and queries alone until it is released",
                match scope {
                    KillScope::Everything => "the exchange",
                    KillScope::Account(()) => "this account",
                    KillScope::Symbol(()) => "this symbol",
                }
            ),
            Reject::KillGoesOn => {
                f.write_str("Kill switch: orders are still being canceled; release it again when that is over")
            }
            Reject::PastLimit(past) => past.fmt(f),
            Reject::NothingOpen => f.write_str("Order has nothing open to cancel"),
            Reject::NothingToAmend => f.write_str("Order has nothing open to amend"),
            Reject::AmendsUpward { shares } => write!(
                f,
                "Amending takes shares off an order, which keeps its place for that: it has {shares}, so choose fewer, or replace it"
            ),
            Reject::AmendsBelowExecuted { executed } => write!(
                f,
                "Amending leaves an order something open: {executed} were executed, so choose more, or cancel the order"
            ),
            Reject::AmendsOneOfTwo { partner } => write!(
                f,
                "Order is linked with order {partner}, which has as many shares: cancel them and place two others"
            ),
            Reject::CannotAmend(fault) => fault.fmt(f),
            Reject::NotLinked => {
                f.write_str("Nothing was placed: the order that it was to be linked with was not placed")
            }
            Reject::CannotLink { order } => write!(
                f,
                "Order cannot be linked with order {order}: two that are linked have one symbol, side and number of shares, one of \
                 them waits for a price, and the other one waits or is post-only"
            ),
            Reject::DeadlinePassed { until, now } => {
                let late_us = now.0.saturating_sub(until.time().0);
                let (seconds, rest_us) = (late_us.wrapping_div(1_000_000), late_us.wrapping_rem(1_000_000));
                write!(
                    f,
                    "Order would end before it is placed: its deadline passed {seconds}.{rest_us:06} seconds ago, so choose a later one"
                )
            }
            Reject::NotCanceled => f.write_str("Nothing was placed: the order that it was to replace was not canceled"),
            Reject::Kept => f.write_str("Order stays as it is: the order that was to replace it was not placed"),
            Reject::DisplayOutOfBounds { display, least, most } => write!(
                f,
                "Display of {display} shares is out of bounds: an order of {most} shows at least {least}, so that it is shown in {} parts \
                 at most, and no more than it has",
                ICEBERG_PARTS_MAX
            ),
            Reject::DisplayOffLot { display, lot } => {
                write!(f, "Display of {display} shares is not a multiple of the lot size {lot}")
            }
            Reject::ClientOrderIdTaken { order, differs } => {
                write!(
                    f,
                    "Client order id stands for order {order}, which has {differs}: give another order another id"
                )
            }
            Reject::BreaksRule(rule) => rule.fmt(f),
            Reject::HaltedByRules => {
                f.write_str("Symbol cannot open while its rules halt it: switch trading on in its rules first")
            }
            Reject::NothingToTrail => f.write_str(
                "Stop has no price to follow: nothing of this symbol was executed yet, so place a stop at a price, or wait",
            ),
            Reject::TrailTooFar { trail, last } => match (trail.distance(), trail.bips()) {
                (Some(distance), _) => write!(
                    f,
                    "Trail of {distance} is too far: the last execution was at {last}, and there would be no price to wait for"
                ),
                (None, bips) => write!(
                    f,
                    "Trail of {} hundredths of a per cent is too far: the last execution was at {last}, and there would be no price to wait for",
                    bips.unwrap_or(0)
                ),
            },
            Reject::TooManyTrails { most, of_account } => write!(
                f,
                "Too many stops{} follow the price of this symbol: at most {most} may, so place a stop at a price, or wait",
                if *of_account { " of this account" } else { "" }
            ),
            Reject::CannotWork => f.write_str(
                "Order cannot have others wait for it: that is a limit or post-only order, and waits for no price itself",
            ),
            Reject::NotWorking => {
                f.write_str("Nothing was placed: the order that it was to wait for was not placed")
            }
            Reject::CannotPend { order } => {
                write!(f, "Order cannot wait for order {order}, which is of another symbol: both have one")
            }
            Reject::AmendsPending { working } => write!(
                f,
                "Order waits for order {working} to be executed, and cannot be amended before: cancel it, and place another one"
            ),
            Reject::TooManyWaiting { most } => write!(
                f,
                "Too many orders of this symbol wait for a large one that the server executes, or for an auction: at most {most} may, so try again in a moment"
            ),
            Reject::Full => f.write_str("The exchange is full"),
        }
    }
}

impl std::error::Error for Reject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_may_not_wait_is_told_what_is_full_and_what_to_do() {
        let told = Reject::TooManyWaiting { most: 100_000 }.to_string();
        assert_eq!(
            told,
            "Too many orders of this symbol wait for a large one that the server executes, or for an auction: at most 100000 may, so try again in a moment"
        );
    }

    #[test]
    fn a_taken_client_order_id_is_refused_with_the_order_and_what_differs() {
        let same = OrderDifference::default();
        assert!(same.is_none());
        for (differs, words) in [
            (OrderDifference { side: true, ..same }, "another side"),
            (OrderDifference { symbol: true, shares: true, ..same }, "another symbol and number of shares"),
            (
                OrderDifference {
                    symbol: true,
                    side: true,
                    limit: true,
                    shares: true,
                    kind: true,
                    trigger: true,
                    self_trade: true,
                    until: true,
                    partner: true,
                    display: true,
                },
                "another symbol, side, limit, number of shares, kind, stop, self-trade prevention, deadline, partner and display",
            ),
        ] {
            assert!(!differs.is_none());
            let told = Reject::ClientOrderIdTaken { order: OrderId(7), differs }.to_string();
            let expected =
                format!("Client order id stands for order 7, which has {words}: give another order another id");
            assert_eq!(told, expected);
        }
    }
}
