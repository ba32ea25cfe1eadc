//! What a run came to, for people: one figure a line, aligned, faults and doubts at the end.

use std::fmt::Write as _;

use crate::number::{figure, grouped, list};
use crate::record::{Conservation, RunRecord};
use crate::statistics;

const LABEL_WIDTH: usize = 24;
/// The system counts processor time in hundredths of a second.
const TELLING_SECONDS: f64 = 0.1;

/// A run.
pub fn of(record: &RunRecord) -> String {
    let mut text = format!("\n  {}\n\n", title(record));
    line(&mut text, "throughput", &throughput(record));
    line(&mut text, &format!("latency ({} loop)", record.latency.from), &latency(record));
    line(&mut text, "", &percentiles(record));
    let counts = &record.counts;
    let answered =
        format!("{} answered of {} sent in {:.3} s", grouped(counts.answered), grouped(counts.sent), record.seconds);
    line(&mut text, "requests", &answered);
    for (kind, count) in &counts.kinds {
        line(&mut text, &format!("  {kind}"), &grouped(*count));
    }
    let (expected, errors) = (grouped(counts.errors_expected), grouped(counts.errors));
    line(&mut text, "errors", &format!("{errors} unexpected, {expected} expected"));
    let faults = format!("{} wrong, {} lost, {} broken connections", counts.wrong, counts.lost, counts.broken);
    line(&mut text, "faults", &faults);
    // The most of several threads were not all there at the same moment.
    let about = if record.load.threads > 1 { "at most " } else { "" };
    let (in_flight, connections) = (grouped(record.in_flight_max), grouped(record.connections_max));
    let at_once = format!("{about}{in_flight} requests, {connections} connections");
    line(&mut text, "most at once", &at_once);
    if let Some(used) = server_used(record) {
        line(&mut text, "server", &used);
    }
    line(&mut text, "load generator", &load_used(record));
    line(&mut text, "conservation", &conserved(record));
    line(&mut text, "machine", &machine(record));
    text.push('\n');
    for warning in &record.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    match record.invalid_because.as_slice() {
        [] => text += "  valid\n",
        faults => {
            let _ = writeln!(text, "  INVALID: {}", faults.join("; "));
        }
    }
    if let Some(first) = &counts.first_wrong {
        let _ = writeln!(text, "  the first fault was {first}");
    }
    text
}

/// Several runs of the same.
pub fn of_all(records: &[RunRecord]) -> String {
    let mut text = format!("\n  {} runs\n\n", records.len());
    let mut add = |label: &str, unit: &str, of: fn(&RunRecord) -> f64| {
        let values: Vec<f64> = records.iter().map(of).collect();
        let Some(all) = statistics::summarize(&values) else { return };
        let interval = all.t95.map_or(String::new(), |half| format!(" (95% interval ± {})", figure(half)));
        let summed = format!(
            "{} ± {} {unit}{interval}, median {}, {} to {}",
            figure(all.mean),
            figure(all.deviation),
            figure(all.median),
            figure(all.min),
            figure(all.max)
        );
        line(&mut text, label, &summed);
    };
    add("throughput", "requests/s", |record| record.throughput);
    add("latency p50", "us", |record| record.latency.p50);
    add("latency p99", "us", |record| record.latency.p99);
    add("latency p99.9", "us", |record| record.latency.p999);
    let invalid = records.iter().filter(|record| !record.invalid_because.is_empty()).count();
    let _ = match invalid {
        0 => writeln!(text, "\n  all valid; each ± is a standard deviation"),
        invalid => writeln!(text, "\n  INVALID: {invalid} of {} runs; see above", records.len()),
    };
    text
}

fn line(text: &mut String, label: &str, value: &str) {
    let dots = if label.is_empty() { " " } else { "." };
    let fill = dots.repeat(LABEL_WIDTH.saturating_sub(label.chars().count()));
    let end = if label.is_empty() { ' ' } else { ':' };
    let _ = writeln!(text, "    {label}{fill}{end} {value}");
}

