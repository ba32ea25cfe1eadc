//! The tables of a comparison, one a mode: figures over the rounds, and ratios with their spread; and what must be known to
//! read them. Of measurements; measures nothing.

use super::measurement::{Comparison, Figures, Measurement};
use super::mode::Mode;
use super::ratio::{Figure, Source, in_rounds};
use super::subject::Subject;
use crate::number::{NOTHING, figure, known, percent};
use crate::quiet::QUIET_PERCENT;
use crate::statistics::{Summary, summarize};
use crate::table::Table;

/// Above this part of a core the load may be what is measured.
const LOAD_CPU_WARNING: f64 = 0.8;
const MEASURED: [&str; 5] = ["#valid", "#median", "#min", "#max", "#mean ± 95%"];
const LATENCIES: [&str; 3] = ["#p50 us", "#p99 us", "#p99.9 us"];

/// One for each mode, in the order in which they were first measured, then what compares modes.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    let all = &comparison.measurements;
    let mut modes: Vec<Mode> = Vec::new();
    for mode in all.iter().filter_map(|measurement| Mode::named(&measurement.mode)) {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    let of_mode = |mode: Mode| if mode.is_on_postgres() { on_postgres(all, mode) } else { on_journal(all, mode) };
    let between = Some(between_modes(all)).filter(|table| !table.is_empty());
    modes.into_iter().map(of_mode).chain(between).collect()
}

fn on_journal(all: &[Measurement], mode: Mode) -> Table {
    let heads = [
        &["requests/s of"][..],
        &MEASURED,
        &LATENCIES,
        &["#server CPU us", "#load CPU", "#order ÷ it", "#resting ÷ it"],
    ];
    let mut table = Table::new(caption(mode), &heads.concat());
    for subject in subjects(all, mode) {
        let requests: Figure = |figures| Some(figures.throughput);
        let of = |figure| median(all, mode, subject, figure);
        let cells = [known(of(|figures| figures.server_cpu_us)), share(of(|figures| figures.load_cpu_share))];
        let ratios = [Subject::Order, Subject::OrderResting].map(|ours| ratio(all, mode, ours, subject, requests));
        let row = [subject.name().to_string()].into_iter().chain(measured(all, mode, subject, requests));
        table.row(row.chain(latencies(all, mode, subject)).chain(cells).chain(ratios));
    }
    table
}

/// In orders, since a request may also be a cancel, with what they cost the database.
fn on_postgres(all: &[Measurement], mode: Mode) -> Table {
    let heads = [
        &["orders/s of"][..],
        &MEASURED,
        &["#requests/s"],
        &LATENCIES,
        &[
            "#requests a transaction",
            "#retries an order",
            "#server CPU us",
            "#database CPU us",
            "#load CPU",
            "#ours ÷ it",
        ],
    ];
    let mut table = Table::new(caption(mode), &heads.concat());
    for subject in subjects(all, mode) {
        let orders: Figure = |figures| figures.orders_per_second;
        let of = |figure| median(all, mode, subject, figure);
        let row = [subject.name().to_string()].into_iter().chain(measured(all, mode, subject, orders));
        let row = row.chain([known(of(|figures| Some(figures.throughput)))]).chain(latencies(all, mode, subject));
        table.row(row.chain([
            known(of(|figures| figures.requests_per_transaction)),
            known(of(|figures| figures.retries_per_order)),
            known(of(|figures| figures.server_cpu_us)),
            known(of(|figures| figures.database_cpu_us)),
            share(of(|figures| figures.load_cpu_share)),
            ratio(all, mode, Subject::OrderInPostgres, subject, orders),
        ]));
    }
    table
}

