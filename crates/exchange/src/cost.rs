//! Estimates of what ops cost the market's loop, before they are done. This module knows no state: nobody knows in
//! advance how much an order executes.

use terms::{Among, Command, CommandKind, Op, Place, TimeInForce};

/// The estimated cost of a command that cancels or kills many orders at once.
pub const MASS_COST: u64 = 100;

/// The estimated cost of an order that looks at others before it executes, at a thousand of them at most.
const LOOKING_COST: u64 = 10;

/// The highest cost of light requests that come from one client at once: the loop takes them together with those of
/// other clients. Requests that cost more are heavy and make batches of their own.
pub const LIGHT_COST: u64 = 256;

/// The estimated cost of an op; placing a limit order costs about 1.
pub fn cost(op: &Op) -> u64 {
    let Op::Command(command) = op else { return 1 };
    // The last of several accounts pays for all of them.
    if matches!(command, Command::KillTogether { among: Among::First | Among::Between, .. }) {
        return 1;
    }
    if command.place().is_some_and(Place::looks_first) || may_look_again(command) {
        return LOOKING_COST;
    }
    match command.kind() {
        CommandKind::CancelAll
        | CommandKind::Kill
        | CommandKind::ChangePhase
        | CommandKind::ExpireOrders
        | CommandKind::ActivateReached
        | CommandKind::EndAuction
        // It looks at all symbols.
        | CommandKind::CloseAccount => MASS_COST,
        CommandKind::CreateAccount
        | CommandKind::CreateSymbol
        | CommandKind::IssueShares
        | CommandKind::FundAccount
        | CommandKind::GiveShares
        | CommandKind::Deposit
        | CommandKind::DepositFrom
        | CommandKind::Withdraw
        | CommandKind::Place
        | CommandKind::CancelOrder
        | CommandKind::AmendOrder
        | CommandKind::FreeClientOrderId
        | CommandKind::ChangeRules
        | CommandKind::ChangeFees
        | CommandKind::ChangeTier
        | CommandKind::ChangeGroup
        | CommandKind::ChangeLimits
        | CommandKind::Release
        | CommandKind::Protect
        | CommandKind::Unprotect
        | CommandKind::FollowCalendar
        | CommandKind::TakeMessage => 1,
    }
}

/// Whether a command may place an order again that looks at others first.
fn may_look_again(command: &Command) -> bool {
    matches!(command, Command::Amend(amendment) if amendment.tif() == Some(TimeInForce::FillOrKill))
}

/// The estimated cost of several ops.
pub fn cost_of(ops: &[Op]) -> u64 {
    ops.iter().map(cost).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use terms::{
        AccountId, Amendment, FundsOrder, Money, NewOrder, OrderId, OrderKind, Price, SelfTrade, Shares, Side, Symbol,
    };

    use super::*;

    #[test]
    fn orders_that_look_at_others_first_cost_more_than_those_that_execute_as_they_go() {
        let (account, symbol) = (AccountId::parse(b"1").unwrap(), Symbol::parse(b"SPY").unwrap());
        let (limit, shares) = (Price::from_units(1).unwrap(), Shares::from_units(1).unwrap());
        let of_kind = |kind| {
            let order = NewOrder { kind, ..NewOrder::limit(symbol, Side::Buy, limit, shares) };
            cost(&Op::Command(Command::Place(Place::order(account, order))))
        };
        let funds = FundsOrder { symbol, side: Side::Buy, funds: Money::from_units(1), self_trade: SelfTrade::Allowed };
        let for_money = cost(&Op::Command(Command::Place(Place::funds(account, funds))));
        assert_eq!([OrderKind::Limit, OrderKind::ImmediateOrCancel].map(of_kind), [1, 1]);
        assert_eq!([of_kind(OrderKind::FillOrKill), for_money], [LOOKING_COST; 2]);
        let with_tif =
            |tif| cost(&Op::Command(Command::Amend(Amendment::of(account, OrderId(1).into()).with_tif(tif))));
        assert_eq!(TimeInForce::ALL.map(with_tif), [1, 1, LOOKING_COST, 1]);
    }
}
