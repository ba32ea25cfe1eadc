//! A benchmark as text for people: what was measured, what subscribers cost, and what must be known of it. Measures nothing.

use super::audience::HeardByAll;
use super::part::{Measurement, Part, Record};
use crate::number::{NOTHING, grouped, known, list, percent};
use crate::statistics::{Summary, summarize};
use crate::table::Table;

/// More was going on beside it, in percent of all cores.
const BUSY_PERCENT: f64 = 5.0;
const STATED_ROUNDS: u32 = 5;
const STATED_SECONDS: f64 = 5.0;

type Figure = fn(&Measurement) -> Option<f64>;

/// What runs where.
pub fn circumstances(record: &Record) -> String {
    let machine = &record.machine;
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
        list(&record.server_cores),
        list(&record.client_cores),
        if shared { ": shared, so that they take time from each other" } else { "" },
        record.rounds,
        record.seconds,
        record.subscribers,
    )
}

/// What was measured, and what subscribers cost.
pub fn tables(record: &Record) -> [Table; 2] {
    [measured(&record.measurements), costs(&record.measurements)]
}

/// What must be known to read the tables.
pub fn notes(record: &Record) -> Vec<String> {
    let mut notes = vec![
        "Medians over the rounds; a ratio is one of a round. Requests of the loops: of three two are orders, half of which \
         execute, and one cancels. Trades are timed from when their order was due, by the clock of the same thread."
            .to_string(),
    ];
    for measurement in &record.measurements {
        let at = format!("round {}, {}", measurement.round, measurement.part);
        if !measurement.invalid_because.is_empty() {
            notes.push(format!("INVALID: {at}: {}", measurement.invalid_because.join("; ")));
        }
        notes.extend(measurement.warnings.iter().map(|warning| format!("warning: {at}: {warning}")));
    }
    let busy = record.measurements.iter().filter(|measurement| measurement.busy_percent > BUSY_PERCENT).count();
    if busy > 0 {
        notes.push(format!("warning: the machine was busy with other things before {busy} of the measurements"));
    }
    if record.rounds < STATED_ROUNDS || record.seconds < STATED_SECONDS {
        notes.push(format!("for figures to state: {STATED_ROUNDS} rounds or more of {STATED_SECONDS} s or more"));
    }
    notes
}

fn measured(all: &[Measurement]) -> Table {
    let heads = [
        "medians of",
        "#requests/s",
        "#orders/s",
        "#p50 us",
        "#p99 us",
        "#p99.9 us",
        "#server CPU us",
        "#load CPU",
        "#messages/s",
        "#MB/s",
        "#readers' CPU",
        "#gaps",
        "#dropped",
    ];
    let mut table = Table::new("the order path and those who look on", &heads);
    for part in Part::ALL {
        let of_part = || all.iter().filter(move |measurement| measurement.part == part.name());
        if of_part().next().is_none() {
            continue;
        }
        let median = |figure| summary(all, part, figure, None).map(|summary| summary.median);
        let share = |figure| median(figure).map_or(NOTHING.to_string(), percent);
        let count = |of: fn(&HeardByAll) -> u64| {
            let counts = of_part().filter_map(|measurement| measurement.heard.as_ref().map(of));
            counts.reduce(|one, other| one + other).map_or(NOTHING.to_string(), grouped)
        };
        table.row([
            part.name().to_string(),
            known(median(REQUESTS)),
            known(median(|measurement| Some(measurement.orders_per_second))),
            known(median(|measurement| measurement.latency_us.as_ref().map(|latency| latency.p50))),
            known(median(P99)),
            known(median(|measurement| measurement.latency_us.as_ref().map(|latency| latency.p999))),
            known(median(CPU)),
            share(|measurement| Some(measurement.load_cpu_share)),
            known(median(|measurement| a_second(measurement, |heard| heard.messages))),
            known(median(|measurement| a_second(measurement, |heard| heard.bytes).map(|bytes| bytes / 1e6))),
            share(|measurement| measurement.heard.as_ref().map(|heard| heard.cpu_share)),
            count(|heard| heard.gaps),
            count(|heard| heard.dropped),
        ]);
    }
    table
}

