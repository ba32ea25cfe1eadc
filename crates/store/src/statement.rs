//! The one statement that writes a batch: its text, and its parameters from effects, column by column.
//! The functions it calls stand in migrations/0007_kinds.sql, 0004_client_orders.sql, 0008_stops.sql, 0009_notes.sql,
//! 0010_rules.sql, 0011_terms.sql and 0014_phases.sql.

use engine::{CancelReason, Deadline, Side, Trigger};

use crate::column::{Parameter, Single, columns};
use crate::effects::{CancellationRow, Effects, OrderRow};
use crate::rules_rows::RulesRow;
use crate::standing::Epoch;
use crate::stop_rows::StopRows;

/// Parameters of `pricetime.write_batch`.
const BATCH_PARAMETERS: usize = 47;
/// Those of `pricetime.write_client_orders`, behind them.
const CLIENT_ORDER_PARAMETERS: usize = 6;
/// Those of `pricetime.write_stops`, behind these.
const STOP_PARAMETERS: usize = 29;
/// Those of `pricetime.write_notes`, behind these.
const NOTE_PARAMETERS: usize = 8;
/// Those of `pricetime.write_rules`, behind these.
const RULES_PARAMETERS: usize = 10;
/// Those of `pricetime.write_terms`, behind these.
const TERM_PARAMETERS: usize = 21;
/// Those of `pricetime.write_phases`, the last ones.
const PHASE_PARAMETERS: usize = 5;
/// They are executed in this order.
const FUNCTIONS: [(&str, usize); 7] = [
    ("write_batch", BATCH_PARAMETERS),
    ("write_client_orders", CLIENT_ORDER_PARAMETERS),
    ("write_stops", STOP_PARAMETERS),
    ("write_notes", NOTE_PARAMETERS),
    ("write_rules", RULES_PARAMETERS),
    ("write_terms", TERM_PARAMETERS),
    ("write_phases", PHASE_PARAMETERS),
];
const PARAMETERS: usize = BATCH_PARAMETERS
    + CLIENT_ORDER_PARAMETERS
    + STOP_PARAMETERS
    + NOTE_PARAMETERS
    + RULES_PARAMETERS
    + TERM_PARAMETERS
    + PHASE_PARAMETERS;

/// `SELECT pricetime.write_batch($1, …), pricetime.write_client_orders(…), pricetime.write_stops(…, $82),
/// pricetime.write_notes(…, $90), pricetime.write_rules(…, $100), pricetime.write_terms(…, $121),
/// pricetime.write_phases(…, $126)`.
pub(crate) fn write_batch() -> String {
    let mut numbers = 1..=PARAMETERS;
    let calls = FUNCTIONS.map(|(function, count)| {
        let parameters: Vec<String> = numbers.by_ref().take(count).map(|number| format!("${number}")).collect();
        format!("pricetime.{function}({})", parameters.join(", "))
    });
    format!("SELECT {}", calls.join(", "))
}

/// The parameters that say `effects`, in the order of the function's.
pub(crate) fn parameters(effects: &Effects, epoch: Epoch) -> Vec<Parameter<'_>> {
    let Effects { before, after, symbols, issued, accounts, balances, positions, orders, taken, executions, .. } =
        effects;
    let Effects { cancellations, client_orders, client_orders_done, stops, notes, rules, terms, phases, .. } = effects;
    let StopRows { activated, canceled, reached, waiting, watched, .. } = stops;
    let rests: fn(&OrderRow) -> bool = |order| !order.open.is_zero();
    // Each order is inserted by one of three functions, and each cancellation by one of two.
    let is_plain: fn(&OrderRow) -> bool = |order| order.trigger.is_none() && !order.has_terms();
    let waits: fn(&OrderRow) -> bool = |order| order.trigger.is_some() && !order.has_terms();
    let has_terms: fn(&OrderRow) -> bool = OrderRow::has_terms;
    let was_asked: fn(&CancellationRow) -> bool = |row| row.why == CancelReason::Asked;
    let was_not_asked: fn(&CancellationRow) -> bool = |row| row.why != CancelReason::Asked;
    let interrupts: fn(&RulesRow) -> bool = |row| row.interruption().is_some();
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
    all.extend(
        columns!(orders, if is_plain, row => row.order.0, row.account.0, row.symbol.0, row.time, row.sequence.0,
        row.side == Side::Buy, row.limit, row.shares, u64::from(row.kind.code())),
    );
    all.extend(columns!(orders, if rests, row => row.order.0, row.open));
    all.extend(columns!(taken, row => row.order.0, row.shares));
    all.extend(columns!(executions, row => row.execution, row.symbol.0, row.buy.0, row.buyer.0, row.sell.0, row.seller.0, row.time, row.sequence.0,
        row.aggressor == Side::Buy, row.price, row.shares));
    all.extend(
        columns!(cancellations, if was_asked, row => row.order.0, row.account.0, row.time, row.sequence.0, row.shares),
    );
    all.extend(columns!(client_orders, row => row.order.0, row.account.0, row.id, row.done));
    all.extend(columns!(client_orders_done, row => row.order.0, row.time));
    all.extend(columns!(orders, if waits, row => row.order.0, row.account.0, row.symbol.0, row.time, row.sequence.0,
        row.side == Side::Buy, row.limit, row.shares, row.kind.name(), row.trigger.map(Trigger::price),
        row.trigger.map(Trigger::is_from_below)));
    all.extend(columns!(activated, if |row| row.is_older, row => row.order.0));
    all.extend(columns!(canceled, order => order.0));
    all.extend(
        columns!(reached, row => row.symbol.0, row.trigger.price(), row.trigger.is_from_below(), row.turn.sequence.0,
        row.turn.nth),
    );
    all.extend(columns!(waiting, if |row| row.waits, row => row.order.0, row.symbol.0, row.trigger.price(),
        row.trigger.is_from_below(), row.reached.map(|turn| turn.sequence.0), row.reached.map(|turn| turn.nth)));
    all.extend(columns!(activated, row => row.order.0, row.turn.sequence.0, row.turn.nth));
    all.extend(columns!(watched, row => row.symbol.0, row.last));
    all.extend(columns!(notes.rows(), row => row.order.0, row.account.0, row.kind.name(), row.price, row.time,
        row.sequence.0, row.place, row.next_execution));
    all.extend(columns!(rules, row => row.symbol.0, row.tick(), row.lot(), row.shares_min(), row.shares_max(),
        row.value_min(), row.value_max(), row.rules.band_up, row.rules.band_down, row.rules.is_halted));
    all.extend(
        columns!(orders, if has_terms, row => row.order.0, row.account.0, row.symbol.0, row.time, row.sequence.0,
        row.side == Side::Buy, row.limit, row.shares, row.kind.name(), row.trigger.map(Trigger::price),
        row.trigger.map(Trigger::is_from_below), row.self_trade.name(), row.until.map(Deadline::time)),
    );
    all.extend(columns!(terms.reduced(), row => row.order.0, row.shares));
    all.extend(columns!(cancellations, if was_not_asked, row => row.order.0, row.account.0, row.time, row.sequence.0,
        row.shares, u64::from(row.why.code())));
    all.extend(columns!(phases, row => row.symbol.0, row.phase.phase.name(), row.phase.until));
    all.extend(columns!(rules, if interrupts, row => row.symbol.0, row.interruption()));
    assert!(all.len() == PARAMETERS, "invariant: so many parameters as the functions have");
    all
}
