//! `pricetime-bench live` against the real server, in short: its measurements are there and checked, and it notices a
//! server that sends nothing.
//! nothing is noticed.

use std::process::{Command, Output};

use crate::common::bench::binary;
use crate::common::folder::Folder;
use serde_json::Value;

const SMALL: &str =
    "--rounds 1 --seconds 0.5 --subscribers 3 -c 5 --accounts 300 --symbols 2 --rate 2000 --trade-rate 500";

/// Runs it with these words, in a folder of its own; returns its output, and the measurements by name.
fn bench_live(words: &str) -> (Output, Vec<(String, Value)>) {
    let folder = Folder::new("bench-live");
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(folder.path());
    command.args(["live", "--out", "results"]).args(SMALL.split(' ')).args(words.split_whitespace());
    let output = command.output().unwrap();
    let results = folder.path().join("results");
    let json = |file: &str| serde_json::from_slice::<Value>(&std::fs::read(results.join(file)).unwrap()).unwrap();
    let experiment = json("experiment.json");
    let runs = experiment["runs"].as_array().unwrap().iter();
    let runs =
        runs.map(|run| (run["series"].as_str().unwrap().to_string(), json(run["file"].as_str().unwrap()))).collect();
    assert!(!results.join("work").exists() && !folder.path().join("target").exists(), "servers' data is gone");
    let report = Command::new(binary()).current_dir(folder.path()).args(["report", "results"]).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let page = std::fs::read_to_string(results.join("report/report.html")).unwrap();
    assert!(page.contains("the order path and those who look on"), "its report has its tables");
    (output, runs)
}

fn parts(runs: &[(String, Value)]) -> Vec<&str> {
    runs.iter().map(|(mode, _)| mode.as_str()).collect()
}

fn part<'a>(runs: &'a [(String, Value)], name: &str) -> &'a Value {
    runs.iter().find(|(mode, _)| mode == name).map(|(_, record)| record).unwrap()
}

#[test]
fn subscribers_are_told_trades_are_timed_and_rest_orders_are_counted() {
    let (output, record) = bench_live("");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    let all = ["closed", "closed-with-subscribers", "open", "open-with-subscribers", "trade-to-socket", "rest"];
    assert_eq!(parts(&record), all);
    for name in all {
        let measured = part(&record, name);
        assert_eq!(measured["invalid_because"], serde_json::json!([]), "{name}: {measured}");
        assert!(measured["throughput"].as_f64().unwrap() > 0.0, "{name}");
        assert!(measured["latency"]["count"].as_u64().unwrap() > 0, "{name}");
        let is_heard = name.ends_with("with-subscribers") || name == "trade-to-socket";
        assert_eq!(measured["heard"].is_object(), is_heard, "{name}");
    }
    for name in ["closed-with-subscribers", "open-with-subscribers"] {
        let heard = &part(&record, name)["heard"];
        assert_eq!((heard["subscribers"].as_u64(), heard["deaf"].as_u64()), (Some(3), Some(0)), "{name}");
        // Each gets books, trades, candles, symbols and status, however slow the machine is.
        assert!(heard["messages"].as_u64().unwrap() >= 3 * 5 && heard["bytes"].as_u64().unwrap() > 3_000, "{heard}");
    }
    // There are 500 orders a second for half a second, of which half cross; each pair trades once, or in a few pieces.
    let told = part(&record, "trade-to-socket")["trade_to_socket"]["count"].as_u64().unwrap();
    assert!((50..=250).contains(&told), "{told} trades");
    for cost in ["requests/s with subscribers ÷ without", "an order to a subscriber's socket: p99"] {
        assert!(stdout.contains(cost), "{stdout}");
    }
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let (output, record) = bench_live("--only rest");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(parts(&record), ["rest"]);
}

#[test]
fn a_server_without_a_feed_makes_invalid_measurements() {
    let (output, record) = bench_live("--only open,rest -- --feed=false");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert_eq!(part(&record, "open")["invalid_because"], serde_json::json!([]), "{record:?}");
    let why = |name: &str| part(&record, name)["invalid_because"].to_string();
    assert!(why("open-with-subscribers").contains("a subscriber: "), "{record:?}");
    assert!(why("rest").contains("wrong replies") || why("rest").contains("nothing was answered"), "{record:?}");
    assert!(stdout.contains("INVALID: round 1, open-with-subscribers"), "{stdout}");
}
