//! Comparisons made by hand.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{folder, refusal, report, row, sample};

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
    let about = json!({
        "format": 2, "started": "2026-01-02T03:04:05Z", "command": "pricetime-bench compare --rounds 3", "rounds": 3,
        "seconds": 5.0, "server_core": 0, "load_core": 1, "machine": machine, "subjects": ["pricetime 0.1.0"],
        "left_out": ["redis-server is missing"], "measurements": [], "ratios": [], "goals": []
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
    fs::write(folder.join("compare.json"), about.to_string()).expect("a file");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("measurements.jsonl"), text).expect("a file");
}

#[test]
fn a_comparison_is_drawn_and_its_tables_hold_what_a_hand_computes() {
    let dir = folder();
    write(dir.path());
    let markdown = report(dir.path());
    // As in the test of sweeps: mean 110, deviation 10, interval 24.84.
    let orders = row(&markdown, "Orders a second on PostgreSQL", &format!("| {OURS} | 8 |"));
    assert_eq!(orders[3..], ["closed", "3 of 3", "110.0", "10.00", "24.84", "110.0", "100.0", "120.0"]);
    let pgbench = row(&markdown, "Orders a second on PostgreSQL", "| pgbench: one INSERT a transaction |");
    assert_eq!(pgbench[4..6], ["2 of 3", "40.00"]);
    let costs = row(&markdown, "What it took on PostgreSQL", &format!("| {OURS} | 50 | 16 |"));
    assert_eq!(costs[4..8], ["300.0", "–", "900 µs", "4 ms"]);
    assert_eq!(row(&markdown, "Requests a second", "| single |")[2], "3 of 3");
    assert_eq!(row(&markdown, "Invalid measurements", "| postgres-clients-8 |")[2], "pgbench said no");
    assert!(markdown.contains("redis-server is missing") && markdown.contains("pricetime-bench compare --rounds 3"));
    for plot in ["clients", "batches"] {
        let svg = dir.path().join(format!("report/plots/compare-postgres-{plot}.svg"));
        let text = fs::read_to_string(&svg).expect("a plot");
        let document = roxmltree::Document::parse(&text).expect("an SVG is XML");
        let words: String = document.descendants().filter_map(|node| node.text()).collect();
        assert_eq!(words.contains("fastest with 32 clients"), plot == "batches", "{words}");
        assert!(words.contains("pgbench: one INSERT") && words.contains("invalid run, in no mean"), "{words}");
        assert!(svg.with_extension("png").is_file(), "{plot}");
    }
    let clients = fs::read_to_string(dir.path().join("report/plots/compare-postgres-clients.svg")).expect("a plot");
    assert!(clients.contains("16 in flight on each"), "those that pipeline are a line of their own");
}

#[test]
fn comparisons_stand_behind_sweeps() {
    let dir = folder();
    sample::requests(&dir.path().join("a"));
    fs::create_dir(dir.path().join("b")).expect("a folder");
    write(&dir.path().join("b"));
    let markdown = report(dir.path());
    let place = |heading: &str| markdown.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    assert!(place("## connect-send-receive") < place("## compare"));
}

#[test]
fn a_comparison_that_is_damaged_or_of_another_version_is_named() {
    let dir = folder();
    write(dir.path());
    let lines = dir.path().join("measurements.jsonl");
    let text = fs::read_to_string(&lines).expect("a file");
    fs::write(&lines, &text[..text.len() - 20]).expect("a file");
    let fault = refusal(dir.path());
    assert!(fault.contains("measurements.jsonl is missing or damaged: line 18 does not parse"), "{fault}");
    fs::remove_file(&lines).expect("a file less");
    assert!(refusal(dir.path()).contains("it cannot be read"));
    let about = dir.path().join("compare.json");
    let text = fs::read_to_string(&about).expect("a file").replace("\"format\":2", "\"format\":1");
    fs::write(&about, text).expect("a file");
    assert!(refusal(dir.path()).contains("is of format 1 and this program reads format 2"));
}
