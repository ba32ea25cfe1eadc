//! The parts of a comparison for people: a table for each mode, ratios, and notes. Measures nothing.

use super::notes;
use super::table::Table;
use super::tables::{Between, between_modes, of_mode};
use crate::records::compare_mode::{Mode, Subject};
use crate::records::quantity::{ORDERS, P99, REQUESTS, SERVER_CPU};
use crate::records::study::{Group, Study};

/// Makes a table for each mode, in the order in which they were first measured, then one that compares modes.
pub fn tables(study: &Study) -> Vec<Table> {
    let mut groups = study.groups();
    let mut tables = Vec::new();
    for mode in study.modes().into_iter().filter_map(Mode::named) {
        let mut here: Vec<Group> = groups.extract_if(.., |group| group.mode == mode.name).collect();
        // Subjects that take turns at being first stand in the order of the mode.
        here.sort_by_key(|group| mode.subjects.iter().position(|subject| subject.name() == group.series));
        // Tables on PostgreSQL count orders, since a request may also be a cancel.
        let (shown, ours): (_, &[_]) = match mode.is_on_postgres() {
            true => (&ORDERS, &[("#ours ÷ it", Subject::OrderInPostgres.name())]),
            false if mode.is_replicated() => (&REQUESTS, &[("#ours ÷ it", Subject::OrderInCluster.name())]),
            false => {
                (&REQUESTS, &[("#order ÷ it", Subject::Order.name()), ("#resting ÷ it", Subject::OrderResting.name())])
            }
        };
        tables.push(of_mode(study, &here, &format!("{}: {}", mode.name, mode.title()), shown, ours));
    }
    tables.extend(Some(ratios_between_modes(&study.groups())).filter(|table| !table.is_empty()));
    tables
}

/// Makes the table of the second core's gain, and of other ratios whose two sides are measured in different modes.
fn ratios_between_modes(groups: &[Group]) -> Table {
    let [order, echo] = [Subject::Order, Subject::Echo].map(Subject::name);
    let mut rows: Vec<Between> = Vec::new();
    for [two, one] in [["two-cores", "one-core"], ["two-cores-pipelined", "one-core-pipelined"]] {
        for (subject, what, quantity) in [
            (order, "requests/s", &REQUESTS),
            (order, "server CPU a request", &SERVER_CPU),
            (echo, "requests/s", &REQUESTS),
        ] {
            rows.push((format!("{subject}, {what}: {two} ÷ {one}"), quantity, [two, subject], Some([one, subject])));
        }
    }
    let open = "p99 in open-half: order ÷ raw durable echo".to_string();
    rows.push((open, &P99, ["open-half", order], Some(["open-half", echo])));
    let pipelined = ["postgres-pipelined", Subject::OrderInPostgres.name()];
    let pgbench = ["postgres-clients-32", Subject::Postgres.name()];
    let what = "orders/s: ours in postgres-pipelined ÷ pgbench in postgres-clients-32".to_string();
    rows.push((what, &ORDERS, pipelined, Some(pgbench)));
    between_modes(groups, "Ratios between modes, within a round", rows)
}

/// Returns the notes to the tables, a sentence or two each.
pub fn notes(study: &Study) -> Vec<String> {
    let mut notes = vec![
        "A ratio is ours by theirs in the same round: its median over the rounds (smallest to largest). Other figures are \
         medians over the rounds where nothing else is said. CPU is processor time a request; load CPU is the part of its \
         core that the load used: above 80% it may be what is measured."
            .to_string(),
        "Requests of `order`: of three two are orders, half of which execute, and one cancels, so that the number of open \
         orders stays; in `order-resting` all are orders that rest; in `order-taking` half of those that execute are market \
         orders or immediate or cancel. A PostgreSQL request is a transaction. The loop is closed but where it says open."
            .to_string(),
    ];
    if study.modes().into_iter().filter_map(Mode::named).any(Mode::is_on_postgres) {
        notes.push(
            "On PostgreSQL server, database and load share the same cores, and ratios are of orders a second: an INSERT of \
             pgbench counts as an order. A request is an order or a cancel; in one transaction stand as many as the column \
             says."
                .to_string(),
        );
    }
    if study.modes().into_iter().filter_map(Mode::named).any(Mode::is_replicated) {
        notes.push(
            "Where writes are kept on several servers, all of them and the load share the same cores. Ours and etcd answer when a \
             majority of three has synced it, PostgreSQL when its standby has, too. Redis answers when it has synced it and its \
             replica has received it: version 7.0 cannot wait for the replica's disk. It has one WAIT behind all that a \
             connection has in flight."
                .to_string(),
        );
    }
    notes.extend(notes::of_rounds(study));
    notes
}
