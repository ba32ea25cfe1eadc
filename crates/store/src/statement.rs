//! The one statement that writes a batch: its text, and its parameters from effects, column by column.
//! The function it calls stands in migrations/0002_writing.sql.

use engine::Side;

use crate::column::{Parameter, Single, columns};
use crate::effects::{Effects, OrderRow};
use crate::standing::Epoch;

/// Parameters of `pricetime.write_batch`.
const PARAMETERS: usize = 42;

/// `SELECT pricetime.write_batch($1, …)`.
pub(crate) fn write_batch() -> String {
    let parameters: Vec<String> = (1..=PARAMETERS).map(|number| format!("${number}")).collect();
    format!("SELECT pricetime.write_batch({})", parameters.join(", "))
}

/// The parameters that say `effects`, in the order of the function's.
pub(crate) fn parameters(effects: &Effects, epoch: Epoch) -> Vec<Parameter<'_>> {
    let Effects { before, after, symbols, issued, accounts, balances, positions, orders, taken, executions, .. } =
        effects;
    let cancellations = &effects.cancellations;
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
        row.side == Side::Buy, row.limit, row.shares));
    all.extend(columns!(orders, if rests, row => row.order.0, row.open));
    all.extend(columns!(taken, row => row.order.0, row.shares));
    all.extend(columns!(executions, row => row.execution, row.buy.0, row.sell.0, row.time, row.sequence.0,
        row.aggressor == Side::Buy, row.price, row.shares));
    all.extend(columns!(cancellations, row => row.order.0, row.time, row.sequence.0, row.shares));
    all
}
