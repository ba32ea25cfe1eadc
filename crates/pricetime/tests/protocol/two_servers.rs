//! Two servers on the same folder or port, and how a server ends: by a signal, or after the number of requests that it
//! should answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::audit::{KnownOrders, Unanswered, audit};
use crate::common::client::{Client, frame};
use crate::common::exposition::Exposition;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::port;
use crate::common::server::{Ended, Launch, PATIENCE};
use crate::common::trader::{End, Trader};
use crate::common::wait::wait_until;
use rustix::process::Signal;

/// A server that waited for a client would take until that client's idle timeout, a minute.
const LONGEST_STOP: Duration = Duration::from_secs(20);

fn refused(launch: &Launch) -> Ended {
    match launch.try_start() {
        Ok(server) => panic!("a second server started: {}", server.banner),
        Err(ended) => ended,
    }
}

fn check_refused(launch: &Launch, says: &str) {
    let ended = refused(launch);
    assert!(ended.status.code().is_some_and(|code| code != 0), "{ended:?}");
    assert!(ended.stderr.contains(says), "expected {says:?}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn the_second_server_on_a_data_folder_is_told_who_has_it() {
    let folder = Folder::new("one-folder");
    let launch = Launch::new(&folder.data());
    let first = launch.start();
    first.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    check_refused(&launch, &format!("is in use by process {}", first.process.id()));
    // The first server did not notice, and a crashed server leaves nothing behind that keeps the next one out.
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    let unknown = "<results><error id=\"1\">Unknown order</error></results>\n";
    assert_eq!(first.ask(query), unknown);
    first.kill();
    assert_eq!(launch.start().ask(query), unknown);
}

#[test]
fn the_second_server_on_a_port_is_told_which_setting_to_change() {
    let folder = Folder::new("one-port");
    let other = Folder::new("other");
    for workers in ["--workers 1", "--workers 4"] {
        let xml = SocketAddr::from(([127, 0, 0, 1], port::free()));
        let first = Launch::new(&folder.data()).with(workers).on_xml(xml).start();
        let second = || Launch::new(&other.data()).with(workers);
        let in_use = |address, flag| {
            format!("{address} is in use by another program; stop it or choose another address with {flag}")
        };
        check_refused(&second().on_xml(first.xml), &in_use(first.xml, "--xml"));
        check_refused(&second().on_http(first.http), &in_use(first.http, "--http"));
        // The first server kept all of its clients meanwhile.
        for _ in 0..20 {
            assert_eq!(first.ask("<create/>"), "<results></results>\n");
        }
        // The port is free again at once.
        first.stop();
        assert_eq!(second().on_xml(xml).start().ask("<create/>"), "<results></results>\n");
    }
}

#[test]
fn a_signal_under_load_loses_no_reply_and_leaves_a_snapshot() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = Folder::new("signal");
        let launch = Launch::new(&folder.data()).with("--disk-low 0");
        let mut server = launch.start();
        let mut traders: Vec<Trader> = (0..4).map(|index| Trader::new(index, 3)).collect();
        traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
        let xml = server.xml;
        let (ends, took) = std::thread::scope(|scope| {
            let trading: Vec<_> =
                traders.iter_mut().map(|trader| scope.spawn(move || trader.trade(xml, usize::MAX))).collect();
            std::thread::sleep(Duration::from_millis(150));
            server.process.signal(signal);
            let asked = Instant::now();
            let ended = server.process.wait_for_end(PATIENCE);
            assert_eq!(ended.status.code(), Some(0), "{ended:?}");
            (trading.into_iter().map(|trading| trading.join().unwrap()).collect::<Vec<End>>(), asked.elapsed())
        });
        assert!(took < LONGEST_STOP, "it took {took:?} to stop");
        assert!(ends.iter().all(|end| *end == End::Closed), "replies, and then the end of the stream: {ends:?}");
        let acknowledged: u64 = traders.iter().map(|trader| trader.acknowledged).sum();
        println!("{signal:?}: stopped in {took:?} after {acknowledged} acknowledged commands");
        let server = launch.start();
        assert!(server.banner.contains("0 commands replayed after the snapshot at command "), "{}", server.banner);
        // Everything that took effect was answered: requests that the server read before its end got their replies, and
        // the rest was not read.
        let unanswered = audit(&server, &mut traders, &mut KnownOrders::default(), usize::MAX, 1);
        assert_eq!(unanswered.applied, 0, "{unanswered:?}");
        assert_ne!(unanswered, Unanswered::default(), "there was load");
        server.stop();
    }
}

#[test]
fn a_stopping_server_does_not_wait_for_those_who_do_nothing() {
    let folder = Folder::new("idle-stop");
    let mut server = Launch::new(&folder.data()).start();
    let mut idle: Vec<Client> = (0..50).map(|_| server.client()).collect();
    idle[0].ask("<create/>");
    idle[1].send(b"100\n<create>").unwrap();
    // The kernel resets connections that still wait to be accepted.
    let http = Http::new(server.http);
    let taken = || Exposition::read(&http.get("/metrics").text).sum("pricetime_connections", &[("gateway", "xml")]);
    wait_until("all are taken", PATIENCE, || taken() == 50.0);
    server.process.signal(Signal::TERM);
    let asked = Instant::now();
    let ended = server.process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(asked.elapsed() < LONGEST_STOP, "it took {:?} to stop", asked.elapsed());
    idle.iter_mut().for_each(|client| assert_eq!(client.rest().expect("an end, not a reset"), ""));
}

#[test]
fn it_stops_after_the_requests_it_was_to_answer_and_prints_their_time() {
    const REQUESTS: usize = 1_000;
    let folder = Folder::new("stop-after");
    let mut server = Launch::new(&folder.data()).with(&format!("--stop-after-requests {REQUESTS}")).start();
    let mut client = server.client();
    let bytes: Vec<u8> =
        (0..REQUESTS).flat_map(|id| frame(&format!("<create><account id=\"{id}\" balance=\"1\"/></create>"))).collect();
    client.send(&bytes).unwrap();
    for id in 0..REQUESTS {
        assert_eq!(client.reply().unwrap(), format!("<results><created id=\"{id}\"/></results>\n"));
    }
    assert_eq!(client.rest().expect("an end, not a reset"), "");
    let ended = server.process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let line = |start: &str| {
        let line = ended.stdout.lines().find_map(|line| line.strip_prefix(start));
        line.unwrap_or_else(|| panic!("no {start:?} in {}", ended.stdout)).trim()
    };
    assert_eq!(line("requests answered:"), REQUESTS.to_string());
    let (micros, seconds) = line("execution time:").split_once(" us = ").expect("in us and in s");
    let (micros, seconds): (f64, f64) = (micros.parse().unwrap(), seconds.trim_end_matches(" s").parse().unwrap());
    assert!(micros > 0.0 && (micros / 1e6 - seconds).abs() < 2e-6, "{}", ended.stdout);
    let total: f64 = line("total running time:").trim_end_matches(" s").parse().unwrap();
    assert!(total >= seconds, "{}", ended.stdout);
}
