//! `pricetime-bench compare` and `echo` through the real binary: figures that can be computed again, missing programs,
//! and an echo that really syncs before it answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::PATIENCE;
use crate::common::bench::binary;
use crate::common::folder::Folder;
use crate::common::trace::{require_strace, strace};
use crate::common::wait::wait_for;
use serde_json::Value;

const ORDER: &str = "pricetime synced, order";
const RESTING: &str = "pricetime synced, order-resting";
const ECHO: &str = "raw durable echo";
const ON_POSTGRES: &str = "pricetime on PostgreSQL, order";
const BASELINE: &str = "one transaction an order";
const PGBENCH: &str = "PostgreSQL, synchronous_commit on";

/// Runs a comparison in this folder, where only programs in `path` are found.
fn compare(folder: &Folder, path: &str, words: &str) -> Output {
    // PostgreSQL runs as another user when the tests run as root, and must reach its data.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", path).current_dir(folder.path());
    command.args(["compare", "--out", "results"]).args(words.split_whitespace());
    command.output().unwrap()
}

/// The description of a comparison, and its runs: the place and the record of each.
struct Comparison {
    about: Value,
    runs: Vec<(Value, Value)>,
}

/// The output of a valid comparison, and its files.
fn valid(folder: &Folder, path: &str, words: &str) -> (String, Comparison) {
    let output = compare(folder, path, words);
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let results = folder.path().join("results");
    let json = |file: &str| serde_json::from_slice::<Value>(&std::fs::read(results.join(file)).unwrap()).unwrap();
    let about = json("experiment.json");
    let entries = about["runs"].as_array().unwrap().clone();
    let runs = entries.into_iter().map(|entry| (entry.clone(), json(entry["file"].as_str().unwrap()))).collect();
    (stdout, Comparison { about, runs })
}

impl Comparison {
    /// The records of one subject in a mode, by round.
    fn records(&self, mode: &str, subject: &str) -> Vec<&Value> {
        let here = self.runs.iter().filter(|(entry, _)| entry["mode"] == mode && entry["series"] == subject);
        let (rounds, records): (Vec<u64>, Vec<&Value>) =
            here.map(|(entry, record)| (entry["round"].as_u64().unwrap(), record)).unzip();
        assert!(
            !rounds.is_empty() && rounds.iter().copied().eq(1..=rounds.len() as u64),
            "{mode}, {subject}: {rounds:?}"
        );
        records
    }

    /// The requests a second, by round.
    fn throughputs(&self, mode: &str, subject: &str) -> Vec<f64> {
        self.records(mode, subject).iter().map(|record| record["throughput"].as_f64().unwrap()).collect()
    }
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

fn is_installed(program: &str) -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join(program).is_file())
}

/// The median, smallest and largest value.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
    [median, values[0], values[values.len() - 1]]
}

