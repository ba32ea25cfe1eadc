//! A benchmark as text for people.

use std::fmt::Write as _;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::goals::Outcome;
use super::part::{Measurement, Part, Record};
use crate::run::grouped;
use crate::statistics::summarize;

const NOTHING: &str = "–";
/// More was going on beside it, in percent of all cores.
const BUSY_PERCENT: f64 = 5.0;
const STATED_ROUNDS: u32 = 5;
const STATED_SECONDS: f64 = 5.0;

/// What runs where.
pub fn circumstances(record: &Record) -> String {
    let machine = &record.machine;
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let shared = record.client_cores.iter().any(|core| record.server_cores.contains(core));
    format!(
        "machine     {} cores, {}, {}\ndisk        {}\nbuilt       {}, {}\ncores       server {}, load and subscribers {}{}\n\
         rounds      {} of {} s each, new servers and new data for each measurement\n\
         subscribers {}, each to book, trades and 1m candles of all symbols, the orders of an account, symbols and status\n",
        machine.cores,
        machine.cpu,
        machine.kernel,
        machine.disk,
        machine.commit.as_deref().unwrap_or("unknown commit"),
        machine.compiler,
        cores(&record.server_cores),
        cores(&record.client_cores),
        if shared { ": shared, so that they take time from each other" } else { "" },
        record.rounds,
        record.seconds,
        record.subscribers,
    )
}

/// What was measured, and which goals are met.
pub fn of(record: &Record) -> String {
    let mut text = format!("\n{}\n", measured(&record.measurements));
    text += &format!("\n{}\n", goals(&record.goals));
    let with_goal = || record.goals.iter().filter(|outcome| outcome.met.is_some());
    let met = with_goal().filter(|outcome| outcome.met == Some(true)).count();
    let _ = writeln!(text, "{met} of {} goals met", with_goal().count());
    text += "Medians over the rounds; a ratio is one of a round. Requests of the loops: of three two are orders, half of which\n\
             execute, and one cancels. Trades are timed from when their order was due, by the clock of the same thread.\n";
    for measurement in &record.measurements {
        let at = format!("round {}, {}", measurement.round, measurement.part);
        if !measurement.invalid_because.is_empty() {
            let _ = writeln!(text, "INVALID: {at}: {}", measurement.invalid_because.join("; "));
        }
        for warning in &measurement.warnings {
            let _ = writeln!(text, "warning: {at}: {warning}");
        }
    }
    let busy = record.measurements.iter().filter(|measurement| measurement.busy_percent > BUSY_PERCENT).count();
    if busy > 0 {
        let _ = writeln!(text, "warning: the machine was busy with other things before {busy} of the measurements");
    }
    if record.rounds < STATED_ROUNDS || record.seconds < STATED_SECONDS {
        let _ = writeln!(text, "for figures to state: {STATED_ROUNDS} rounds or more of {STATED_SECONDS} s or more");
    }
    text
}

fn table(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn measured(all: &[Measurement]) -> Table {
    let header = [
        "medians of",
        "requests/s",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "server CPU us",
        "load CPU",
        "messages/s",
        "MB/s",
        "readers' CPU",
        "gaps",
        "dropped",
    ];
    let mut table = table(&header, 1);
    for part in Part::ALL {
        let valid: Vec<&Measurement> = all
            .iter()
            .filter(|measurement| measurement.part == part.name() && measurement.invalid_because.is_empty())
            .collect();
        if !all.iter().any(|measurement| measurement.part == part.name()) {
            continue;
        }
        let median = |of: &dyn Fn(&Measurement) -> Option<f64>| {
            let values: Vec<f64> = valid.iter().filter_map(|measurement| of(measurement)).collect();
            summarize(&values).map(|summary| summary.median)
        };
        let shown = |of: &dyn Fn(&Measurement) -> Option<f64>| median(of).map_or(NOTHING.to_string(), figure);
        let share = |of: &dyn Fn(&Measurement) -> Option<f64>| {
            median(of).map_or(NOTHING.to_string(), |share| format!("{:.0}%", share * 100.0))
        };
        let heard = |of: fn(&super::audience::HeardByAll) -> f64| {
            move |measurement: &Measurement| measurement.heard.as_ref().map(of)
        };
        let count = |of: fn(&super::audience::HeardByAll) -> u64| {
            let counts: Vec<u64> = all
                .iter()
                .filter(|measurement| measurement.part == part.name())
                .filter_map(|measurement| measurement.heard.as_ref().map(of))
                .collect();
            if counts.is_empty() { NOTHING.to_string() } else { counts.iter().sum::<u64>().to_string() }
        };
        table.add_row([
            part.name().to_string(),
            shown(&|measurement| Some(measurement.throughput)),
            shown(&|measurement| measurement.latency_us.as_ref().map(|latency| latency.p50)),
            shown(&|measurement| measurement.latency_us.as_ref().map(|latency| latency.p99)),
            shown(&|measurement| measurement.latency_us.as_ref().map(|latency| latency.p999)),
            shown(&|measurement| measurement.server_cpu_us),
            share(&|measurement| Some(measurement.load_cpu_share)),
            shown(&heard(|heard| heard.messages as f64 / heard.seconds.max(1e-9))),
            shown(&heard(|heard| heard.bytes as f64 / heard.seconds.max(1e-9) / 1e6)),
            share(&heard(|heard| heard.cpu_share)),
            count(|heard| heard.gaps),
            count(|heard| heard.dropped),
        ]);
    }
    table
}

fn goals(outcomes: &[Outcome]) -> Table {
    let mut table = table(&["goals: load", "figure", "goal", "median", "min", "max", "met"], 2);
    for outcome in outcomes.iter().filter(|outcome| outcome.rounds > 0) {
        let goal = match (outcome.at_least, outcome.at_most) {
            (Some(bound), _) => format!("≥ {}", figure(bound)),
            (None, Some(bound)) => format!("≤ {}", figure(bound)),
            (None, None) => "reported".to_string(),
        };
        let met = match outcome.met {
            None => NOTHING,
            Some(true) => "yes",
            Some(false) => "NO",
        };
        let value = |value: Option<f64>| value.map_or(NOTHING.to_string(), figure);
        let [median, min, max] = [outcome.median, outcome.min, outcome.max].map(value);
        table.add_row([outcome.load, outcome.figure, &goal, &median, &min, &max, met]);
    }
    table
}

/// Whole where it is large, with decimals where it is a ratio.
fn figure(value: f64) -> String {
    if value >= 100.0 { grouped(value.round() as u64) } else { format!("{value:.2}") }
}
