//! Groups as a workload draws them: few, so that accounts of one group match often.

use terms::{AccountId, AccountIndex, Command, FundsOrder, Group, Money, NewOrder, OrderKind, Place, SelfTrade};

use super::Workload;
use crate::exchange::Model;

/// Draws another group for an account, or none.
pub(super) fn draw(workload: &mut Workload) -> Command {
    let number = workload.random.pick(&[0, 1, 1, 1, 2, Group::MAX]);
    let group = Group::new(number).expect("these are in bounds");
    Command::ChangeGroup { account: workload.account(), group }
}

/// Another account of this account's group, mostly, if there is one.
pub(super) fn another(workload: &mut Workload, account: AccountIndex, model: &Model) -> Option<AccountId> {
    let group = model.group(account);
    if !workload.has_groups || group == Group::NONE || workload.random.percent(30) {
        return None;
    }
    let all = model.accounts().zip((0..).map(AccountIndex));
    let others: Vec<AccountId> =
        all.filter(|&(_, other)| other != account && model.group(other) == group).map(|(id, _)| id).collect();
    if others.is_empty() { None } else { Some(workload.random.pick(&others)) }
}

/// Turns a market order with self-trade prevention into one for an amount of money, at times.
pub(super) fn for_money(workload: &mut Workload, account: AccountId, order: &NewOrder) -> Option<Command> {
    let NewOrder { symbol, side, shares, kind, trigger, self_trade, .. } = *order;
    let is_one = kind == OrderKind::Market && trigger.is_none() && self_trade != SelfTrade::Allowed;
    if !workload.has_groups || !is_one || workload.random.percent(60) {
        return None;
    }
    let funds = workload.random.pick(&workload.prices).times(shares).min(Money::CAP);
    Some(Command::Place(Place::funds(account, FundsOrder { symbol, side, funds, self_trade })))
}
