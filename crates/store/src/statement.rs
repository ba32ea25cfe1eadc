//! The one statement that writes a batch: the calls of the schema's functions, and their parameters from effects. Each
//! parameter is named after the one of the function, and most are rows of a table. migrations/ has the functions.

use terms::{AccountLimits, Group, Phase, Position, Shares, Side, SymbolRules, Tier, Trigger};

use crate::audit_rows::AuditRows;
use crate::column::{NamedParameter, Parameter, columns, rows, single};
use crate::effects::{Effects, Head, OrderRow};
use crate::fee_rows;
use crate::notes::{Kind, NoteRow};
use crate::standing::Epoch;
use crate::stop_rows::{StopRows, WaitingRow};
use crate::trail_rows::ReachedTrailRow;

/// The functions in the order in which they run, with their parameters for `effects`.
fn calls(effects: &Effects, epoch: Epoch) -> [(&'static str, Vec<NamedParameter<'_>>); 4] {
    [
        ("write_batch", batch(effects, epoch)),
        ("write_orders", orders(effects)),
        ("write_settings", settings(effects)),
        ("write_audit", audit(effects)),
    ]
}

/// Makes `SELECT pricetime.write_batch(expected_epoch => $1, …), pricetime.write_orders(…), …`.
pub(crate) fn write_batch() -> String {
    let mut number = 0;
    let mut parameter = |name| {
        number += 1;
        format!("{name} => ${number}")
    };
    let nothing = Effects::after(Head::ZERO);
    let calls = calls(&nothing, Epoch(0)).map(|(function, given)| {
        let parameters: Vec<String> = given.iter().map(|given| parameter(given.name)).collect();
        format!("pricetime.{function}({})", parameters.join(", "))
    });
    format!("SELECT {}", calls.join(", "))
}

/// The functions and names of the parameters, in the order of the statement.
pub(crate) fn parameter_names() -> Vec<(&'static str, &'static str)> {
    let nothing = Effects::after(Head::ZERO);
    let calls = calls(&nothing, Epoch(0)).into_iter();
    calls.flat_map(|(function, given)| given.into_iter().map(move |given| (function, given.name))).collect()
}

/// The parameters for `effects`, in the order of the statement.
pub(crate) fn parameters(effects: &Effects, epoch: Epoch) -> Vec<Parameter<'_>> {
    calls(effects, epoch).into_iter().flat_map(|(_, given)| given).map(|given| given.value).collect()
}

/// The head, and the rows of symbols, accounts, orders and executions.
fn batch(effects: &Effects, epoch: Epoch) -> Vec<NamedParameter<'_>> {
    let Effects { before, after, symbols, issued, accounts, balances, positions, .. } = effects;
    let Effects { orders, taken, executions, cancellations, .. } = effects;
    let rests: fn(&OrderRow) -> bool = |order| !order.open.is_zero();
    vec![
        single("expected_epoch", epoch.0),
        single("expected_sequence", before.sequence),
        single("new_sequence", after.sequence),
        single("new_time", after.time),
        single("new_next_order", after.next_order),
        single("new_next_execution", after.next_execution),
        rows!(new_symbols: symbols, row => number: row.symbol, name: row.name, issued: Position::ZERO),
        rows!(issued_symbols: issued, row => number: row.symbol, issued: row.issued),
        rows!(new_accounts: accounts, row => number: row.account, id: row.id, balance: row.balance),
        rows!(balances: balances, row => number: row.account, balance: row.balance),
        rows!(positions: positions, row => account: row.account, symbol: row.symbol, shares: row.shares),
        rows!(new_orders: orders, row => id: row.order, account: row.account, symbol: row.symbol, time: row.time,
            sequence: row.sequence, side: row.side, limit_price: row.limit, shares: row.shares, kind: row.kind,
            trigger_price: row.trigger.map(Trigger::price), trigger_from_below: row.trigger.map(Trigger::is_from_below),
            self_trade: row.self_trade, until: row.until),
        rows!(new_resting: orders, if rests, row => order_id: row.order, open: row.open),
        rows!(taken: taken, row => order_id: row.order, open: row.shares),
        rows!(new_executions: executions, row => id: row.id, symbol: row.symbol, buy_order: row.order(Side::Buy),
            buyer: row.account(Side::Buy), sell_order: row.order(Side::Sell), seller: row.account(Side::Sell),
            time: row.time, sequence: row.sequence, aggressor: row.aggressor, price: row.price, shares: row.shares,
            buyer_fee_rate: fee_rows::column(row.fee(Side::Buy).rate()),
            seller_fee_rate: fee_rows::column(row.fee(Side::Sell).rate())),
        rows!(new_cancellations: cancellations, row => order_id: row.order, account: row.account, time: row.time,
            sequence: row.sequence, shares: row.shares, why: row.why),
    ]
}

