//! Deposits, withdrawals, and accounts and shares that other accounts pay for, with what they have or a little more.

use terms::{AccountId, Assets, Command, Money, Position, TransferNumber};

use super::Workload;
use crate::exchange::Model;

/// Draws such a command, rarely.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Option<Command> {
    if !workload.random.percent(8) {
        return None;
    }
    if workload.random.percent(40) {
        return Some(transfer(workload, model));
    }
    let (payer, account) = (workload.account(), workload.random.pick(&workload.accounts));
    let of = index_of(model, payer);
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

/// Draws a deposit or a withdrawal.
fn transfer(workload: &mut Workload, model: &Model) -> Command {
    let (account, payer) = (workload.account(), workload.account());
    let of = index_of(model, account);
    let next = of.map_or(0, |of| model.transfers(of)) + 1;
    // The number before the next one is that of a transfer that is sent twice.
    let number = workload.random.pick(&[0, next - 1, next, next, next + 1]);
    let number = TransferNumber::new(number);
    let kind = workload.random.below(100);
    let giver = if kind < 60 { of } else { index_of(model, payer) };
    let assets = assets(workload, model, giver);
    match kind {
        0..60 => Command::Withdraw { account, assets, number },
        60..75 => Command::DepositFrom { payer, account, assets, number },
        _ => Command::Deposit { account, assets, number },
    }
}

/// Draws about as much as an account has, of one kind: at least a unit.
fn assets(workload: &mut Workload, model: &Model, of: Option<terms::AccountIndex>) -> Assets {
    let (part, more) = (workload.random.pick(&[1, 1, 2, 3, 10]), i128::from(workload.random.percent(20)));
    let some = |has: i128, cap: i128| (has / part + more).clamp(1, cap);
    if workload.random.percent(50) {
        let has = of.map_or(Money::ZERO, |of| model.balance(of)).units();
        return Assets::Dollars(Money::from_units(some(has, Money::CAP.units())));
    }
    let symbol = workload.symbol();
    let at = model.symbols().position(|name| name == symbol).map(|at| terms::SymbolIndex(at as u32));
    let has = of.zip(at).map_or(Position::ZERO, |(of, at)| model.position(of, at)).units();
    Assets::Shares { symbol, shares: Position::from_units(some(has, Position::CAP.units())) }
}

pub(super) fn index_of(model: &Model, account: AccountId) -> Option<terms::AccountIndex> {
    model.accounts().position(|id| id == account).map(|at| terms::AccountIndex(at as u32))
}