/// What a second core gives, and other ratios whose two sides are measured in different modes; empty where they were not.
fn between_modes(all: &[Measurement]) -> Table {
    use Mode::{OneCore, OneCorePipelined, StoreClients32, StorePipelined, TwoCores, TwoCoresPipelined};
    let (requests, cpu): (Figure, Figure) = (|figures| Some(figures.throughput), |figures| figures.server_cpu_us);
    let orders: Figure = |figures| figures.orders_per_second;
    let p99: Figure = |figures| figures.latency_us_p99;
    let of = |mode, subject, figure| Source { mode, subject, figure };
    let mut lines = Vec::new();
    for (two, one) in [(TwoCores, OneCore), (TwoCoresPipelined, OneCorePipelined)] {
        for (subject, what, figure) in [
            (Subject::Order, "requests/s", requests),
            (Subject::Order, "server CPU a request", cpu),
            (Subject::Echo, "requests/s", requests),
        ] {
            let what = format!("{}, {what}: {} ÷ {}", subject.name(), two.name(), one.name());
            lines.push((what, of(two, subject, figure), of(one, subject, figure)));
        }
    }
    let open = |subject| of(Mode::OpenHalf, subject, p99);
    lines.push(("p99 in open-half: order ÷ raw durable echo".to_string(), open(Subject::Order), open(Subject::Echo)));
    lines.push((
        "orders/s: ours in postgres-pipelined ÷ pgbench in postgres-clients-32".to_string(),
        of(StorePipelined, Subject::OrderInPostgres, orders),
        of(StoreClients32, Subject::Postgres, orders),
    ));
    let mut table =
        Table::new("Ratios between modes, within a round", &["ratio", "#rounds", "#median", "#min", "#max"]);
    for (what, of, by) in lines {
        let Some(Summary { runs, median, min, max, .. }) = summarize(&in_rounds(all, of, Some(by))) else { continue };
        let [median, min, max] = [median, min, max].map(|ratio| format!("{ratio:.2}"));
        table.row([what, runs.to_string(), median, min, max]);
    }
    table
}

fn caption(mode: Mode) -> String {
    format!("{}: {}", mode.name(), mode.title())
}

/// Who was measured so.
fn subjects(all: &[Measurement], mode: Mode) -> impl Iterator<Item = Subject> {
    let is_there = move |subject: &Subject| of_subject(all, mode, *subject).next().is_some();
    Subject::ALL.into_iter().filter(is_there)
}

fn of_subject(all: &[Measurement], mode: Mode, subject: Subject) -> impl Iterator<Item = &Measurement> {
    all.iter().filter(move |measurement| measurement.mode == mode.name() && measurement.subject == subject.name())
}

fn summary(all: &[Measurement], mode: Mode, subject: Subject, figure: Figure) -> Option<Summary> {
    summarize(&in_rounds(all, Source { mode, subject, figure }, None))
}

fn median(all: &[Measurement], mode: Mode, subject: Subject, figure: fn(&Figures) -> Option<f64>) -> Option<f64> {
    summary(all, mode, subject, figure).map(|summary| summary.median)
}

/// How many measurements are valid, and what they come to.
fn measured(all: &[Measurement], mode: Mode, subject: Subject, of: Figure) -> [String; 5] {
    let made = of_subject(all, mode, subject).count();
    let valid = of_subject(all, mode, subject).filter(|measurement| measurement.is_valid()).count();
    let valid = format!("{valid} of {made}");
    let Some(summary) = summary(all, mode, subject, of) else {
        return [valid, NOTHING.into(), NOTHING.into(), NOTHING.into(), NOTHING.into()];
    };
    let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", figure(half)));
    let [median, min, max] = [summary.median, summary.min, summary.max].map(figure);
    [valid, median, min, max, format!("{}{half}", figure(summary.mean))]
}

fn latencies(all: &[Measurement], mode: Mode, subject: Subject) -> [String; 3] {
    let of: [Figure; 3] =
        [|figures| figures.latency_us_p50, |figures| figures.latency_us_p99, |figures| figures.latency_us_p999];
    of.map(|of| known(median(all, mode, subject, of)))
}

fn share(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_string(), percent)
}

/// Ours by theirs: the median over the rounds of the ratio within a round, with the smallest and the largest.
fn ratio(all: &[Measurement], mode: Mode, ours: Subject, theirs: Subject, figure: Figure) -> String {
    let of = |subject| Source { mode, subject, figure };
    match summarize(&in_rounds(all, of(ours), Some(of(theirs)))) {
        _ if ours == theirs => "1".to_string(),
        None => NOTHING.to_string(),
        Some(summary) if summary.runs == 1 => format!("{:.2}", summary.median),
        Some(summary) => format!("{:.2} ({:.2}–{:.2})", summary.median, summary.min, summary.max),
    }
}

