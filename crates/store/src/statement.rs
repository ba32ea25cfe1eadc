//! The one statement that writes a batch: its text, and its parameters from effects, column by column. migrations/ has
//! the functions that it calls.

use engine::{CancelReason, Deadline, Side, Trigger};

use crate::column::{Parameter, Single, columns};
use crate::effects::{CancellationRow, Effects, ExecutionRow, OrderRow};
use crate::fee_rows;
use crate::notes::{Kind, NoteRow};
use crate::rules_rows::RulesRow;
use crate::standing::Epoch;
use crate::stop_rows::{Delayed, StopRows, WaitingRow};

/// The functions in the order in which they run, with their numbers of parameters.
const FUNCTIONS: [(&str, usize); 21] = [
    ("write_batch", 47),
    ("write_client_orders", 6),
    ("write_stops", 29),
    ("write_notes", 8),
    ("write_rules", 10),
    ("write_terms", 21),
    ("write_freed_ids", 1),
    ("write_links", 10),
    ("write_icebergs", 7),
    ("write_fees", 20),
    ("write_phases", 5),
    ("write_amendments", 8),
    ("write_groups", 2),
    ("write_trails", 9),
    ("write_pendings", 14),
    ("write_kills", 4),
    ("write_protections", 2),
    ("write_limits", 6),
    ("write_delays", 8),
    ("write_audit", 11),
    ("write_calendar", 1),
];

fn parameter_count() -> usize {
    FUNCTIONS.iter().map(|(_, count)| count).sum()
}

/// Makes `SELECT pricetime.write_batch($1, …, $47), pricetime.write_client_orders($48, …), …`.
pub(crate) fn write_batch() -> String {
    let mut numbers = 1..=parameter_count();
    let calls = FUNCTIONS.map(|(function, count)| {
        let parameters: Vec<String> = numbers.by_ref().take(count).map(|number| format!("${number}")).collect();
        format!("pricetime.{function}({})", parameters.join(", "))
    });
    format!("SELECT {}", calls.join(", "))
}

