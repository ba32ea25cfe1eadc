//! The result of a run, for people: one figure a line, aligned, faults and doubts at the end.

use crate::records::number::{NOTHING, bytes, figure, grouped, list, micros, percent};
use crate::records::quantity::{ORDERS, P50, P90, P99, P999, Quantity, REQUESTS, SERVER_CPU};
use crate::records::statistics::summarize;
use crate::records::{Conservation, Mode, RunRecord, word};

/// Seconds of processor time from which a figure means something: the system counts in hundredths of a second.
const TELLING_SECONDS: f64 = 0.1;

/// Writes a run.
pub fn of(record: &RunRecord) -> String {
    let RunRecord { counts, latency, machine, .. } = record;
    let [mean, min, max] = [latency.mean, latency.min, latency.max].map(|us| us.map_or(NOTHING.to_string(), micros));
    let percentiles =
        [&P50, &P90, &P99, &P999].map(|quantity| format!("{} {}", quantity.head, quantity.cell_of(record)));
    let from = if latency.from == "open" { ", from the scheduled time" } else { "" };
    // The maxima of several threads need not have been at the same moment.
    let about = if record.load.threads > 1 { "at most " } else { "" };
    let (most_requests, most_connections) = (grouped(record.in_flight_max), grouped(record.connections_max));
    let (answered, sent) = (grouped(counts.answered), grouped(counts.sent));
    let fsync = machine.fsync_us.map_or(String::new(), |[median, p99]| {
        format!(", {}, fdatasync {} (p99 {})", machine.disk, micros(median), micros(p99))
    });
    let mut lines = vec![
        ("throughput".to_string(), throughput(record)),
        (format!("latency ({} loop)", latency.from), format!("mean {mean}  min {min}  max {max}{from}")),
        (String::new(), percentiles.join("  ")),
        ("requests".to_string(), format!("{answered} answered of {sent} sent in {:.3} s", record.seconds)),
    ];
    lines.extend(counts.kinds.iter().map(|(kind, count)| (format!("  {kind}"), grouped(*count))));
    let rest = [
        ("errors", format!("{} unexpected, {} expected", grouped(counts.errors), grouped(counts.errors_expected))),
        ("faults", format!("{} wrong, {} lost, {} broken connections", counts.wrong, counts.lost, counts.broken)),
        ("most at once", format!("{about}{most_requests} requests, {most_connections} connections")),
        ("server", server_used(record)),
        ("load generator", load_used(record)),
        ("conservation", conserved(record)),
        ("machine", format!("{} cores, {}, {}{fsync}", machine.cores, machine.cpu, machine.kernel)),
    ];
    lines.extend(rest.map(|(label, text)| (label.to_string(), text)).into_iter().filter(|(_, text)| !text.is_empty()));
    let lines: String = lines.iter().map(|(label, text)| line(label, text)).collect();
    let warnings: String = record.warnings.iter().map(|warning| format!("  warning: {warning}\n")).collect();
    let verdict = match record.invalid_because.as_slice() {
        [] => "valid".to_string(),
        faults => format!("INVALID: {}", faults.join("; ")),
    };
    let first = counts.first_wrong.as_ref().map_or(String::new(), |first| format!("  the first fault was {first}\n"));
    format!("\n  {}\n\n{lines}\n{warnings}  {verdict}\n{first}", title(record))
}

/// Writes several runs of the same load.
pub fn of_all(records: &[RunRecord]) -> String {
    let summed = |quantity: &Quantity| {
        let all = summarize(&records.iter().filter_map(quantity.of).collect::<Vec<_>>())?;
        let interval = all.t95.map_or(String::new(), |half| format!(" (95% interval ± {})", quantity.cell(half)));
        let [mean, deviation, median, min, max] =
            [all.mean, all.deviation, all.median, all.min, all.max].map(|value| quantity.cell(value));
        Some(line(quantity.head, &format!("{mean} ± {deviation}{interval}, median {median}, {min} to {max}")))
    };
    let lines: String = [&REQUESTS, &P50, &P99, &P999].into_iter().filter_map(summed).collect();
    let invalid = records.iter().filter(|record| !record.is_valid()).count();
    let verdict = match invalid {
        0 => "all valid; each ± is a standard deviation".to_string(),
        invalid => format!("INVALID: {invalid} of {} runs; see above", records.len()),
    };
    format!("\n  {} runs\n\n{lines}\n  {verdict}\n", records.len())
}

fn line(label: &str, text: &str) -> String {
    format!("    {label:<24}{text}\n")
}

fn title(record: &RunRecord) -> String {
    let load = &record.load;
    let one = if load.connections == 1 { "" } else { "s" };
    let connections = format!("{} connection{one}", grouped(load.connections));
    let pace = match (load.rate, load.mode) {
        (Some(rate), mode) => format!("open loop, {} requests/s, {connections}, {}", figure(rate), word(mode)),
        (None, Mode::PerRequest) => {
            format!("closed loop, a connection for each request, {} at once", grouped(load.connections))
        }
        (None, _) => format!("closed loop, {connections}, {} in flight on each", load.depth),
    };
    let server = &record.server;
    let durability = server.durability.clone().unwrap_or_else(|| format!("at {}", server.address));
    format!("{}: {pace}, {durability}", word(load.workload))
}

/// Writes requests a second, and orders a second where only some of the requests are orders.
fn throughput(record: &RunRecord) -> String {
    let all = REQUESTS.text(record.throughput);
    match (ORDERS.of)(record) {
        Some(orders) if record.replies("opened") < record.counts.answered => {
            format!("{all}, {} among them", ORDERS.text(orders))
        }
        _ => all,
    }
}

fn server_used(record: &RunRecord) -> String {
    let Some(cpu) = record.server.cpu_seconds else { return String::new() };
    if record.seconds < TELLING_SECONDS {
        return "too short a run to tell its processor time".to_string();
    }
    let memory = record.server.memory_peak.map_or(String::new(), |peak| format!(", {} at most", bytes(peak)));
    let each = SERVER_CPU.cell_of(record);
    let cores = on_cores(record.server.cores.as_deref().unwrap_or_default());
    format!("{each} of processor time a request, {} of a core{memory}{cores}", percent(cpu / record.seconds))
}

fn load_used(record: &RunRecord) -> String {
    let client = &record.client;
    let busiest = if record.load.threads > 1 { " in its busiest thread" } else { "" };
    let open = if record.load.rate.is_some() { " (an open loop looks at the clock all the time)" } else { "" };
    let sources = match client.source_addresses {
        0 | 1 => String::new(),
        some => format!(", from {some} loopback addresses, so that ports do not run short"),
    };
    format!("{} of a core{busiest}{}{open}{sources}", percent(client.cpu_share), on_cores(&client.cores))
}

fn on_cores(cores: &[usize]) -> String {
    if cores.is_empty() { String::new() } else { format!(", on core {}", list(cores)) }
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
