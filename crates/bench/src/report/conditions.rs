//! Under which conditions an experiment was made: machine, server, load, program, as one table. Knows no results.

use super::read::{Run, Study};
use crate::number;
use crate::record::{Machine, RunRecord};
use crate::run::Store;
use crate::statistics::summarize;
use crate::table::Table;

/// More different values than this are told by the first and the last.
const VALUES_MAX: usize = 14;

pub fn table(study: &Study) -> Table {
    let mut table = Table::new("Conditions", &["Condition", "Value"]);
    let facts = machine(study).into_iter().chain(server(study)).chain(load(study)).chain(program(study));
    facts.for_each(|(name, value)| table.row([name.to_string(), value]));
    table
}

/// `durability synced`, or `durability: committed to PostgreSQL, synchronous_commit on`; in every title.
pub fn durability(study: &Study) -> String {
    let found = distinct(study, |record| record.server.durability.clone());
    match found.as_slice() {
        [] => "durability not known".to_string(),
        words if words.iter().any(|word| word.contains(' ')) => format!("durability: {}", words.join(" and ")),
        words => format!("durability {}", words.join(" and ")),
    }
}

/// Whether latency counts from sending or from the schedule.
pub fn loop_kind(study: &Study) -> String {
    let open = study.runs.iter().filter(|run| run.record.latency.from == "open").count();
    match open {
        0 => "closed loop".to_string(),
        all if all == study.runs.len() => "open loop (from the scheduled time)".to_string(),
        _ => "closed and open loops mixed".to_string(),
    }
}

type Fact = (&'static str, String);

fn machine(study: &Study) -> Vec<Fact> {
    let Some(Run { record: RunRecord { machine, .. }, .. }) = study.runs.first() else { return Vec::new() };
    vec![
        ("Processor", format!("{}, {} cores", machine.cpu, machine.cores)),
        ("Memory", number::bytes(machine.memory_bytes)),
        ("Kernel", machine.kernel.clone()),
        ("Disk", machine.disk.clone()),
        ("fsync there", fsync(study)),
        ("TCP", format!("congestion control {}, somaxconn {}", machine.congestion_control, machine.somaxconn)),
    ]
}

/// A machine and what was built on it. Errors of measurement stay out, so that the same machine is the same line.
pub fn machine_text(machine: &Machine) -> String {
    let commit = machine.commit.as_deref().map_or(String::new(), |commit| format!(", source at commit {commit}"));
    format!(
        "{}, {} cores, {}, {}, disk {}{commit}, {}",
        machine.cpu,
        machine.cores,
        number::bytes(machine.memory_bytes),
        machine.kernel,
        machine.disk,
        machine.compiler
    )
}

fn fsync(study: &Study) -> String {
    let measured: Vec<[f64; 2]> = study.runs.iter().filter_map(|run| run.record.machine.fsync_us).collect();
    let column = |index: usize| summarize(&measured.iter().map(|pair| pair[index]).collect::<Vec<_>>());
    let (Some(median), Some(p99)) = (column(0), column(1)) else { return "not measured".to_string() };
    format!(
        "median {}, 99th percentile {} (medians of {} measurements; medians were {} to {})",
        number::micros(median.median),
        number::micros(p99.median),
        median.runs,
        number::micros(median.min),
        number::micros(median.max)
    )
}

fn server(study: &Study) -> Vec<Fact> {
    let in_database = |run: &Run| run.record.server.store.as_deref() == Some(Store::POSTGRES);
    let own = if !study.runs.iter().all(|run| run.record.server.own) {
        "one that ran already; what is not known of it is not listed"
    } else if study.runs.iter().any(in_database) {
        "started for each run on a fresh database"
    } else {
        "started for each run on a fresh data folder"
    };
    let version = known(distinct(study, |record| record.server.version.clone()));
    vec![
        ("Server", format!("{version}; {own}")),
        ("Server cores", known(distinct(study, |record| record.server.cores.as_deref().map(cores)))),
        ("Server workers", known(distinct(study, |record| record.server.workers.map(|n| n.to_string())))),
        ("Durability", known(distinct(study, |record| record.server.durability.clone()))),
        ("Store", known(distinct(study, |record| record.server.store.clone()))),
        ("Backlog, effective", known(distinct(study, |record| record.server.backlog.map(|n| n.to_string())))),
    ]
}

fn load(study: &Study) -> Vec<Fact> {
    let of = |what: fn(&RunRecord) -> String| distinct(study, |record| Some(what(record))).join(", ");
    let optional = |what: fn(&RunRecord) -> Option<String>| distinct(study, what).join(", ");
    let length = [
        optional(|record| record.load.requests.map(|n| format!("{n} requests"))),
        optional(|record| record.load.duration.map(|seconds| format!("{seconds} s"))),
        of(|record| format!("after {} s of warm-up", record.load.warmup)),
    ];
    let rate = optional(|record| record.load.rate.map(|rate| format!("{rate} requests/s")));
    vec![
        ("Workload", of(|record| record.load.workload.clone())),
        ("Connections", of(|record| record.load.connections.to_string())),
        ("Mode", of(|record| format!("{}, {} in flight on each", record.load.mode, record.load.depth))),
        ("Length", length.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")),
        ("Loop", if rate.is_empty() { "closed".to_string() } else { format!("open, at {rate}") }),
        ("Accounts, symbols", of(|record| format!("{}, {}", record.load.accounts, record.load.symbols))),
        ("Seed of the load", of(|record| record.load.seed.to_string())),
        ("Load threads", of(|record| record.load.threads.to_string())),
        ("Load cores", of(|record| cores(&record.client.cores))),
        ("Source addresses", of(|record| record.client.source_addresses.to_string())),
    ]
}

fn program(study: &Study) -> Vec<Fact> {
    vec![
        ("Source, commit", known(distinct(study, |record| record.machine.commit.clone()))),
        ("Compiler", known(distinct(study, |record| Some(record.machine.compiler.clone())))),
        ("Order of runs", format!("shuffled with seed {}", study.experiment.seed)),
        ("Started (UTC)", study.experiment.started.clone()),
        ("Runs", runs(study)),
    ]
}

fn runs(study: &Study) -> String {
    let invalid = study.runs.iter().filter(|run| !run.is_valid()).count();
    match invalid {
        0 => format!("{}, all valid", study.runs.len()),
        invalid => format!("{}, {invalid} of them invalid", study.runs.len()),
    }
}

/// Different values in the order in which they first came.
pub fn distinct(study: &Study, of: impl Fn(&RunRecord) -> Option<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in study.runs.iter().filter_map(|run| of(&run.record)) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    // Runs are shuffled; numbers are read in their order.
    found.sort_by(|one, other| match (leading(one), leading(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => std::cmp::Ordering::Equal,
    });
    if found.len() > VALUES_MAX {
        let (first, last) = (found[0].clone(), found[found.len() - 1].clone());
        return vec![format!("{first} to {last} ({} different)", found.len())];
    }
    found
}

fn leading(text: &str) -> Option<f64> {
    text.split(' ').next()?.trim_end_matches(',').parse().ok()
}

fn known(values: Vec<String>) -> String {
    if values.is_empty() { "not known".to_string() } else { values.join("; ") }
}

fn cores(cores: &[usize]) -> String {
    if cores.is_empty() { "any (not pinned)".to_string() } else { number::list(cores) }
}
