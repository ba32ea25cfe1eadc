//! The limits of accounts as a workload changes them: narrow ones, so that many orders exceed one, and often none
//! again.

use std::num::NonZeroU32;

use terms::{AccountId, AccountIndex, AccountLimits, Command, Distance, NewOrder, Place, Shares, Side, SymbolIndex};

use super::Workload;
use crate::exchange::Model;

/// Draws other limits for an account.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    if workload.random.percent(15)
        && let Some(pending) = model.open_orders().find(|order| order.pends_on.is_some())
        && let Some(account) = model.accounts().nth(pending.account.0 as usize)
    {
        let limits = AccountLimits { collar: Distance::from_hundredths(1), ..AccountLimits::NONE };
        return Command::ChangeLimits { account, limits };
    }
    let account = workload.account();
    if workload.random.percent(25) {
        return Command::ChangeLimits { account, limits: AccountLimits::NONE };
    }
    let mut limits = AccountLimits::NONE;
    if workload.random.percent(25) {
        limits.position = position(workload, model, account);
        return Command::ChangeLimits { account, limits };
    }
    for _ in 0..2 {
        match workload.random.below(6) {
            0 => limits.open_orders = NonZeroU32::new(workload.random.below(6) as u32 + 1),
            1 => limits.order_shares = workload.random.pick(&workload.sizes),
            2 => {
                let (price, shares) = (workload.random.pick(&workload.prices), workload.random.pick(&workload.sizes));
                limits.order_value = price.times(shares);
            }
            3 => limits.position = position(workload, model, account),
            _ => {
                let hundredths =
                    workload.random.pick(&[1, 1, 50, 300, 1_000, 4_000, 9_999, 10_000, 300_000, 1_000_000]);
                limits.collar = Distance::from_hundredths(hundredths);
            }
        }
    }
    Command::ChangeLimits { account, limits }
}

/// Draws a market order of an account with a collar, larger than the best level.
pub(super) fn market_order(workload: &mut Workload, model: &Model) -> Option<Command> {
    let accounts = (0..).map(AccountIndex).zip(model.accounts());
    let bound: Vec<AccountId> =
        accounts.filter(|&(at, _)| model.limits(at).collar.is_some()).map(|(_, id)| id).collect();
    if bound.is_empty() {
        return None;
    }
    let (account, symbol) = (workload.random.pick(&bound), workload.symbol());
    let side = if workload.random.percent(50) { Side::Buy } else { Side::Sell };
    let at = SymbolIndex(model.symbols().position(|other| other == symbol)? as u32);
    let best = model.queue(at, side.opposite()).first()?.open.units();
    let shares = Shares::from_units(best.saturating_add(workload.random.pick(&workload.sizes).units()))?;
    let order = NewOrder::market(symbol, side, shares);
    Some(Command::Place(Place::order(account, order)))
}

/// Draws a position limit: a few orders more than the account has of a symbol, or none at all.
fn position(workload: &mut Workload, model: &Model, account: AccountId) -> Shares {
    let index = model.accounts().position(|other| other == account).map(|at| AccountIndex(at as u32));
    let symbol = SymbolIndex(workload.random.below(model.symbols().count().max(1)) as u32);
    let has = index.map_or(0, |index| model.position(index, symbol).units()).min(i64::MAX.into()) as i64;
    let more = workload.random.pick(&workload.sizes).units().saturating_mul(workload.random.below(4) as i64);
    let units = if workload.random.percent(20) { more } else { has.saturating_add(more) };
    Shares::from_units(units).expect("no fewer than none")
}
