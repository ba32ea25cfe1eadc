//! `pricetime-bench compare` and `echo` through the real binary: figures that can be computed again, programs that
//! are missing, and an echo that really syncs before it answers.
//! Not quick: needs strace.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::bench::binary;
use common::folder::Folder;
use common::server::PATIENCE;
use common::trace::{require_strace, strace};
use common::wait::wait_for;
use serde_json::Value;

const ORDER: &str = "pricetime synced, order";
const RESTING: &str = "pricetime synced, order-resting";
const ECHO: &str = "raw durable echo";
const ON_POSTGRES: &str = "pricetime on PostgreSQL, order";
const BASELINE: &str = "one transaction an order";
const PGBENCH: &str = "PostgreSQL, synchronous_commit on";

/// A comparison in this folder, where only programs in `path` are found.
fn compare(folder: &Folder, path: &str, words: &str) -> Output {
    // As root PostgreSQL runs as somebody else, who must reach its data.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", path).current_dir(folder.path());
    command.args(["compare", "--out", "results"]).args(words.split_whitespace());
    command.output().unwrap()
}

/// What a valid comparison printed, and its file.
fn valid(folder: &Folder, path: &str, words: &str) -> (String, Value) {
    let output = compare(folder, path, words);
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let file = folder.path().join("results/compare.json");
    (stdout, serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

fn is_installed(program: &str) -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join(program).is_file())
}

/// Requests a second by round, from the single measurements.
fn throughputs(comparison: &Value, mode: &str, subject: &str) -> Vec<f64> {
    let all = comparison["measurements"].as_array().unwrap();
    let wanted = all.iter().filter(|one| one["mode"] == mode && one["subject"] == subject);
    let found: Vec<(u64, f64)> =
        wanted.map(|one| (one["round"].as_u64().unwrap(), one["throughput"].as_f64().unwrap())).collect();
    let rounds: Vec<u64> = found.iter().map(|(round, _)| *round).collect();
    assert_eq!(rounds, (1..=comparison["rounds"].as_u64().unwrap()).collect::<Vec<_>>(), "{mode}, {subject}");
    found.into_iter().map(|(_, throughput)| throughput).collect()
}

/// Median, smallest and largest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    [median, values[0], values[values.len() - 1]]
}

fn divided(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

fn spread_of(found: &Value) -> [f64; 3] {
    ["median", "min", "max"].map(|name| found[name].as_f64().unwrap_or_else(|| panic!("no {name} in {found}")))
}

/// Equal but for the digits that are lost on the way through a file.
fn assert_same(found: [f64; 3], expected: [f64; 3]) {
    let same = found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-9);
    assert!(same, "{found:?} is not {expected:?}");
}

/// The file's ratio, and what the table prints of it, are those of the single measurements.
fn check_ratio(printed: &str, comparison: &Value, mode: &str, ours: &str, theirs: &str) {
    let all = comparison["ratios"].as_array().unwrap();
    let ratio = all.iter().find(|one| one["mode"] == mode && one["ours"] == ours && one["theirs"] == theirs);
    let ratio = ratio.unwrap_or_else(|| panic!("no ratio of {ours} by {theirs}, {mode}"));
    let in_rounds = divided(&throughputs(comparison, mode, ours), &throughputs(comparison, mode, theirs));
    let [median, min, max] = spread(in_rounds.clone());
    assert_same(spread_of(ratio), [median, min, max]);
    let cell = match in_rounds.len() {
        1 => format!("{median:.2}"),
        _ => format!("{median:.2} ({min:.2}–{max:.2})"),
    };
    assert!(printed.contains(&cell), "{mode}, {ours} by {theirs}: no `{cell}` in {printed}");
}

#[test]
fn ratios_are_those_of_the_single_measurements() {
    let folder = Folder::new("compare");
    let words = "--rounds 3 --seconds 0.2 --only echo --modes persistent,single,open-half,one-core";
    let (printed, comparison) = valid(&folder, &path(), words);
    for mode in ["persistent", "single"] {
        for ours in [ORDER, RESTING] {
            check_ratio(&printed, &comparison, mode, ours, ECHO);
        }
    }
    let persistent = throughputs(&comparison, "persistent", ORDER);
    assert!(printed.contains("p99 in open-half: order ÷ raw durable echo"), "{printed}");
    // Not with two cores, so there is no ratio to one.
    assert!(!printed.contains("two-cores ÷ one-core"), "{printed}");
    assert!(printed.contains("No error, no wrong and no lost reply") && !printed.contains("goal"), "{printed}");
    half_of_the_peak(&folder.path().join("results"), &persistent);
}