fn title(record: &RunRecord) -> String {
    let load = &record.load;
    let connections =
        format!("{} connection{}", grouped(load.connections), if load.connections == 1 { "" } else { "s" });
    let how = match load.mode.as_str() {
        "per-request" => format!("a connection for each request, {} at once", grouped(load.connections)),
        "pipelined" => format!("{connections}, {} in flight on each", load.depth),
        _ => format!("{connections}, 1 in flight on each"),
    };
    let pace = match load.rate {
        Some(rate) => format!("open loop, {} requests/s, {connections}, {}", figure(rate), load.mode),
        None => format!("closed loop, {how}"),
    };
    let durability = match &record.server.durability {
        Some(durability) => format!(", {durability}"),
        None => format!(", at {}", record.server.address),
    };
    format!("{}: {pace}{durability}", load.workload)
}

/// Requests a second, and orders a second where only some of the requests are orders.
fn throughput(record: &RunRecord) -> String {
    let all = format!("{} requests/s", figure(record.throughput));
    let orders = record.counts.kinds.get("opened").copied().unwrap_or(0);
    if orders == 0 || orders == record.counts.answered || record.seconds == 0.0 {
        return all;
    }
    format!("{all}, {} orders/s among them", figure(orders as f64 / record.seconds))
}

fn latency(record: &RunRecord) -> String {
    let latency = &record.latency;
    let from = if latency.from == "open" { ", from the scheduled time" } else { "" };
    format!("mean {}  min {}  max {} us{from}", figure(latency.mean), figure(latency.min), figure(latency.max))
}

fn percentiles(record: &RunRecord) -> String {
    let latency = &record.latency;
    let [p50, p90, p99, p999] = [latency.p50, latency.p90, latency.p99, latency.p999].map(figure);
    format!("p50 {p50}  p90 {p90}  p99 {p99}  p99.9 {p999} us")
}

fn server_used(record: &RunRecord) -> Option<String> {
    let server = &record.server;
    let cpu = server.cpu_seconds?;
    if record.seconds < TELLING_SECONDS {
        return Some("too short a run to tell its processor time".to_string());
    }
    let mut text = format!("{:.2} us of processor time a request", cpu * 1e6 / record.counts.answered.max(1) as f64);
    let _ = write!(text, ", {:.0}% of a core", cpu / record.seconds * 100.0);
    if let Some(peak) = server.memory_peak {
        let _ = write!(text, ", {} MiB at most", peak >> 20);
    }
    if let Some(cores) = &server.cores {
        let _ = write!(text, ", on core {}", list(cores));
    }
    Some(text)
}

fn load_used(record: &RunRecord) -> String {
    let client = &record.client;
    let mut text = format!("{:.0}% of a core", client.cpu_share * 100.0);
    if record.load.threads > 1 {
        text += " in its busiest thread";
    }
    if !client.cores.is_empty() {
        let _ = write!(text, ", on core {}", list(&client.cores));
    }
    if record.load.rate.is_some() {
        text += " (an open loop looks at the clock all the time)";
    }
    if client.source_addresses > 1 {
        let _ = write!(text, ", from {} loopback addresses, so that ports do not run short", client.source_addresses);
    }
    text
}

fn conserved(record: &RunRecord) -> String {
    match &record.conservation {
        Conservation::NotChecked if record.server.own => {
            "conservation not checked: the server did not end well".to_string()
        }
        Conservation::NotChecked => "conservation not checked: the server is not ours".to_string(),
        Conservation::Holds => "holds: money and shares are those that were created".to_string(),
        Conservation::Broken(what) => format!("BROKEN: {what}"),
    }
}

fn machine(record: &RunRecord) -> String {
    let machine = &record.machine;
    let mut text = format!("{} cores, {}, {}", machine.cores, machine.cpu, machine.kernel);
    if let Some([median, p99]) = machine.fsync_us {
        let _ = write!(text, ", {}, fdatasync {} us (p99 {})", machine.disk, figure(median), figure(p99));
    }
    text
}