fn divided(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

/// Checks that a printed ratio is that of the single measurements.
fn check_ratio(printed: &str, comparison: &Comparison, mode: &str, ours: &str, theirs: &str) {
    let in_rounds = divided(&comparison.throughputs(mode, ours), &comparison.throughputs(mode, theirs));
    let [median, min, max] = spread(in_rounds.clone());
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
    assert_eq!(comparison.throughputs("persistent", ORDER).len(), 3);
    assert!(printed.contains("p99 in open-half: order ÷ raw durable echo"), "{printed}");
    // Two cores were not measured, so there is no ratio to one.
    assert!(!printed.contains("two-cores ÷ one-core"), "{printed}");
    assert!(printed.contains("No error, no wrong and no lost reply") && !printed.contains("goal"), "{printed}");
    half_of_the_peak(&comparison);
    let again = compare(&folder, &path(), words);
    assert_eq!(again.status.code(), Some(2), "results are never overwritten");
}

/// Checks that the open loops requested half of the closed one's rate in their round.
fn half_of_the_peak(comparison: &Comparison) {
    let peaks = comparison.throughputs("persistent", ORDER);
    // Both have that rate: the server, and the echo.
    for subject in [ORDER, ECHO] {
        let records = comparison.records("open-half", subject);
        let rates: Vec<f64> = records.iter().map(|record| record["load"]["rate"].as_f64().unwrap()).collect();
        assert_eq!(rates.len(), peaks.len(), "{subject}");
        for ratio in divided(&rates, &peaks) {
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
    assert_eq!(comparison.about["left_out"], serde_json::json!([]));
}

#[test]
fn postgresql_stands_beside_ours_where_it_is_installed() {
    let folder = Folder::new("compare-postgres");
    let (printed, comparison) = valid(&folder, &path(), "--rounds 1 --seconds 1 --only postgres --modes clients-8");
    match comparison.about["left_out"].as_array().unwrap().as_slice() {
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

#[test]
fn a_market_in_postgresql_stands_beside_one_transaction_an_order_and_pgbench() {
    let folder = Folder::new("compare-market");
    // pgbench connects its 50 clients within the time, which takes more than a second on a busy machine.
    let words = "--rounds 1 --seconds 3 --only postgres --modes \
                 postgres-clients-32,postgres-pipelined,postgres-open-half";
    let (printed, comparison) = valid(&folder, &path(), words);
    if let Some(why) = comparison.about["left_out"].as_array().unwrap().first() {
        return println!("not tested on PostgreSQL: {why}");
    }
    let record = |mode: &str, subject: &str| comparison.records(mode, subject)[0];
    let number = |found: &Value| found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    let requests = |mode: &str, subject: &str| number(&record(mode, subject)["counts"]["answered"]);
    let orders = |mode: &str, subject: &str| number(&record(mode, subject)["counts"]["kinds"]["opened"]);
    let clients = "postgres-clients-32";
    // Two of three requests are orders, and every one of pgbench.
    for subject in [ON_POSTGRES, BASELINE] {
        let part = orders(clients, subject) / requests(clients, subject);
        assert!((0.6..0.73).contains(&part), "{subject}: {part} of the requests are orders");
    }
    assert_eq!(orders(clients, PGBENCH), requests(clients, PGBENCH));
    // Batches hold more than one request, and never more than are in flight; the baseline has conflicts, the server
    // none.
    let database = |mode: &str, subject: &str| &record(mode, subject)["database"];
    let batch = |mode: &str, subject: &str| requests(mode, subject) / number(&database(mode, subject)["transactions"]);
    let pipelined = batch("postgres-pipelined", ON_POSTGRES);
    // Other load of the machine delays the count of transactions.
    let one_each = batch(clients, ON_POSTGRES);
    assert!((1.0..=64.0).contains(&one_each) && pipelined > one_each, "{printed}");
    assert_eq!(batch(clients, BASELINE), 1.0);
    assert!(number(&database(clients, BASELINE)["retries"]) > 0.0);
    let a_second = |mode: &str, subject: &str| orders(mode, subject) / number(&record(mode, subject)["seconds"]);
    let pgbench = a_second("postgres-pipelined", ON_POSTGRES) / a_second(clients, PGBENCH);
    let ratio = printed.lines().find(|line| line.contains("ours in postgres-pipelined ÷ pgbench")).unwrap();
    let shown: Vec<f64> = ratio.split(['│', '┆']).filter_map(|cell| cell.trim().parse().ok()).collect();
    assert!(shown.iter().any(|shown| (shown / pgbench - 1.0).abs() < 0.01), "{pgbench}: {ratio}");
    assert!(number(&record("postgres-open-half", ON_POSTGRES)["latency"]["p99"]) > 0.0);
    assert!(printed.contains("on PostgreSQL server, database and load all on"), "{printed}");
    assert!(!folder.path().join("results/work").exists(), "the databases are removed");

    let mut report = Command::new(binary());
    let output = report.env_clear().current_dir(folder.path()).args(["report", "results"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for plot in ["compare-postgres-clients.svg", "compare-postgres-batches.svg"] {
        assert!(folder.path().join("results/report/plots").join(plot).is_file(), "{plot}");
    }
}

#[test]
fn what_is_missing_is_named_with_how_to_get_it_and_the_others_go_on() {
    let folder = Folder::new("compare-nothing");
    let words = "--rounds 1 --seconds 0.1 --only redis,echo --modes single";
    let (printed, comparison) = valid(&folder, folder.path().to_str().unwrap(), words);
    let left_out = "redis-server is missing; get it with: apt-get install redis-server";
    assert_eq!(comparison.about["left_out"], serde_json::json!([left_out]));
    assert!(printed.contains(left_out), "{printed}");
    check_ratio(&printed, &comparison, "single", ORDER, ECHO);
    assert!(!folder.path().join("results/work").exists(), "the servers' data is removed");
}

/// A traced echo on a port of its own. It is killed when dropped.
struct Echo {
    child: Child,
    address: SocketAddr,
}

impl Echo {
    fn start(folder: &Folder, trace: &Path) -> Echo {
        let output = std::fs::File::create(folder.path().join("said")).unwrap();
        let traced = strace(trace.to_str().unwrap(), &["trace=pwrite64,fdatasync,sendto"]);
        let mut child = Command::new(traced[0])
            .args(&traced[1..])
            .arg(binary())
            .args(["echo", "--file", "file"])
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

    /// Ends the echo and returns the names of its system calls, in their order.
    fn calls(mut self, trace: &Path) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let text = wait_for("the end of the trace", PATIENCE, || {
            std::fs::read_to_string(trace).ok().filter(|text| text.contains("+++ killed by SIGKILL +++"))
        });
        let call = |line: &str| Some(line.split_whitespace().nth(2)?.split_once('(')?.0.to_string());
        // strace knows no name of a call that was killed before it began.
        text.lines().filter_map(call).filter(|name| name != "???").collect()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends requests, a few at once, and returns all sent bytes and all replies.
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

/// The number of replies that left behind written but unsynced bytes.
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
    let folder = Folder::new("echo");
    let trace = folder.path().join("trace");
    let echo = Echo::start(&folder, &trace);
    let (sent, replies) = talk(echo.address);
    let calls = echo.calls(&trace);
    let count = |name: &str| calls.iter().filter(|call| *call == name).count();
    // Every request gets the same reply, in the server's form.
    let replies = String::from_utf8(replies).unwrap();
    let first = replies.lines().next().unwrap();
    assert!(first.starts_with("<results><opened ") && replies.lines().all(|reply| reply == first), "{replies}");
    assert_eq!(replies.lines().count() * 11, sent.len());
    // The file is allocated ahead: it holds the sent bytes, and zeros behind them.
    let file = std::fs::read(folder.path().join("file")).unwrap();
    assert!(file.starts_with(&sent) && file[sent.len()..].iter().all(|byte| *byte == 0));
    assert!(["pwrite64", "fdatasync", "sendto"].into_iter().all(|name| count(name) >= 20), "{calls:?}");
    assert_eq!(unsynced_replies(&calls), 0, "{calls:?}");
}