/// The open loops asked for half of what the closed one reached in their round.
fn half_of_the_peak(results: &Path, peaks: &[f64]) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(results.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let records = files.iter().map(|file| serde_json::from_slice::<Value>(&std::fs::read(file).unwrap()).unwrap());
    let open: Vec<Value> = records.filter(|record| record["load"]["rate"].is_f64()).collect();
    // Ours, and the echo at the same rate.
    for workload in ["order", "raw"] {
        let rates = open.iter().filter(|record| record["load"]["workload"] == workload);
        let rates: Vec<f64> = rates.filter_map(|record| record["load"]["rate"].as_f64()).collect();
        assert_eq!(rates.len(), peaks.len(), "{workload}");
        for ratio in divided(&rates, peaks) {
            assert!((ratio - 0.5).abs() < 1e-9, "an open loop at {ratio} of the peak");
        }
    }
}

#[test]
fn redis_stands_beside_ours_where_it_is_installed() {
    let installed = ["redis-server", "redis-benchmark"].into_iter().all(is_installed);
    if !installed {
        return println!("Redis is not installed: what it would be compared with is not tested");
    }
    let folder = Folder::new("compare-redis");
    let (printed, comparison) = valid(&folder, &path(), "--rounds 1 --seconds 0.2 --only redis --modes single");
    for theirs in ["Redis, appendfsync always", "Redis, no persistence"] {
        check_ratio(&printed, &comparison, "single", ORDER, theirs);
    }
    assert_eq!(comparison["left_out"], serde_json::json!([]));
}

#[test]
fn postgresql_stands_beside_ours_where_it_is_installed() {
    let folder = Folder::new("compare-postgres");
    let (printed, comparison) = valid(&folder, &path(), "--rounds 1 --seconds 1 --only postgres --modes clients-8");
    match comparison["left_out"].as_array().unwrap().as_slice() {
        [] => check_ratio(&printed, &comparison, "clients-8", ORDER, "PostgreSQL, synchronous_commit on"),
        [why] => {
            let why = why.as_str().unwrap();
            println!("not tested beside PostgreSQL: {why}");
            assert!(why.contains("apt-get install") || why.contains("must reach the folder"), "{why}");
            assert!(!is_installed("pgbench") || why.contains("must reach the folder"), "{why}");
        }
        more => panic!("only one was asked for: {more:?}"),
    }
}

/// The single measurement of one who takes part, in a comparison of one round.
fn measurement<'a>(comparison: &'a Value, mode: &str, subject: &str) -> &'a Value {
    let all = comparison["measurements"].as_array().unwrap();
    all.iter()
        .find(|one| one["mode"] == mode && one["subject"] == subject)
        .unwrap_or_else(|| panic!("{mode}, {subject}"))
}