const REQUESTS: Figure = |measurement| Some(measurement.throughput);
const P99: Figure = |measurement| measurement.latency_us.as_ref().map(|latency| latency.p99);
const CPU: Figure = |measurement| measurement.server_cpu_us;

fn a_second(measurement: &Measurement, of: fn(&HeardByAll) -> u64) -> Option<f64> {
    measurement.heard.as_ref().map(|heard| of(heard) as f64 / heard.seconds.max(1e-9))
}

/// What those who look on cost those who trade, and how soon they are told of trades.
fn costs(all: &[Measurement]) -> Table {
    use Part::{ClosedAlone, ClosedHeard, OpenAlone, OpenHeard, Trades};
    let lines: [(&str, Part, Figure, Option<Part>); 8] = [
        ("closed loop: requests/s with subscribers ÷ without", ClosedHeard, REQUESTS, Some(ClosedAlone)),
        ("closed loop: server CPU a request with subscribers ÷ without", ClosedHeard, CPU, Some(ClosedAlone)),
        ("open loop: requests/s with subscribers ÷ without", OpenHeard, REQUESTS, Some(OpenAlone)),
        ("open loop: p99 us with subscribers", OpenHeard, P99, None),
        ("open loop: p99 us without", OpenAlone, P99, None),
        (
            "from an order to a subscriber's socket: p50 us",
            Trades,
            |m| m.trade_to_socket_us.as_ref().map(|t| t.p50),
            None,
        ),
        (
            "from an order to a subscriber's socket: p99 us",
            Trades,
            |m| m.trade_to_socket_us.as_ref().map(|t| t.p99),
            None,
        ),
        (
            "from an order to a subscriber's socket: p99.9 us",
            Trades,
            |m| m.trade_to_socket_us.as_ref().map(|t| t.p999),
            None,
        ),
    ];
    let mut table =
        Table::new("what subscribers cost, and how soon they are told", &["of", "#rounds", "#median", "#min", "#max"]);
    for (what, part, figure, by) in lines {
        let Some(found) = summary(all, part, figure, by) else { continue };
        let [median, min, max] = [found.median, found.min, found.max].map(|value| known(Some(value)));
        table.row([what.to_string(), found.runs.to_string(), median, min, max]);
    }
    table
}

/// The valid values of a figure, divided by that of another part in the same round where there is one to divide by.
fn summary(all: &[Measurement], part: Part, figure: Figure, by: Option<Part>) -> Option<Summary> {
    let valid = |part: Part| {
        all.iter().filter(move |measurement| measurement.part == part.name() && measurement.invalid_because.is_empty())
    };
    let value = |measurement: &Measurement| {
        let value = figure(measurement)?;
        let Some(by) = by else { return Some(value) };
        valid(by).find(|other| other.round == measurement.round).and_then(figure).map(|divisor| value / divisor)
    };
    summarize(&valid(part).filter_map(value).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(round: u32, part: Part, throughput: f64, valid: bool) -> Measurement {
        let invalid_because = if valid { Vec::new() } else { vec!["of something".to_string()] };
        Measurement { round, part: part.name(), throughput, invalid_because, ..Measurement::default() }
    }

    #[test]
    fn what_subscribers_cost_is_the_median_of_the_ratios_of_valid_rounds() {
        let mut all = Vec::new();
        for (round, [alone, heard], valid) in
            [(1, [100.0, 80.0], true), (2, [200.0, 190.0], true), (3, [100.0, 92.0], true), (4, [100.0, 1.0], false)]
        {
            all.push(measurement(round, Part::ClosedAlone, alone, true));
            all.push(measurement(round, Part::ClosedHeard, heard, valid));
        }
        let closed = summary(&all, Part::ClosedHeard, REQUESTS, Some(Part::ClosedAlone)).expect("three rounds");
        assert_eq!((closed.median, closed.min, closed.max, closed.runs), (0.92, 0.8, 0.95, 3));
        assert!(costs(&all).text().contains("0.9200"));
        assert!(summary(&all, Part::Rest, REQUESTS, None).is_none());
    }
}
