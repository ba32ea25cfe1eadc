//! Cancels of all orders of an account as a workload draws them.

use terms::{Command, OrderId};

use super::Workload;
use crate::exchange::Model;

/// Draws a cancel: mostly of an account that has an open order, and half the time of that order's symbol alone.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    let open = model.open_orders().len();
    let aimed = if open > 0 && workload.random.percent(85) {
        let order = model.open_orders().nth(workload.random.below(open)).expect("there are so many");
        model.accounts().nth(order.account.0 as usize).zip(model.symbols().nth(order.symbol.0 as usize))
    } else {
        None
    };
    let (account, symbol) = aimed.unwrap_or_else(|| (workload.account(), workload.symbol()));
    let symbol = if workload.random.percent(15) { workload.symbol() } else { symbol };
    // Now and then of those alone that are no newer than some order.
    let through = OrderId(1 + workload.random.below(model.orders_placed() as usize + 1) as u64);
    Command::CancelAll {
        account,
        symbol: Some(symbol).filter(|_| workload.random.percent(50)),
        through: Some(through).filter(|_| workload.random.percent(40)),
    }
}
