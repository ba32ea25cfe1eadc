//! Comparisons made by hand.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{folder, plot, refusal, report, row};
use crate::sample;

fn measured(round: u64, mode: &str, subject: &str, [connections, depth]: [u64; 2], orders: f64, batch: f64) -> Value {
    json!({
        "round": round, "mode": mode, "subject": subject, "connections": connections, "depth": depth,
        "busy_percent": 1.0, "throughput": orders * 1.5, "orders_per_second": orders, "latency_us_p50": 900.0,
        "latency_us_p99": 4000.0, "latency_us_p999": null, "server_cpu_us": null, "database_cpu_us": 12.5,
        "load_cpu_share": 0.5, "requests_per_transaction": batch, "retries_per_order": null, "invalid_because": null
    })
}

const OURS: &str = "pricetime on PostgreSQL, order";
const PGBENCH: &str = "PostgreSQL, synchronous_commit on";

/// Three rounds of ours and of pgbench with 8 clients, an open loop of ours, and one run that went wrong.
fn write(folder: &Path) {
    let machine = sample::record(1.0, 1, sample::latency(1.0, 1, 0)).machine;
    let mut about = json!({
        "format": 2, "started": "2026-01-02T03:04:05Z", "command": "pricetime-bench compare --rounds 3", "rounds": 3,
        "seconds": 5.0, "server_core": 0, "load_core": 1, "machine": machine, "subjects": ["pricetime 0.1.0"],
        "left_out": ["redis-server is missing"], "measurements": [], "ratios": []
    });
    let mut lines = Vec::new();
    for (round, ours) in [(1, 100.0), (2, 110.0), (3, 120.0)] {
        lines.push(measured(round, "postgres-clients-8", OURS, [8, 1], ours, 4.0));
        lines.push(measured(round, "postgres-clients-8", PGBENCH, [8, 1], 40.0, 1.0));
        lines.push(measured(round, "postgres-clients-32", PGBENCH, [32, 1], 70.0, 1.0));
        lines.push(measured(round, "postgres-pipelined", OURS, [50, 16], 900.0, 300.0));
        lines.push(measured(round, "postgres-open-half", OURS, [50, 1], 55.0, 2.0));
        lines.push(measured(round, "single", "raw durable echo", [1, 1], 10.0, 1.0));
    }
    lines[1]["invalid_because"] = json!("pgbench said no");
    about["measurements"] = lines.into();
    fs::write(folder.join("compare.json"), about.to_string()).expect("a file");
}

#[test]
fn a_comparison_is_drawn_and_its_tables_hold_what_a_hand_computes() {
    let dir = folder();
    write(dir.path());
    let page = report(dir.path());
    // As in the test of sweeps: mean 110, and half of its interval 24.84.
    let ours = row(&page, "postgres-clients-8: on PostgreSQL, 8 connections", &[OURS]);
    assert_eq!(ours[1..7], ["3 of 3", "110", "100", "120", "110 ± 24.84", "165"]);
    let pgbench = row(&page, "postgres-clients-8", &[PGBENCH]);
    assert_eq!(
        (pgbench[1..3].to_vec(), pgbench[15].as_str()),
        (vec!["2 of 3".to_string(), "40".into()], "2.88 (2.75–3.00)")
    );
    let pipelined = row(&page, "postgres-pipelined", &[OURS]);
    assert_eq!(pipelined[7..12], ["900", "4,000", "–", "300", "–"]);
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
        assert!(dir.path().join(format!("report/plots/compare-postgres-{name}.png")).is_file(), "{name}");
    }
    let clients = plot(&page, "compare-postgres-clients");
    assert!(clients.contains("16 in flight on each"), "those that pipeline are a line of their own");
}

#[test]
fn comparisons_stand_behind_sweeps() {
    let dir = folder();
    sample::requests(&dir.path().join("a"));
    fs::create_dir(dir.path().join("b")).expect("a folder");
    write(&dir.path().join("b"));
    let page = report(dir.path());
    let place = |heading: &str| page.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    assert!(place("<h2>connect-send-receive") < place("<h2>compare"));
}

#[test]
fn a_comparison_that_is_damaged_or_of_another_version_is_named() {
    let dir = folder();
    write(dir.path());
    let file = dir.path().join("compare.json");
    let text = fs::read_to_string(&file).expect("a file");
    fs::write(&file, &text[..text.len() - 20]).expect("a file");
    let fault = refusal(dir.path());
    assert!(fault.contains("compare.json is missing or damaged: it does not parse"), "{fault}");
    fs::write(&file, text.replace("\"format\":2", "\"format\":1")).expect("a file");
    assert!(refusal(dir.path()).contains("is of format 1 and this program reads format 2"));
}