/// The rows that only some orders have.
fn orders(effects: &Effects) -> Vec<NamedParameter<'_>> {
    let Effects { client_orders, client_orders_done, client_orders_freed, stops, notes, .. } = effects;
    let Effects { terms, amended, links, icebergs, trails, pendings, .. } = effects;
    let StopRows { activated, canceled, reached, waiting, .. } = stops;
    let waits_for_price: fn(&WaitingRow) -> bool = |row| row.waits && row.delayed.is_none();
    let is_delayed: fn(&WaitingRow) -> bool = |row| row.waits && row.delayed.is_some();
    let is_amended: fn(&NoteRow) -> bool = |row| row.kind == Kind::Amended;
    let is_other: fn(&NoteRow) -> bool = |row| row.kind != Kind::Amended;
    let still_waits: fn(&ReachedTrailRow) -> bool = |row| !row.is_past;
    vec![
        rows!(new_client_orders: client_orders, row => order_id: row.order, account: row.account,
            client_order_id: row.id, done: row.done, freed: false),
        rows!(done_client_orders: client_orders_done, row => order_id: row.order, done: row.time),
        rows!(freed_client_orders: client_orders_freed, order => order_id: *order),
        rows!(activated: activated, if |row| row.is_older, row => order_id: row.order),
        rows!(canceled: canceled, order => order_id: *order),
        rows!(reached: reached, row => symbol: row.symbol, trigger_price: row.trigger.price(),
            from_below: row.trigger.is_from_below(), reached_sequence: row.turn.sequence, reached_nth: row.turn.nth),
        rows!(new_waiting: waiting, if waits_for_price),
        rows!(queued_stops: activated, row => order_id: row.order, queued_sequence: row.turn.sequence,
            queued_nth: row.turn.nth),
        rows!(amended_orders: amended.rows()),
        rows!(placed_anew: amended.rows(), if |row| row.anew.is_some(), row => order_id: row.order, open: row.open(),
            queued_sequence: row.anew.map(|anew| anew.turn.sequence), queued_nth: row.anew.map(|anew| anew.turn.nth)),
        rows!(reductions: terms.reduced(), if |row| !row.shares.is_zero(), row => order_id: row.order,
            shares: row.shares),
        rows!(new_notes: notes.rows(), if is_other),
        rows!(amended: notes.rows(), if is_amended),
        rows!(new_links: &links.linked, pair => order_id: pair.0, partner: pair.1),
        rows!(parted: &links.canceled, order => order_id: *order),
        rows!(new_icebergs: icebergs.opened(), if |row| row.display.is_some(), row => order_id: row.order,
            display: row.display, hidden: Shares::ZERO),
        rows!(changed_icebergs: icebergs.changed(), row => order_id: row.order, hidden: row.hidden),
        rows!(queued_icebergs: icebergs.changed(), if |row| row.turn.is_some(), row => order_id: row.order,
            queued_sequence: row.turn.map(|turn| turn.sequence), queued_nth: row.turn.map(|turn| turn.nth)),
        rows!(new_trails: trails.opened(), if |row| row.trail.is_some()),
        rows!(moved: trails.moved(), if |row| row.trigger.is_some(), row => order_id: row.order,
            trigger_price: row.trigger.map(Trigger::price)),
        rows!(reached_trails: trails.reached(), if still_waits, row => order_id: row.order,
            trigger_price: row.trigger.price(), reached_sequence: row.turn.map(|turn| turn.sequence),
            reached_nth: row.turn.map(|turn| turn.nth)),
        rows!(queued_trails: trails.reached(), if still_waits, row => order_id: row.order,
            queued_sequence: row.came.sequence, queued_nth: row.came.nth),
        rows!(new_pending: &pendings.opened, row => order_id: row.0, working: row.1),
        rows!(closed: &pendings.closed, order => order_id: *order),
        rows!(queued_pending: &pendings.released, row => order_id: row.0, queued_sequence: row.1.sequence,
            queued_nth: row.1.nth),
        rows!(delayed_orders: waiting, if is_delayed),
    ]
}

/// The rows of symbols and accounts that change seldom. Of each table first the keys of all changed rows, and then the
/// rows that take their place.
fn settings(effects: &Effects) -> Vec<NamedParameter<'_>> {
    let Effects { rules, phases, fees, groups, account_statuses, limits, protections, kills, calendar, stops, .. } =
        effects;
    vec![
        rows!(watches: &stops.watches, row =>
            number: row.symbol,
            last_price: row.last,
            reaches_up_to: row.left.up_to,
            reaches_down_to: row.left.down_to,
            dynamic_reference: row.references.dynamic,
            static_reference: row.references.fixed),
        rows!(old_rules: rules, row => symbol: row.symbol),
        rows!(new_rules: rules, if |row| row.rules != SymbolRules::NONE),
        rows!(old_phases: phases, row => symbol: row.symbol),
        rows!(new_phases: phases, if |row| row.phase.phase != Phase::Open),
        rows!(old_fees: fees.changed(), row => symbol: row.symbol, tier: row.tier),
        rows!(new_fees: fees.changed(), if |row| row.fees.is_some()),
        rows!(old_tiers: fees.moved(), row => account: row.account),
        rows!(new_tiers: fees.moved(), if |row| row.tier != Tier::FIRST),
        rows!(old_groups: groups, row => account: row.account),
        rows!(new_groups: groups, if |row| row.group != Group::NONE),
        rows!(old_statuses: account_statuses, row => account: row.account),
        rows!(new_statuses: account_statuses),
        rows!(old_limits: limits, row => account: row.account),
        rows!(new_limits: limits, if |row| row.limits != AccountLimits::NONE),
        rows!(old_protections: protections, row => account: row.account),
        rows!(new_protections: protections, if |row| row.grace.is_some()),
        rows!(old_kills: kills),
        rows!(new_kills: kills, if |row| row.is_killed),
        single("new_calendar", *calendar),
    ]
}

/// The callers of the commands.
fn audit(effects: &Effects) -> Vec<NamedParameter<'_>> {
    let Effects { before, audit: AuditRows { anew, commands, callers }, .. } = effects;
    let [times, ids, whats] = columns!(commands, row => row.time, row.caller, row.what);
    vec![
        rows!(new_callers: callers),
        single("new_first_command", before.sequence.next()),
        single("new_anew", *anew),
        NamedParameter { name: "new_times", value: times },
        NamedParameter { name: "new_ids", value: ids },
        NamedParameter { name: "new_whats", value: whats },
    ]
}