/// The parameters for `effects`, in the order of the functions' parameters.
pub(crate) fn parameters(effects: &Effects, epoch: Epoch) -> Vec<Parameter<'_>> {
    let Effects { before, after, symbols, issued, accounts, balances, positions, orders, taken, executions, .. } =
        effects;
    let Effects {
        cancellations,
        client_orders,
        client_orders_done,
        client_orders_freed,
        stops,
        notes,
        rules,
        terms,
        links,
        icebergs,
        fees,
        phases,
        groups,
        trails,
        pendings,
        kills,
        audit,
        limits,
        protections,
        calendar,
        ..
    } = effects;
    let StopRows { activated, canceled, reached, waiting, watched, .. } = stops;
    let rests: fn(&OrderRow) -> bool = |order| !order.open.is_zero();
    // One of three functions inserts each order, and one of two each cancellation and each execution.
    let is_free: fn(&ExecutionRow) -> bool = |row| !row.has_fees();
    let has_fees: fn(&ExecutionRow) -> bool = ExecutionRow::has_fees;
    let is_plain: fn(&OrderRow) -> bool = |order| order.trigger.is_none() && !order.has_terms();
    let waits: fn(&OrderRow) -> bool = |order| order.trigger.is_some() && !order.has_terms();
    let has_terms: fn(&OrderRow) -> bool = OrderRow::has_terms;
    let was_asked: fn(&CancellationRow) -> bool = |row| row.why == CancelReason::Asked;
    let was_not_asked: fn(&CancellationRow) -> bool = |row| row.why != CancelReason::Asked;
    let interrupts: fn(&RulesRow) -> bool = |row| row.interruption().is_some();
    let mut all: Vec<Parameter<'_>> = Vec::with_capacity(parameter_count());
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
    all.extend(columns!(executions, if is_free, row => row.execution, row.symbol.0, row.buy.0, row.buyer.0, row.sell.0, row.seller.0, row.time, row.sequence.0,
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
    let waits_for_price: fn(&WaitingRow) -> bool = |row| row.waits && row.delayed.is_none();
    let is_delayed: fn(&WaitingRow) -> bool = |row| row.waits && row.delayed.is_some();
    all.extend(columns!(waiting, if waits_for_price, row => row.order.0, row.symbol.0, row.trigger.map(Trigger::price),
        row.trigger.map(Trigger::is_from_below), row.reached.map(|turn| turn.sequence.0), row.reached.map(|turn| turn.nth)));
    all.extend(columns!(activated, row => row.order.0, row.turn.sequence.0, row.turn.nth));
    all.extend(columns!(watched, row => row.symbol.0, row.last));
    let was_triggered: fn(&NoteRow) -> bool = |row| row.kind == Kind::Triggered;
    let was_linked: fn(&NoteRow) -> bool = |row| row.kind == Kind::Linked;
    all.extend(columns!(notes.rows(), if was_triggered, row => row.order.0, row.account.0, row.kind.name(), row.price, row.time,
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
    all.extend(columns!(client_orders_freed, order => order.0));
    all.extend(columns!(&links.linked, pair => pair.0.0, pair.1.0));
    all.extend(columns!(&links.canceled, order => order.0));
    all.extend(columns!(notes.rows(), if was_linked, row => row.order.0, row.account.0,
        row.partner.map(|partner| partner.0), row.time, row.sequence.0, row.place, row.next_execution));
    all.extend(columns!(icebergs.opened(), row => row.order.0, row.display));
    all.extend(columns!(icebergs.changed(), row => row.order.0, row.hidden));
    all.extend(columns!(icebergs.changed(), if |row| row.turn.is_some(), row => row.order.0,
        row.turn.map(|turn| turn.sequence.0), row.turn.map(|turn| turn.nth)));
    all.extend(columns!(fees.changed(), row => row.symbol.0, u64::from(row.tier.number()), row.maker(), row.taker(), row.account()));
    all.extend(columns!(fees.moved(), row => row.account.0, u64::from(row.tier.number())));
    all.extend(columns!(executions, if has_fees, row => row.execution, row.symbol.0, row.buy.0, row.buyer.0, row.sell.0, row.seller.0, row.time, row.sequence.0,
        row.aggressor == Side::Buy, row.price, row.shares, fee_rows::column(row.buyer_fee), fee_rows::column(row.seller_fee)));
    all.extend(columns!(phases, row => row.symbol.0, row.phase.phase.name(), row.phase.until));
    all.extend(columns!(rules, if interrupts, row => row.symbol.0, row.interruption()));
    let was_amended: fn(&NoteRow) -> bool = |row| row.kind == Kind::Amended;
    all.extend(columns!(notes.rows(), if was_amended, row => row.order.0, row.account.0, row.taken,
        row.why.map(|why| u64::from(why.code())), row.time, row.sequence.0, row.place, row.next_execution));
    all.extend(columns!(groups, row => row.account.0, u64::from(row.group.number())));
    all.extend(columns!(trails.opened(), row => row.order.0, row.distance(), row.bips()));
    all.extend(columns!(trails.moved(), row => row.order.0, row.trigger.price()));
    all.extend(columns!(trails.reached(), row => row.order.0, row.trigger.price(), row.turn.sequence.0, row.turn.nth));
    all.extend(columns!(&pendings.opened, row => row.0.0, row.1.0));
    all.extend(columns!(&pendings.closed, order => order.0));
    all.extend(columns!(&pendings.released, row => row.0.0, row.1.sequence.0, row.1.nth));
    let pended: fn(&NoteRow) -> bool = |row| matches!(row.kind, Kind::Pends | Kind::Released);
    all.extend(columns!(notes.rows(), if pended, row => row.order.0, row.account.0, row.kind.name(),
        row.partner.map(|working| working.0), row.time, row.sequence.0, row.place, row.next_execution));
    all.extend(columns!(kills, row => row.scope.name(), row.account(), row.symbol(), row.is_killed));
    all.extend(columns!(protections, row => row.account.0, row.millis()));
    all.extend(
        columns!(limits, row => row.account.0, row.open_orders(), row.order_shares(), row.order_value(), row.position(),
        row.limits.collar),
    );
    all.extend(columns!(waiting, if is_delayed, row => row.order.0, row.symbol.0, row.trigger.map(Trigger::price),
        row.trigger.map(Trigger::is_from_below), row.reached.map(|turn| turn.sequence.0),
        row.reached.map(|turn| turn.nth), row.delayed.map(Delayed::name), row.delayed.map(|delayed| delayed.goes_to)));
    all.push(Box::new(Single(before.sequence.next().0)));
    all.push(Box::new(Single(audit.anew)));
    all.extend(columns!(&audit.commands, row => row.time, row.caller, row.what.as_str()));
    all.extend(columns!(&audit.callers, row => row.id, row.protocol.as_str(), row.session, row.member.as_str(),
        row.key.as_str(), row.address.as_str()));
    all.push(Box::new(Single(*calendar)));
    assert!(all.len() == parameter_count(), "invariant: so many parameters as the functions have");
    all
}