/// What must be known to read the tables, a sentence or two each.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let all = &comparison.measurements;
    let mut notes = vec![
        "A ratio is ours by theirs in the same round: its median over the rounds (smallest to largest). Other figures are \
         medians over the rounds where nothing else is said. CPU is processor time a request; load CPU is the part of its \
         core that the load used: above 80% it may be what is measured."
            .to_string(),
        "Requests of `order`: of three two are orders, half of which execute, and one cancels, so that the number of open \
         orders stays; in `order-resting` all are orders that rest. A PostgreSQL request is a transaction. The loop is closed \
         but where it says open."
            .to_string(),
    ];
    if all.iter().any(Measurement::is_on_postgres) {
        notes.push(
            "On PostgreSQL server, database and load share the same cores, and ratios are of orders a second: an INSERT of \
             pgbench counts as an order. A request is an order or a cancel; in one transaction stand as many as the column \
             says."
                .to_string(),
        );
    }
    let invalid: Vec<&Measurement> = all.iter().filter(|measurement| !measurement.is_valid()).collect();
    notes.push(match invalid.len() {
        0 => format!("No error, no wrong and no lost reply in any of the {} measurements.", all.len()),
        some => format!("{some} of {} measurements are invalid, and in no figure.", all.len()),
    });
    let disturbed = all.iter().filter(|measurement| measurement.busy_percent > QUIET_PERCENT).count();
    if disturbed > 0 {
        notes.push(format!(
            "warning: before {disturbed} of {} measurements the machine was busy with other things (more than \
             {QUIET_PERCENT}%): these figures are disturbed; --patient waits",
            all.len()
        ));
    }
    let at = |measurement: &Measurement| {
        format!("round {}, {}, {}", measurement.round, measurement.mode, measurement.subject)
    };
    // An open loop looks at the clock all the time and says nothing by it.
    let full = |measurement: &&Measurement| {
        !measurement.is_open_loop() && measurement.figures.load_cpu_share.is_some_and(|share| share > LOAD_CPU_WARNING)
    };
    let limited = all.iter().filter(full).map(at);
    notes.extend(limited.map(|at| format!("warning: the load used more than 80% of its core: {at}")));
    notes.extend(invalid.iter().map(|measurement| {
        format!("INVALID: {}: {}", at(measurement), measurement.invalid_because.as_deref().unwrap_or_default())
    }));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::Task;

    fn measurement(round: u32, mode: Mode, subject: Subject, requests: f64, orders: Option<f64>) -> Measurement {
        let figures = Figures { throughput: requests, orders_per_second: orders, ..Figures::default() };
        Measurement::of(&Task { round, mode, subject, seconds: 1.0 }, 0.0, figures, None)
    }

    #[test]
    fn a_ratio_compares_within_a_round_and_shows_its_spread() {
        let mode = Mode::Single;
        let mut all: Vec<Measurement> = [(1, 100.0, 50.0), (2, 300.0, 100.0), (3, 80.0, 80.0)]
            .into_iter()
            .flat_map(|(round, ours, theirs)| {
                [(Subject::Order, ours), (Subject::Echo, theirs)]
                    .map(|(subject, requests)| measurement(round, mode, subject, requests, None))
            })
            .collect();
        let requests: Figure = |figures| Some(figures.throughput);
        let ratio = |all: &[Measurement]| ratio(all, mode, Subject::Order, Subject::Echo, requests);
        assert_eq!(ratio(&all), "2.00 (1.00–3.00)");
        all[5].invalid_because = Some("lost replies".to_string());
        assert_eq!(ratio(&all), "2.50 (2.00–3.00)");
        assert_eq!(ratio(&all[..2]), "2.00");
        assert_eq!(ratio(&all[..1]), NOTHING);
    }

    #[test]
    fn ratios_on_postgresql_are_of_orders_and_what_was_not_measured_is_no_zero() {
        let mode = Mode::StoreClients8;
        let all = [
            measurement(1, mode, Subject::OrderInPostgres, 3_000.0, Some(2_000.0)),
            measurement(1, mode, Subject::Baseline, 1_500.0, Some(1_000.0)),
            measurement(2, mode, Subject::OrderInPostgres, 6_000.0, Some(4_000.0)),
            measurement(2, mode, Subject::Baseline, 1_500.0, Some(1_000.0)),
        ];
        let text = on_postgres(&all, mode).text();
        let row = text.lines().find(|line| line.contains(Subject::Baseline.name())).expect("a row");
        let cells: Vec<&str> = row.trim_matches('│').split('┆').map(str::trim).collect();
        assert_eq!(cells[1..7], ["2 of 2", "1,000", "1,000", "1,000", "1,000 ± 0", "1,500"]);
        assert_eq!((cells[7], cells[15]), (NOTHING, "3.00 (2.00–4.00)"));
    }
}
