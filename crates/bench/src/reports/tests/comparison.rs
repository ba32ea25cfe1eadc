//! Comparisons made by hand.

use std::path::Path;

use super::{folder, plot, report, row};
use crate::records::sample::{self, experiment, latency, record, write_entries};
use crate::records::{Axis, DatabaseUse, Experiment, FORMAT, RunEntry, RunRecord, Shows};

/// Returns a run of 4 s, two of three of whose requests are orders, with this many requests in each transaction.
fn measured(
    round: u32,
    mode: &str,
    series: &str,
    [connections, depth]: [u64; 2],
    orders: u64,
    batch: u64,
) -> (RunEntry, RunRecord) {
    let requests = orders * 6;
    let mut record = record(orders as f64 * 1.5, requests, latency(900.0, requests));
    (record.load.connections, record.load.depth, record.server.cpu_seconds) = (connections, depth, None);
    record.counts.kinds.insert("opened".to_string(), orders * 4);
    record.database = Some(DatabaseUse { cpu_seconds: Some(0.1), transactions: requests / batch, retries: None });
    let (mode, series) = (mode.to_string(), series.to_string());
    (RunEntry { mode, series, value: connections as f64, round, ..RunEntry::default() }, record)
}

const OURS: &str = "pricetime on PostgreSQL, order";
const PGBENCH: &str = "PostgreSQL, synchronous_commit on";

/// Writes three rounds of ours and of pgbench with 8 clients, an open loop of ours, and one run that went wrong.
fn write(folder: &Path) {
    let about = Experiment {
        format: FORMAT,
        name: "compare".to_string(),
        title: "Everybody in turn".to_string(),
        command: "pricetime-bench compare --rounds 3".to_string(),
        subjects: vec!["pricetime 0.1.0".to_string()],
        left_out: vec!["redis-server is missing".to_string()],
        ..Experiment::default()
    };
    let mut runs = Vec::new();
    for (round, ours) in [(1, 100), (2, 110), (3, 120)] {
        runs.push(measured(round, "postgres-clients-8", OURS, [8, 1], ours, 4));
        runs.push(measured(round, "postgres-clients-8", PGBENCH, [8, 1], 40, 1));
        runs.push(measured(round, "postgres-clients-32", PGBENCH, [32, 1], 70, 1));
        runs.push(measured(round, "postgres-pipelined", OURS, [50, 16], 900, 300));
        runs.push(measured(round, "postgres-open-half", OURS, [50, 1], 55, 2));
        runs.push(measured(round, "single", "raw durable echo", [1, 1], 10, 1));
    }
    runs[1].1.invalid_because = vec!["pgbench said no".to_string()];
    write_entries(folder, about, &runs);
}

#[test]
fn a_comparison_is_drawn_and_its_tables_hold_what_a_hand_computes() {
    let dir = folder();
    let sweep = experiment("a-sweep", Axis::Cores, Shows::Throughput);
    sample::write(&dir.path().join("b"), sweep, &[("all", 1.0, record(1.0, 10, latency(1.0, 10)))]);
    write(&dir.path().join("a"));
    let page = report(dir.path());
    let place = |heading: &str| page.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    assert!(place("<h2>a-sweep") < place("<h2>compare"), "sweeps come first");
    // The mean is 110, and half of its interval 24.84, as in the test of sweeps.
    let ours = row(&page, "postgres-clients-8: on PostgreSQL, 8 connections", &[OURS]);
    assert_eq!(ours[1..9], ["3 of 3", "110", "100", "120", "110", "24.84", "10", "165"]);
    let pgbench = row(&page, "postgres-clients-8", &[PGBENCH]);
    assert_eq!((pgbench[1].as_str(), pgbench[2].as_str()), ("2 of 3", "40"));
    // The ratio is of the rounds in which both are valid.
    assert_eq!(pgbench.last().map(String::as_str), Some("2.88 (2.75–3.00)"));
    let pipelined = row(&page, "postgres-pipelined", &[OURS]);
    assert!(pipelined.contains(&"300".to_string()), "requests a transaction: {pipelined:?}");
    assert_eq!(row(&page, "single", &["raw durable echo"])[1], "3 of 3");
    let between =
        row(&page, "Ratios between modes", &["orders/s: ours in postgres-pipelined ÷ pgbench in postgres-clients-32"]);
    assert_eq!(between[1..], ["3", "12.86", "12.86", "12.86"]);
    assert!(page.contains("INVALID: round 1, postgres-clients-8") && page.contains("pgbench said no"));
    assert!(page.contains("redis-server is missing") && page.contains("pricetime-bench compare --rounds 3"));
    for name in ["clients", "batches"] {
        let drawn = plot(&page, &format!("compare-postgres-{name}"));
        assert_eq!(drawn.contains("fastest with 32 clients"), name == "batches");
        assert!(drawn.contains("pgbench: one INSERT") && drawn.contains("invalid run, in no mean"));
        assert!(dir.path().join(format!("report/plots/compare-postgres-{name}.svg")).is_file(), "{name}");
    }
    let clients = plot(&page, "compare-postgres-clients");
    assert!(clients.contains("16 in flight on each"), "those that pipeline are a line of their own");
}
