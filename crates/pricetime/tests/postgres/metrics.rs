//! `/metrics`: it is right, well formed and documented, and the dashboard queries metrics that exist.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::common::exposition::{Exposition, Family};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::{wait_for, wait_until};
use serde_json::{Value, json};
use tls::{Connector, Trust};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="0"/><account id="1" balance="5"/>
    <symbol sym="SPY"><account id="2">100</account></symbol></create>"#;

fn metrics(server: &Server) -> Exposition {
    let answer = Http::new(server.http).get("/metrics");
    assert_eq!(
        (answer.status, answer.kind.as_str()),
        (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    Exposition::read(&answer.text)
}

/// Does something of every kind over XML, and over REST where REST can do it.
fn trade(server: &Server, over_rest: bool) {
    server.ask(MARKET);
    let mut client = server.client();
    client.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="50"/><order sym="SPY" amount="-1000" limit="50"/></transactions>"#);
    client.ask(r#"<transactions id="1"><order sym="SPY" amount="4" limit="60"/><order sym="NONE" amount="1" limit="1"/></transactions>"#);
    client.ask(r#"<transactions id="2"><query id="1"/><cancel id="1"/><cancel id="1"/><query id="99"/><order/><bond/></transactions>"#);
    client.ask("<nonsense>");
    if over_rest {
        let http = Http::new(server.http);
        http.make("/api/v1/accounts", &json!({"account": "3", "balance": "10"}));
        let order = json!({"account": "3", "symbol": "SPY", "side": "buy", "limit": "5", "shares": "2"});
        let placed = http.make("/api/v1/orders", &order);
        assert_eq!(http.post("/api/v1/orders", &order).code(), (422, "insufficient-funds"));
        // A done order is looked up in the database.
        let canceled = http.delete(&format!("/api/v1/orders/{}?account=3", placed["order_id"])).status;
        assert!([200, 501].contains(&canceled), "{canceled}");
        assert_eq!(http.post("/api/v1/orders", &json!({"account": "3"})).code(), (400, "malformed"));
        assert_eq!(http.get("/api/v1/orders/x").status, 400, "a read that is malformed is no request of the exchange");
    }
}

/// The metrics, once the worker has counted these documents at the end of its turn.
fn settled(server: &Server, documents: f64) -> Exposition {
    wait_for("all replies to be counted", PATIENCE, || {
        let told = metrics(server);
        let replies = told.sum("pricetime_stage_seconds_count", &[("stage", "reply")]);
        (replies == documents).then_some(told)
    })
}

#[test]
fn every_request_is_counted_once_by_what_it_asked_and_what_came_of_it() {
    let folder = Folder::new("metrics-counts");
    let server = Launch::new(&folder.data()).start();
    trade(&server, true);
    let told = settled(&server, 5.0);
    let counted: BTreeMap<[&str; 3], f64> = told
        .samples("pricetime_requests_total")
        .filter(|sample| sample.value > 0.0)
        .map(|sample| (["gateway", "kind", "outcome"].map(|label| sample.labels[label].as_str()), sample.value))
        .collect();
    let expected = BTreeMap::from([
        (["xml", "create_account", "accepted"], 2.0),
        (["xml", "create_account", "conflict"], 1.0),
        (["xml", "create_symbol", "accepted"], 1.0),
        (["xml", "issue_shares", "accepted"], 1.0),
        (["xml", "order", "accepted"], 2.0),
        (["xml", "order", "insufficient"], 1.0),
        (["xml", "order", "unknown"], 1.0),
        (["xml", "query", "accepted"], 1.0),
        (["xml", "query", "unknown"], 1.0),
        (["xml", "cancel", "accepted"], 1.0),
        (["xml", "cancel", "conflict"], 1.0),
        (["xml", "malformed", "malformed"], 3.0),
        (["rest", "create_account", "accepted"], 1.0),
        (["rest", "order", "accepted"], 1.0),
        (["rest", "order", "insufficient"], 1.0),
        (["rest", "cancel", "accepted"], 1.0),
        (["rest", "malformed", "malformed"], 1.0),
    ]);
    assert_eq!(counted, expected);
    // Operations that are timed are counted as often.
    assert_eq!(told.sum("pricetime_xml_documents_total", &[]), 5.0);
    for (stage, requests) in
        [("parse", 5.0), ("wait", 9.0), ("journal", 9.0), ("apply", 9.0), ("reply", 5.0), ("commit", 0.0)]
    {
        assert_eq!(told.sum("pricetime_stage_seconds_count", &[("stage", stage)]), requests, "{stage}");
    }
    assert_eq!(told.sum("pricetime_request_seconds_count", &[("gateway", "xml")]), 5.0);
    assert_eq!(told.sum("pricetime_request_seconds_count", &[("gateway", "rest")]), 4.0);
    // 3 + 2 and 2, 2, 4 of the four valid documents, and 4 of REST.
    assert_eq!(told.sum("pricetime_batch_operations_sum", &[]), 17.0);
    assert_eq!(told.sum("pricetime_queue_operations", &[]), 0.0);
    assert_eq!(told.sum("pricetime_open_orders", &[]), 0.0);
    assert_eq!(told.sum("pricetime_accounts", &[]), 3.0);
    assert!(told.sum("pricetime_journal_sync_seconds_count", &[]) >= 5.0, "a sync for each that came by itself");
    let stages = |part: &str| told.sum(&format!("pricetime_stage_seconds_{part}"), &[]);
    assert!(stages("sum") > 0.0 && told.sum("pricetime_journal_sync_seconds_sum", &[]) > 0.0);
    server.stop();
}

#[test]
fn an_order_that_the_history_answers_for_is_counted_when_it_has() {
    let folder = Folder::new("metrics-done");
    let server = Launch::new(&folder.data()).start();
    trade(&server, false);
    server.stop();
    let server = Launch::new(&folder.data()).start();
    server.ask(r#"<transactions id="1"><query id="2"/><cancel id="2"/></transactions>"#);
    server.ask(r#"<transactions id="2"><query id="2"/></transactions>"#);
    let told = settled(&server, 2.0);
    let counted = |kind, outcome| told.sum("pricetime_requests_total", &[("kind", kind), ("outcome", outcome)]);
    assert_eq!(
        [counted("query", "accepted"), counted("cancel", "conflict"), counted("query", "unknown")],
        [1.0, 1.0, 1.0]
    );
    server.stop();
}

/// The metrics of servers of every sort after some trade, with the sorts that they are of.
fn all_sorts() -> Vec<(BTreeSet<&'static str>, Exposition)> {
    let folder = Folder::new("metrics-all");
    let snapshots = "--segment-size 64KiB --snapshot-every 1";
    let mut all = Vec::new();
    let server = Launch::new(&folder.data()).with(snapshots).start();
    let http = Http::new(server.http);
    let _listening = http.listen();
    trade(&server, true);
    let told = wait_for("a snapshot", PATIENCE, || {
        fill_journal(&server);
        Some(metrics(&server)).filter(|told| told.families.contains_key("pricetime_snapshot_age_seconds"))
    });
    all.push((BTreeSet::from(["always", "journal", "feed"]), told));
    server.stop();
    let server = Launch::new(&folder.data()).with("--feed=false").start();
    server.ask("<create/>");
    all.push((BTreeSet::from(["always", "journal"]), metrics(&server)));
    server.stop();
    all.push((BTreeSet::from(["always", "journal", "tls"]), over_tls(&folder)));
    let database = crate::postgres::database();
    let server = Launch::new(&Folder::new("metrics-database").data()).in_database(database.url().secret()).start();
    trade(&server, true);
    all.push((BTreeSet::from(["always", "database", "feed"]), metrics(&server)));
    server.stop();
    all
}

/// The metrics of a server with encrypted connections.
fn over_tls(folder: &Folder) -> Exposition {
    let pki = folder.path().join("pki");
    let made = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["tls", "self-signed"]).arg(&pki).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let files = format!("--tls-cert {0}/cert.pem --tls-key {0}/key.pem", pki.display());
    let server = Launch::new(&folder.data()).with("--feed=false").with(&files).start();
    let trust = Trust::Authority(pki.join("cert.pem"));
    let socket = TcpStream::connect(server.http).unwrap();
    let mut stream = Connector::new(&trust, None).unwrap().connect("localhost", socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    server.stop();
    Exposition::read(answer.split_once("\r\n\r\n").unwrap().1)
}

fn fill_journal(server: &Server) {
    let accounts: String = (0..2000).map(|id| format!(r#"<account id="{}" balance="1"/>"#, 100_000 + id)).collect();
    server.ask(&format!("<create>{accounts}</create>"));
}

fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The rows of the document's table: name, type, unit, labels, where, what.
fn documented() -> BTreeMap<String, [String; 5]> {
    let text = file("docs/METRICS.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.map(|row| {
        let (name, rest) = row.split_once("` | ").unwrap();
        let cells: Vec<String> = rest.trim_end_matches(" |").split(" | ").map(|cell| cell.trim().to_owned()).collect();
        (name.to_owned(), cells.try_into().unwrap_or_else(|_| panic!("five more cells: {row}")))
    });
    rows.collect()
}

fn row(family: &Family, there: &str) -> [String; 5] {
    let labels: Vec<String> = family.labels().iter().map(|label| format!("`{label}`")).collect();
    let unit = family.unit.clone().unwrap_or_default();
    [family.kind.clone(), unit, labels.join(", "), there.to_owned(), family.help.clone()]
}

#[test]
fn servers_tell_what_the_document_lists_and_the_dashboard_asks_for_nothing_else() {
    let documented = documented();
    let all = all_sorts();
    for (sorts, told) in &all {
        let expected = documented.iter().filter(|(_, row)| sorts.contains(row[3].as_str()));
        let expected: BTreeMap<&String, &[String; 5]> = expected.collect();
        let there = |name: &String| documented.get(name).map_or("?", |row| row[3].as_str());
        let told: BTreeMap<&String, [String; 5]> =
            told.families.iter().map(|(name, family)| (name, row(family, there(name)))).collect();
        for (name, told) in &told {
            let [kind, unit, labels, there, help] = told;
            let line = format!("| `{name}` | {kind} | {unit} | {labels} | {there} | {help} |");
            assert_eq!(expected.get(name), Some(&told), "{sorts:?}: docs/METRICS.md should have the row\n{line}");
        }
        let missing: Vec<_> = expected.keys().filter(|name| !told.contains_key(**name)).collect();
        assert!(missing.is_empty(), "{sorts:?}: docs/METRICS.md lists what is not told: {missing:?}");
    }
    check_dashboard(&all, &documented);
}

/// Every query of the dashboard names existing metrics, labels and values, and every metric is queried.
fn check_dashboard(all: &[(BTreeSet<&str>, Exposition)], documented: &BTreeMap<String, [String; 5]>) {
    let dashboard: Value = serde_json::from_str(&file("deploy/grafana/pricetime.json")).unwrap();
    let mut queries = Vec::new();
    collect_queries(&dashboard, &mut queries);
    assert!(queries.len() > 30, "{} queries", queries.len());
    let mut asked = BTreeSet::new();
    for query in &queries {
        let names = selectors(query);
        assert!(!names.is_empty(), "{query} asks for something");
        for (name, labels) in names {
            // The tests of the cluster check the metrics of its nodes.
            if documented.get(&name).is_some_and(|row| row[3] == "cluster") {
                asked.insert(name);
                continue;
            }
            let samples: Vec<_> = all.iter().flat_map(|(_, told)| told.samples(&name)).collect();
            assert!(!samples.is_empty(), "{query}: there is no {name}");
            for (label, value) in labels {
                if ["instance", "job"].contains(&label.as_str()) {
                    continue;
                }
                let values: BTreeSet<&str> =
                    samples.iter().filter_map(|sample| sample.labels.get(&label)).map(String::as_str).collect();
                assert!(!values.is_empty(), "{query}: {name} has no label {label}");
                assert!(value.is_none_or(|value| values.contains(value.as_str())), "{query}: no such value of {label}");
            }
            asked.insert(name);
        }
    }
    for name in documented.keys() {
        let is_asked = |asked: &String| {
            asked == name || ["_bucket", "_sum", "_count"].iter().any(|suffix| *asked == format!("{name}{suffix}"))
        };
        assert!(asked.iter().any(is_asked), "the dashboard does not show {name}");
    }
}

/// Collects all queries of the dashboard.
fn collect_queries(value: &Value, queries: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(query) if ["expr", "definition"].contains(&name.as_str()) => queries.push(query.to_owned()),
                    _ => collect_queries(value, queries),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_queries(value, queries)),
        _ => {}
    }
}

/// Labels that a query restricts, with their values where these are plain.
type Asked = Vec<(String, Option<String>)>;

/// The metrics that a query names, each with the labels that the query restricts and their values where these are
/// plain. The labels of a grouping count for all of its metrics.
fn selectors(query: &str) -> Vec<(String, Asked)> {
    const WORDS: [&str; 9] = ["by", "without", "on", "ignoring", "and", "or", "unless", "bool", "offset"];
    let mut found: Vec<(String, Asked)> = Vec::new();
    let mut grouped = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|other: char| !other.is_ascii_alphanumeric() && other != '_').unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            rest = behind.trim_start();
            if ["by", "without", "on", "ignoring"].contains(&word) {
                let (inside, behind) = rest.strip_prefix('(').unwrap().split_once(')').unwrap();
                grouped.extend(inside.split(',').map(|label| label.trim().to_owned()));
                rest = behind;
            } else if word == "label_values" {
                let (name, label) =
                    rest.strip_prefix('(').unwrap().strip_suffix(')').unwrap().split_once(", ").unwrap();
                found.push((name.to_owned(), vec![(label.to_owned(), None)]));
                rest = "";
            } else if !rest.starts_with('(') && !rest.starts_with("by (") && !WORDS.contains(&word) {
                let mut labels = Vec::new();
                if let Some(inside) = rest.strip_prefix('{') {
                    let (matchers, behind) = inside.split_once('}').unwrap();
                    rest = behind;
                    for matcher in matchers.split(", ") {
                        let end = matcher.find(['=', '!']).unwrap();
                        let value = matcher[end..].trim_start_matches("!=").trim_start_matches('=').trim_matches('"');
                        let plain = !matcher[end..].contains('~');
                        labels.push((matcher[..end].to_owned(), plain.then(|| value.to_owned())));
                    }
                }
                found.push((word.to_owned(), labels));
            }
        } else if let Some(range) = rest.strip_prefix('[') {
            rest = range.split_once(']').unwrap().1;
        } else if first.is_ascii_digit() {
            rest = rest.trim_start_matches(|digit: char| digit.is_ascii_alphanumeric() || digit == '.');
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    let grouped = grouped.into_iter().map(|label| (label, None));
    found.iter_mut().for_each(|(_, labels)| labels.extend(grouped.clone()));
    found
}

#[test]
fn what_a_query_names_is_found() {
    let query =
        r#"histogram_quantile(0.99, sum by (le, stage) (rate(a_bucket{x="1", y=~"$y"}[5m]))) / b{z!="2"} or 1e3"#;
    let name = |name: &str| name.to_owned();
    let grouped = [(name("le"), None), (name("stage"), None)];
    let of = |labels: &[(String, Option<String>)]| [labels, &grouped].concat();
    let expected = vec![
        (name("a_bucket"), of(&[(name("x"), Some(name("1"))), (name("y"), None)])),
        (name("b"), of(&[(name("z"), Some(name("2")))])),
    ];
    assert_eq!(selectors(query), expected);
}

#[test]
fn only_those_who_name_this_server_are_told() {
    let folder = Folder::new("metrics-host");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    assert_eq!(http.send("GET", "/metrics", None, &[("host", "evil.example")]).code(), (403, "foreign-host"));
    server.stop();
}

#[test]
fn orders_over_rest_are_in_the_latencies_that_the_status_shows() {
    let folder = Folder::new("metrics-status");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "channel": "status"}));
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "10"}));
    wait_until("a second with a request", PATIENCE, || {
        let message = socket.try_next().unwrap();
        let is_busy = message["type"] == "update" && !message["latency_us"].is_null();
        if is_busy {
            assert!(message["latency_us"]["p50"].as_u64() <= message["latency_us"]["p999"].as_u64(), "{message}");
            assert!(message["sync_us"]["p99"].as_u64() > Some(0) && message["batch"]["p50"] == 1, "{message}");
        }
        is_busy
    });
    server.stop();
}
