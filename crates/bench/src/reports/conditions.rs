//! The conditions of an experiment: everything that its records say of machine, server and load, as one table. It knows
//! no results.

use serde_json::Value;

use super::table::Table;
use crate::records::number;
use crate::records::statistics::{different, summarize};
use crate::records::study::Study;
use crate::records::{RunRecord, ServerRecord};

/// Different values up to which all are listed; of more, the first and the last are.
const VALUES_MAX: usize = 14;
/// The parts of a record that hold conditions.
const PARTS: [&str; 4] = ["machine", "server", "load", "client"];
/// Fields of these that differ from run to run, or are results.
const NO_CONDITIONS: [&str; 7] =
    ["address", "command", "cpu_seconds", "memory_peak", "cpu_share", "fsync_us", "memory_bytes"];

pub fn table(study: &Study) -> Table {
    let mut table = Table::new("Conditions", ["Condition", "Value"]);
    let mut add = |name: &str, value: String| table.row([name.to_string(), value]);
    let in_database = |record: &RunRecord| record.server.store.as_deref() == Some(ServerRecord::POSTGRES);
    let records = || study.runs.iter().map(|run| &run.record);
    let is_sweep = study.experiment.axis.is_some();
    if is_sweep {
        let servers = if !records().all(|record| record.server.own) {
            "one that ran already; what is not known of it is not listed"
        } else if records().any(in_database) {
            "started for each run on a fresh database"
        } else {
            "started for each run on a fresh data folder"
        };
        add("servers", servers.to_string());
        add("order of runs", format!("shuffled with seed {}", study.experiment.seed));
    }
    let all: Vec<Value> = records().filter_map(|record| serde_json::to_value(record).ok()).collect();
    for part in PARTS {
        let Some(fields) = all.first().and_then(|record| record[part].as_object()) else { continue };
        for field in fields.keys().filter(|field| !NO_CONDITIONS.contains(&field.as_str())) {
            let values = told_apart(all.iter().filter_map(|record| text(&record[part][field])));
            let value = if values.is_empty() { "not known".to_string() } else { values.join("; ") };
            add(&format!("{part}: {}", field.replace('_', " ")), value);
        }
    }
    let memory = records().next().map(|record| record.machine.memory_bytes);
    memory.into_iter().for_each(|bytes| add("machine: memory", number::bytes(bytes)));
    add("machine: fsync there", fsync(study));
    add("started (UTC)", study.experiment.started.clone());
    let invalid = records().filter(|record| !record.is_valid()).count();
    let valid = if invalid == 0 { "all valid".to_string() } else { format!("{invalid} of them invalid") };
    add("runs", format!("{}, {valid}", study.runs.len()));
    table
}

/// Writes a value of a record for people; `None` where it is not known.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) if all.is_empty() => Some("any".to_string()),
        Value::Array(all) => Some(number::list(all)),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Some(other.to_string()),
    }
}

/// Returns `durability synced`, or `durability: committed to PostgreSQL, synchronous_commit on`; in every title.
pub fn durability(study: &Study) -> String {
    let found = distinct(study, |record| record.server.durability.clone());
    match found.as_slice() {
        [] => "durability not known".to_string(),
        words if words.iter().any(|word| word.contains(' ')) => format!("durability: {}", words.join(" and ")),
        words => format!("durability {}", words.join(" and ")),
    }
}

/// Returns whether latency counts from sending or from the schedule.
pub fn loop_kind(study: &Study) -> &'static str {
    match distinct(study, |record| Some(record.latency.from.clone())).as_slice() {
        [one] if one == "open" => "open loop (from the scheduled time)",
        [_] | [] => "closed loop",
        _ => "closed and open loops mixed",
    }
}

fn fsync(study: &Study) -> String {
    // Runs that take turns share one measurement.
    let measured = different(study.runs.iter().filter_map(|run| run.record.machine.fsync_us));
    let [median, p99] = [0, 1].map(|index| summarize(&measured.iter().map(|pair| pair[index]).collect::<Vec<_>>()));
    let (Some(median), Some(p99)) = (median, p99) else { return "not measured".to_string() };
    let [middle, slow, least, most] = [median.median, p99.median, median.min, median.max].map(number::micros);
    format!(
        "median {middle}, 99th percentile {slow} (medians of {} measurements; medians were {least} to {most})",
        median.runs
    )
}

/// Returns the different values of all runs.
pub fn distinct(study: &Study, of: impl Fn(&RunRecord) -> Option<String>) -> Vec<String> {
    told_apart(study.runs.iter().filter_map(|run| of(&run.record)))
}

/// Lists different values, numbers in their order; of many the first and the last.
fn told_apart(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = different(values);
    // Runs are shuffled; numbers are listed in their order.
    let leading = |text: &str| text.split([' ', ',']).next()?.parse::<f64>().ok();
    found.sort_by(|one, other| match (leading(one), leading(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => std::cmp::Ordering::Equal,
    });
    match found.as_slice() {
        [first, .., last] if found.len() > VALUES_MAX => {
            vec![format!("{first} to {last} ({} different)", found.len())]
        }
        _ => found,
    }
}
