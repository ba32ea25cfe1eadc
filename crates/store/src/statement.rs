//! The one statement that writes a batch: its text, and its parameters from effects, column by column.
//! The functions it calls stand in migrations/0005_history.sql and 0004_client_orders.sql.

use engine::Side;

use crate::column::{Parameter, Single, columns};
use crate::effects::{Effects, OrderRow};
use crate::standing::Epoch;

/// Parameters of `pricetime.write_batch`.
const BATCH_PARAMETERS: usize = 47;
/// Those of `pricetime.write_client_orders`, behind them.
const CLIENT_ORDER_PARAMETERS: usize = 6;
const PARAMETERS: usize = BATCH_PARAMETERS + CLIENT_ORDER_PARAMETERS;

/// `SELECT pricetime.write_batch($1, …), pricetime.write_client_orders(…, $53)`.
pub(crate) fn write_batch() -> String {
    let list = |numbers: std::ops::RangeInclusive<usize>| {
        let parameters: Vec<String> = numbers.map(|number| format!("${number}")).collect();
        parameters.join(", ")
    };
    let (batch, client_orders) = (list(1..=BATCH_PARAMETERS), list(BATCH_PARAMETERS + 1..=PARAMETERS));
    format!("SELECT pricetime.write_batch({batch}), pricetime.write_client_orders({client_orders})")
}

/// The parameters that say `effects`, in the order of the function's.
pub(crate) fn parameters(effects: &Effects, epoch: Epoch) -> Vec<Parameter<'_>> {
    let Effects { before, after, symbols, issued, accounts, balances, positions, orders, taken, executions, .. } =
        effects;
    let Effects { cancellations, client_orders, client_orders_done, .. } = effects;
    let rests: fn(&OrderRow) -> bool = |order| !order.open.is_zero();
    let mut all: Vec<Parameter<'_>> = Vec::with_capacity(PARAMETERS);
    all.push(Box::new(Single(epoch.0)));
    all.push(Box::new(Single(before.sequence.0)));
    all.push(Box::new(Single(after.sequence.0)));
    all.push(Box::new(Single(after.time)));
    all.push(Box::new(Single(after.next_order.0)));
    all.push(Box::new(Single(after.next_execution)));
    all.extend(columns!(symbols, row => row.symbol.0, row.name));
    all.extend(columns!(issued, row => row.symbol.0, row.issued));
    all.extend(columns!(accounts, row => row.account.0, row.id, row.balance));
    all.extend(columns!(balances, row => row.account.0, row.balance));
    all.extend(columns!(positions, row => row.account.0, row.symbol.0, row.shares));
    all.extend(columns!(orders, row => row.order.0, row.account.0, row.symbol.0, row.time, row.sequence.0,
        row.side == Side::Buy, row.limit, row.shares, u64::from(row.kind.code())));
    all.extend(columns!(orders, if rests, row => row.order.0, row.open));
    all.extend(columns!(taken, row => row.order.0, row.shares));
    all.extend(columns!(executions, row => row.execution, row.symbol.0, row.buy.0, row.buyer.0, row.sell.0, row.seller.0, row.time, row.sequence.0,
        row.aggressor == Side::Buy, row.price, row.shares));
    all.extend(columns!(cancellations, row => row.order.0, row.account.0, row.time, row.sequence.0, row.shares));
    all.extend(columns!(client_orders, row => row.order.0, row.account.0, row.id, row.done));
    all.extend(columns!(client_orders_done, row => row.order.0, row.time));
    all
}
