//! Accounts and shares that other accounts pay for, with what they have or a little more.

use terms::{Command, Money, Position};

use super::Workload;
use crate::exchange::Model;

/// Draws such a command, rarely.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Option<Command> {
    if !workload.random.percent(5) {
        return None;
    }
    let (payer, account) = (workload.account(), workload.random.pick(&workload.accounts));
    let of = model.accounts().position(|id| id == payer).map(|at| terms::AccountIndex(at as u32));
    let more = i128::from(workload.random.percent(30));
    let part = workload.random.pick(&[1, 1, 2, 3, 10]);
    if workload.random.percent(40) {
        let has = of.map_or(Money::ZERO, |of| model.balance(of)).units();
        let balance = Money::from_units(has / part + more).min(Money::CAP);
        return Some(Command::FundAccount { payer, account, balance });
    }
    let symbol = workload.symbol();
    let at = model.symbols().position(|name| name == symbol).map(|at| terms::SymbolIndex(at as u32));
    let has = of.zip(at).map_or(Position::ZERO, |(of, at)| model.position(of, at)).units();
    let shares = Position::from_units(has / part + more).min(Position::CAP);
    let shares = if workload.random.percent(5) { Position::ZERO } else { shares };
    Some(Command::GiveShares { payer, symbol, account: workload.account(), shares })
}