#[test]
fn a_market_in_postgresql_stands_beside_one_transaction_an_order_and_pgbench() {
    let folder = Folder::new("compare-market");
    // pgbench connects its 50 clients within the time: on a busy machine that takes more than a second.
    let words = "--rounds 1 --seconds 3 --only postgres --modes \
                 postgres-clients-32,postgres-pipelined,postgres-open-half";
    let (printed, comparison) = valid(&folder, &path(), words);
    if let Some(why) = comparison["left_out"].as_array().unwrap().first() {
        return println!("not tested on PostgreSQL: {why}");
    }
    let number = |mode: &str, subject: &str, figure: &str| {
        measurement(&comparison, mode, subject)[figure]
            .as_f64()
            .unwrap_or_else(|| panic!("{mode}, {subject}: {figure}"))
    };
    let clients = "postgres-clients-32";
    // Two of three requests are orders, and every one of pgbench.
    for subject in [ON_POSTGRES, BASELINE] {
        let [orders, requests] = ["orders_per_second", "throughput"].map(|figure| number(clients, subject, figure));
        assert!((0.6..0.73).contains(&(orders / requests)), "{subject}: {orders} of {requests}");
    }
    assert_eq!(number(clients, PGBENCH, "orders_per_second"), number(clients, PGBENCH, "throughput"));
    // Batches hold more than one request, and never more than are in flight; the baseline has conflicts, ours has none.
    let batch = |mode: &str| number(mode, ON_POSTGRES, "requests_per_transaction");
    // Where others use the machine, transactions are counted late.
    assert!((1.0..=64.0).contains(&batch(clients)) && batch("postgres-pipelined") > batch(clients), "{printed}");
    assert_eq!(number(clients, BASELINE, "requests_per_transaction"), 1.0);
    assert!(number(clients, BASELINE, "retries_per_order") > 0.0);
    let pgbench =
        number("postgres-pipelined", ON_POSTGRES, "orders_per_second") / number(clients, PGBENCH, "throughput");
    let ratio = printed.lines().find(|line| line.contains("ours in postgres-pipelined ÷ pgbench")).unwrap();
    assert!(ratio.contains(&format!("{pgbench:.2}")), "{ratio}");
    assert!(number("postgres-open-half", ON_POSTGRES, "latency_us_p99") > 0.0);
    assert!(printed.contains("on PostgreSQL server, database and load all on"), "{printed}");
    assert!(!folder.path().join("results/work").exists(), "the databases are removed");

    let mut report = Command::new(binary());
    let output = report.env_clear().current_dir(folder.path()).args(["report", "results"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for plot in ["compare-postgres-clients.png", "compare-postgres-batches.png"] {
        assert!(folder.path().join("results/report/plots").join(plot).is_file(), "{plot}");
    }
}

#[test]
fn what_is_missing_is_named_with_how_to_get_it_and_the_others_go_on() {
    let folder = Folder::new("compare-nothing");
    let words = "--rounds 1 --seconds 0.1 --only redis,echo --modes single";
    let (printed, comparison) = valid(&folder, folder.path().to_str().unwrap(), words);
    let left_out = "redis-server is missing; get it with: apt-get install redis-server";
    assert_eq!(comparison["left_out"], serde_json::json!([left_out]));
    assert!(printed.contains(left_out), "{printed}");
    check_ratio(&printed, &comparison, "single", ORDER, ECHO);
    assert!(!folder.path().join("results/work").exists(), "the servers' data is removed");
}

/// A traced echo on a port of its own. Killed when dropped.
struct Echo {
    child: Child,
    address: SocketAddr,
}

impl Echo {
    fn start(folder: &Folder, trace: &Path, more: &[&str]) -> Echo {
        let output = std::fs::File::create(folder.path().join("said")).unwrap();
        let traced = strace(trace.to_str().unwrap(), &["trace=pwrite64,fdatasync,sendto"]);
        let mut child = Command::new(traced[0])
            .args(&traced[1..])
            .arg(binary())
            .args(["echo", "--file", "file"])
            .args(more)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(output)
            .spawn()
            .unwrap();
        let address = wait_for("the address of the echo", PATIENCE, || {
            assert!(child.try_wait().unwrap().is_none(), "the echo did not start");
            let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
            said.split_once('\n')?.0.strip_prefix("echo on ")?.parse().ok()
        });
        Echo { child, address }
    }

    /// Ends it and gives the names of its system calls, in their order.
    fn calls(mut self, trace: &Path) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let text = wait_for("the end of the trace", PATIENCE, || {
            std::fs::read_to_string(trace).ok().filter(|text| text.contains("+++ killed by SIGKILL +++"))
        });
        let call = |line: &str| Some(line.split_whitespace().nth(2)?.split_once('(')?.0.to_string());
        // Of a call that was killed before it began strace knows no name.
        text.lines().filter_map(call).filter(|name| name != "???").collect()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends requests, a few at once, and gives all that was sent and the replies.
fn talk(address: SocketAddr) -> (Vec<u8>, Vec<u8>) {
    const TURNS: usize = 20;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut sent, mut replies) = (Vec::new(), Vec::new());
    for turn in 1..=TURNS {
        let together = 1 + turn % 3;
        let requests: String = (0..together).map(|number| format!("9\n<q {turn:02} {number}/>")).collect();
        assert_eq!(requests.len(), together * 11);
        stream.write_all(requests.as_bytes()).unwrap();
        sent.extend_from_slice(requests.as_bytes());
        let lines = replies.iter().filter(|byte| **byte == b'\n').count() + together;
        while replies.iter().filter(|byte| **byte == b'\n').count() < lines {
            let mut buffer = [0; 4096];
            let bytes = stream.read(&mut buffer).unwrap();
            assert!(bytes > 0, "the echo closed the connection");
            replies.extend_from_slice(&buffer[..bytes]);
        }
    }
    (sent, replies)
}

/// How many replies left behind bytes that were written but not synced.
fn unsynced_replies(calls: &[String]) -> usize {
    let (mut written, mut early) = (false, 0);
    for call in calls {
        match call.as_str() {
            "pwrite64" => written = true,
            "fdatasync" => written = false,
            "sendto" => early += usize::from(written),
            other => panic!("{other} was not asked for"),
        }
    }
    early
}

#[test]
fn the_echo_answers_after_every_byte_is_in_its_file_and_synced() {
    require_strace();
    for (more, syncs) in [(&[][..], true), (&["--no-sync"][..], false)] {
        let folder = Folder::new("echo");
        let trace = folder.path().join("trace");
        let echo = Echo::start(&folder, &trace, more);
        let (sent, replies) = talk(echo.address);
        let calls = echo.calls(&trace);
        let count = |name: &str| calls.iter().filter(|call| *call == name).count();
        // The same reply to every request, in the form of ours.
        let replies = String::from_utf8(replies).unwrap();
        let first = replies.lines().next().unwrap();
        assert!(first.starts_with("<results><opened ") && replies.lines().all(|reply| reply == first), "{replies}");
        assert_eq!(replies.lines().count() * 11, sent.len());
        // Its file is allocated ahead: what was sent, and zeros behind.
        let file = std::fs::read(folder.path().join("file")).unwrap();
        assert!(file.starts_with(&sent) && file[sent.len()..].iter().all(|byte| *byte == 0), "{more:?}");
        assert!(count("pwrite64") >= 20 && count("sendto") >= 20, "{calls:?}");
        assert_eq!((count("fdatasync") >= 20, unsynced_replies(&calls) == 0), (syncs, syncs), "{more:?}: {calls:?}");
    }
}
