//! `pricetime-bench run` over real sockets: every workload against the real server, and against servers that answer
//! wrongly, late, in another form or not at all, which it must notice and count.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::bench::binary;
use crate::common::folder::Folder;
use crate::common::members::{AccessFile, secret};
use crate::common::port;
use crate::common::server::{Launch, state_of};
use bench::records::{Conservation, Mode, RunRecord};

const CREATED: &str = "<results><created id=\"1\"/></results>";

/// Runs it with these words; returns its output, and its record, if it wrote one.
fn bench_run(words: &str) -> (Output, Option<RunRecord>) {
    let folder = Folder::new("bench");
    let json = folder.path().join("record.json");
    // The option comes first, because the words behind `--` are the server's.
    let words = format!("--json record.json {words}");
    let output = command(&words, &folder).output().unwrap();
    let record = std::fs::read(&json).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    (output, record)
}

fn command(words: &str, folder: &Folder) -> Command {
    let mut command = Command::new(binary());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(folder.path());
    command.arg("run").args(words.split_whitespace());
    command
}

/// Runs it; the run must be valid.
fn valid(words: &str) -> RunRecord {
    let (output, record) = bench_run(words);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{words}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    let record = record.unwrap();
    assert_eq!(record.invalid_because, [""; 0], "{words}");
    assert_eq!((record.counts.answered, record.counts.lost), (record.counts.sent, 0), "{words}");
    record
}

/// Runs it; the run must be invalid, with exit code 1 and the reason on standard output.
fn invalid(words: &str, because: &str) -> RunRecord {
    let (output, record) = bench_run(words);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{words}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("INVALID") && stdout.contains(because), "{words}: no `{because}` in {stdout}");
    record.unwrap()
}

fn kinds(record: &RunRecord) -> Vec<&str> {
    record.counts.kinds.keys().map(String::as_str).collect()
}

#[test]
fn every_workload_gets_its_replies_and_money_and_shares_are_conserved() {
    let check = |workload: &str, expected: &[&str]| {
        let record = valid(&format!("-n 3000 -c 20 --warmup 100ms --accounts 300 --workload {workload}"));
        assert_eq!(kinds(&record), expected, "{workload}");
        assert_eq!(record.counts.kinds.values().sum::<u64>(), 3000, "{workload}");
        assert_eq!(record.conservation, Conservation::Holds, "{workload}");
        assert_eq!((record.latency.from.as_str(), record.server.own), ("closed", true));
        assert_eq!((record.connections_max, record.in_flight_max), (20, 20), "{workload}");
    };
    check("create", &["created"]);
    check("order", &["canceled", "opened"]);
    check("order-resting", &["opened"]);
    check("order-taking", &["canceled", "opened"]);
    check("order-crossing", &["opened"]);
    check("lifecycle", &["canceled", "created", "opened", "status"]);
    check("mix", &["canceled", "opened", "status"]);
    check("query", &["status"]);
    check("echo-example", &["error"]);
}

#[test]
fn every_mode_gets_all_replies() {
    let check = |words: &str, mode: Mode, in_flight: u64| {
        let record = valid(&format!("-n 4000 -c 10 --warmup 0 --accounts 300 {words}"));
        assert_eq!((record.load.mode, record.counts.answered), (mode, 4000), "{words}");
        assert_eq!(record.conservation, Conservation::Holds, "{words}");
        assert!(record.in_flight_max <= in_flight, "{words}: {} in flight", record.in_flight_max);
        record
    };
    check("--mode persistent", Mode::Persistent, 10);
    assert_eq!(check("--mode pipelined --depth 50", Mode::Pipelined, 500).in_flight_max, 500);
    check("--mode per-request --workload lifecycle", Mode::PerRequest, 10);
    check("--mode pipelined --workload lifecycle --threads 3", Mode::Pipelined, 160);
    check("--mode per-request -- --reply-length --close-after-reply", Mode::PerRequest, 10);
    let record = check("--rate 20000", Mode::Persistent, 4000);
    assert_eq!((record.latency.from.as_str(), record.load.rate), ("open", Some(20_000.0)));
    check("--rate 5000 --mode per-request", Mode::PerRequest, 10);
    let record = check("--durability written --workers 2 --server-cores 0 -- --backlog 16", Mode::Persistent, 10);
    assert_eq!(record.server.durability.as_deref(), Some("written"));
    assert_eq!((record.server.workers, record.server.backlog), (Some(2), Some(16)));
}

#[test]
fn ports_are_spread_over_source_addresses_when_they_would_run_short() {
    let many = valid("-n 35000 -c 20 --warmup 0 --mode per-request --workload create");
    assert_eq!(many.client.source_addresses, 4);
    let few = valid("-n 1000 -c 20 --warmup 0 --mode per-request --workload create");
    assert_eq!(few.client.source_addresses, 1);
}

#[test]
fn the_order_load_keeps_the_number_of_open_orders_and_half_of_its_orders_execute() {
    let folder = Folder::new("bench-orders");
    let server = Launch::new(&folder.data()).start();
    let record = valid(&format!("-n 30000 -c 20 --warmup 0 --accounts 500 --target {}", server.xml));
    assert_eq!(record.conservation, Conservation::NotChecked);
    let of = |kind: &str| record.counts.kinds[kind];
    assert_eq!((of("opened"), of("canceled")), (20_000, 10_000));
    server.stop();
    let state = state_of(&folder.data());
    // These are the orders that rested before, and at most as many as are ever under way.
    let open = state["totals"]["open_orders"].as_u64().unwrap();
    assert!((1950..=2050).contains(&open), "{open} orders are open");
    // Opened orders that are neither canceled nor open were executed.
    let executed = 20_000 + 2_000 - 10_000 - open;
    assert!((9_950..=10_050).contains(&executed), "{executed} orders executed");
}

#[test]
fn a_server_can_be_driven_again_and_again_and_be_set_up_once() {
    let folder = Folder::new("bench-again");
    let server = Launch::new(&folder.data()).start();
    let run = |workload: &str, seed: u64, more: &str| {
        let words = format!("-n 3000 -c 10 --warmup 0 --accounts 200 --seed {seed} --workload {workload}");
        let record = valid(&format!("{words} --target {} {more}", server.xml));
        assert_eq!(record.counts.answered, 3000, "{workload} {more}");
        assert_eq!(record.command.contains("--no-setup"), !more.is_empty(), "{}", record.command);
    };
    let issued = || server.state()["totals"]["symbols"][0]["issued"].as_str().unwrap().parse::<u64>().unwrap();
    run("order-crossing", 1, "");
    let once = issued();
    for (seed, workload) in [(2, "order-crossing"), (3, "order"), (3, "order"), (4, "create"), (5, "lifecycle")] {
        run(workload, seed, "--no-setup");
    }
    assert_eq!(issued(), once, "nothing was issued again");
    run("order", 6, "");
    run("mix", 6, "");
    assert_eq!(issued(), 3 * once, "without --no-setup every run issues shares");
}

#[test]
fn several_runs_are_summed_up_and_written_as_a_list() {
    let folder = Folder::new("bench-runs");
    let words = "-n 1000 -c 5 --warmup 0 --workload create --runs 3 --json records.json";
    let output = command(words, &folder).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("3 runs") && stdout.contains("95% interval"), "{stdout}");
    let records = std::fs::read(folder.path().join("records.json")).unwrap();
    let records: Vec<RunRecord> = serde_json::from_slice(&records).unwrap();
    assert_eq!(records.iter().map(|record| record.counts.answered).collect::<Vec<_>>(), [1000; 3]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "only what was asked for is left behind: {left:?}");
}

#[test]
fn what_cannot_be_run_says_why_and_exits_with_2() {
    let check = |words: &str, why: &str| {
        let (output, record) = bench_run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), record.is_none()), (Some(2), true), "{words}: {stderr}");
        assert!(stderr.contains(why), "{words}: no `{why}` in {stderr}");
    };
    check(&format!("--target 127.0.0.1:{} -n 1", port::free()), "is the server running?");
    check("--target nowhere -n 1", "expected HOST:PORT");
    check("-n 5 -z 5", "cannot be used with");
    check("-n 5 --no-setup", "--target");
    check("--workload nothing", "create, order");
    check("--mode per-request --depth 5", "leave --depth out");
    check("-n 5 -- --no-such-setting", "the server did not start");
    check("-n 5 --client-cores 1023", "core 1023 is none that this process may use");
}

#[test]
fn the_server_says_where_the_benchmarks_are_and_the_benchmarks_what_server_is_missing() {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["bench", "run", "-n", "5"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("pricetime-bench run -n 5"), "{stderr}");
    let folder = Folder::new("bench-alone");
    let output = command("-n 5 --server nowhere/pricetime", &folder).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("cargo build --release -p pricetime"), "{stderr}");
}

/// The answer of a fake server to a request.
enum Answer {
    Bytes(String),
    Nothing,
    /// Close the connection.
    Hangup,
    /// Send the answer, and close the connection.
    Last(String),
}

/// Starts a server that answers each request as `answer` says, by its number from 0 (which is that of the probe).
fn fake(answer: impl Fn(u64) -> Answer + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (answer, count) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, count) = (answer.clone(), count.clone());
            // The load may go away at any time.
            std::thread::spawn(move || drop(serve_one(stream, &*answer, &count)));
        }
    });
    address
}

fn serve_one(stream: TcpStream, answer: &dyn Fn(u64) -> Answer, count: &AtomicU64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    let mut length = String::new();
    while reader.read_line(&mut length)? > 0 {
        let mut body = vec![0; length.trim().parse().unwrap()];
        reader.read_exact(&mut body)?;
        length.clear();
        match answer(count.fetch_add(1, Ordering::Relaxed)) {
            Answer::Bytes(reply) => writer.write_all(reply.as_bytes())?,
            Answer::Nothing => {}
            Answer::Hangup => return Ok(()),
            Answer::Last(reply) => return writer.write_all(reply.as_bytes()),
        }
    }
    Ok(())
}

fn right() -> Answer {
    Answer::Bytes(format!("{CREATED}\n"))
}

fn creates(address: SocketAddr, more: &str) -> String {
    format!("--target {address} -n 500 --warmup 0 --workload create --patience 2s {more}")
}

#[test]
fn a_reply_of_another_kind_is_wrong() {
    let other = "<results><opened sym=\"A\" amount=\"1\" limit=\"1\" id=\"1\"/></results>\n";
    let address = fake(move |number| if number == 77 { Answer::Bytes(other.to_string()) } else { right() });
    let record = invalid(&creates(address, ""), "1 wrong replies");
    assert_eq!((record.counts.wrong, record.counts.errors, record.counts.kinds["created"]), (1, 0, 499));
    assert!(record.counts.first_wrong.is_some_and(|first| first.contains("opened")));
}

#[test]
fn an_error_where_none_is_expected_counts_as_one() {
    let error = "<results><error id=\"1\">no</error></results>\n";
    let address = fake(move |number| if number % 100 == 50 { Answer::Bytes(error.to_string()) } else { right() });
    let record = invalid(&creates(address, ""), "5 unexpected errors");
    assert_eq!((record.counts.wrong, record.counts.errors, record.counts.errors_expected), (0, 5, 0));
}

#[test]
fn a_reply_that_never_comes_is_lost() {
    let address = fake(|number| if number == 99 { Answer::Nothing } else { right() });
    let record = invalid(&creates(address, "-c 10"), "1 requests without a reply");
    assert_eq!((record.counts.sent, record.counts.answered, record.counts.lost), (500, 499, 1));
}

/// A measured part that passes while every request waits for its answer once had no request, and the run no figure: so
/// it went with short measurements on a busy machine.
#[test]
fn a_measured_part_that_is_slept_through_has_a_request() {
    let slow = |number| {
        // The probe is answered at once.
        std::thread::sleep(Duration::from_millis(if number == 0 { 0 } else { 700 }));
        right()
    };
    let record = valid(&format!("--target {} -c 3 -z 50ms --warmup 50ms --workload create", fake(slow)));
    assert!((1..=3).contains(&record.counts.answered), "{}", record.counts.answered);
}

#[test]
fn a_connection_that_ends_early_is_broken_and_its_requests_are_lost() {
    let hangs_up = |number| if number == 99 { Answer::Hangup } else { right() };
    let record = invalid(&creates(fake(hangs_up), "-c 10"), "1 broken connections");
    assert_eq!((record.counts.broken, record.counts.lost), (1, 1));
    let record = invalid(&creates(fake(hangs_up), "-c 10 --mode per-request"), "1 broken connections");
    assert_eq!((record.counts.broken, record.counts.lost, record.counts.answered), (1, 1, 499));
}

#[test]
fn a_full_table_of_tracked_connections_is_told_before_the_run_and_named_as_the_cause_after_it() {
    let folder = Folder::new("bench-tracked");
    let table = folder.path().join("netfilter");
    std::fs::create_dir(&table).unwrap();
    std::fs::write(table.join("nf_conntrack_max"), "1000\n").unwrap();
    std::fs::write(table.join("nf_conntrack_count"), "990\n").unwrap();
    let run = |mode: &str| {
        let hangs_up = |number| if number == 99 { Answer::Hangup } else { right() };
        let words = creates(fake(hangs_up), &format!("-c 10 --mode {mode}"));
        let output = command(&words, &folder).env("PRICETIME_BENCH_CONNTRACK", &table).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let [stdout, stderr] = run("per-request");
    assert!(stderr.contains("990 of the 1000 entries") && stderr.contains("sysctl -w"), "{stderr}");
    assert!(stdout.contains("the kernel's table of tracked connections is full (990 of 1000 entries)"), "{stdout}");
    // The lasting connections are few.
    assert!(!run("persistent").concat().contains("kernel"));
}

#[test]
fn replies_that_nobody_asked_for_are_wrong() {
    let address = fake(|number| if number == 99 { Answer::Bytes(format!("{CREATED}\n{CREATED}\n")) } else { right() });
    assert_eq!(invalid(&creates(address, "-c 1"), "1 wrong replies").counts.wrong, 1);
}

#[test]
fn servers_may_frame_their_replies_in_their_own_way() {
    let check = |what: &str, reply: String| {
        let record = valid(&creates(fake(move |_| Answer::Bytes(reply.clone())), "--mode pipelined"));
        assert_eq!((record.counts.kinds["created"], record.load.mode), (500, Mode::Pipelined), "{what}");
        assert_eq!(record.conservation, Conservation::NotChecked);
    };
    check("a line", format!("{CREATED}\n"));
    check("a length line before it", format!("{}\n{CREATED}\n", CREATED.len() + 1));
    check("no newline", CREATED.to_string());
    check("a length line and no newline", format!("{}\n{CREATED}", CREATED.len()));
    check("several lines", format!("<?xml version=\"1.0\"?>\n{}\n", CREATED.replace("><", ">\n  <")));
}

#[test]
fn a_server_that_closes_after_each_reply_gets_a_connection_for_each_request() {
    for reply in [format!("{CREATED}\n"), format!("{}\n{CREATED}", CREATED.len())] {
        let address = fake(move |_| Answer::Last(reply.clone()));
        let (output, record) = bench_run(&creates(address, "--mode persistent"));
        let (record, stdout) = (record.unwrap(), String::from_utf8_lossy(&output.stdout));
        assert_eq!((output.status.code(), record.counts.answered), (Some(0), 500), "{stdout}");
        assert_eq!(record.load.mode, Mode::PerRequest);
        assert!(stdout.contains("closes after each reply") && stdout.contains("conservation not checked"), "{stdout}");
    }
}

#[test]
fn a_stall_of_the_server_is_felt_by_every_request_that_was_due_meanwhile() {
    // A closed loop would send one request for each connection into the stall and see ten slow replies: coordinated
    // omission.
    let (stall, turn) = (Duration::from_millis(400), Mutex::new(()));
    let address = fake(move |number| {
        let _turn = turn.lock().unwrap();
        if number == 300 {
            std::thread::sleep(stall);
        }
        right()
    });
    let record = valid(&creates(address, "--rate 1000 -n 1000 -c 10").replace("-n 500 ", ""));
    let latencies = record.latency.decode().unwrap();
    // 400 requests were due in the stall; the first half of them waited for more than half of it.
    let slow = latencies.count_between(stall.as_nanos() as u64 / 2, u64::MAX);
    assert!(slow >= 150, "{slow} of {} requests felt the stall", latencies.len());
    assert_eq!(record.latency.from, "open");
}

#[test]
fn a_load_logs_in_where_members_are_known() {
    let folder = Folder::new("bench-login");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let file = folder.path().join("secret");
    std::fs::write(&file, secret("olga")).unwrap();
    let words = |login: &str| {
        format!("--target {} --workload order --connections 2 --requests 200 --warmup 0s {login}", server.xml)
    };
    for mode in ["", "--mode per-request"] {
        let record = valid(&words(&format!("--login olga-key:{} {mode}", file.display())));
        assert_eq!(kinds(&record), ["canceled", "opened"], "{mode}");
    }
    let (refused, _) = bench_run(&words(""));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && told.contains("not permitted"), "{told}");
    server.stop();
}

#[test]
fn a_load_speaks_tls_with_whom_it_is_told_to_trust() {
    let folder = Folder::new("bench-tls");
    let pki = |name: &str| {
        let place = folder.path().join(name).display().to_string();
        let made = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["tls", "self-signed", &place]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        place
    };
    let (ours, theirs) = (pki("ours"), pki("theirs"));
    let tls = format!("--tls-cert {ours}/cert.pem --tls-key {ours}/key.pem");
    let server = AccessFile::new(&folder).launch(&folder).with(&tls).start();
    let file = folder.path().join("secret");
    std::fs::write(&file, secret("olga")).unwrap();
    let words = |tls: &str, load: &str| {
        let login = format!("--login olga-key:{}", file.display());
        format!("--target {} {login} {tls} --workload order --accounts 20 --warmup 0s {load}", server.xml)
    };
    let trusting = format!("--tls-ca {ours}/cert.pem");
    for load in ["-c 2 -n 200", "-c 2 -n 40 --mode per-request", "-c 3 --depth 500 -n 20000", "-c 2 -n 300 --rate 3000"]
    {
        let record = valid(&words(&trusting, load));
        assert_eq!(kinds(&record), ["canceled", "opened"], "{load}");
        assert!(record.command.contains(&trusting), "{}", record.command);
    }
    for (tls, why) in [("", "this port speaks TLS"), (&*format!("--tls-ca {theirs}/cert.pem"), "certificate")] {
        let (refused, _) = bench_run(&words(tls, "-c 1 -n 1"));
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && told.contains(why), "{told}");
    }
    server.stop();
}
