//! Clocks and calendars of nodes that are not those of the others, and nodes that sleep through a time of their
//! calendar.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

use super::faults::clock_library;
use super::log_servers::LogServers;
use super::nodes::{CREATE, node, settle, stop_and_compare};

/// The present time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The time of day of a second, as lines of a calendar have it.
fn time_of_day(second: u64) -> String {
    let day = second % 86_400;
    format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60)
}

fn phase(server: &Server) -> String {
    let symbol = Http::new(server.http).read("/api/v1/symbols/SPY");
    symbol["phase"]["name"].as_str().unwrap_or("open").to_owned()
}

fn put_into(server: &Server, phase: &str) {
    let asked = format!("<create><phase sym=\"SPY\" is=\"{phase}\"/></create>");
    let told = server.ask(&asked);
    assert!(told.contains("<changed"), "{told}");
}

/// A node was asleep when its calendar opened a symbol, an operator halted the symbol, and the node woke up and opened
/// it.
#[test]
fn a_node_that_slept_through_its_calendar_undoes_no_halt() {
    let folder = Folder::new("cluster-asleep");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let (calendar, opens) = (folder.path().join("calendar"), now() + 12);
    std::fs::write(&calendar, format!("{} SPY open\n", time_of_day(opens))).unwrap();
    let launch = |number: u16| node(&folder, number, &url).with(&format!("--calendar {}", calendar.display()));
    let nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, launch(number).start())).collect();
    let (awake, asleep) = (&nodes[0].1, &nodes[1].1);
    awake.ask(CREATE);
    put_into(awake, "halted");
    settle(&nodes);
    assert!(now() < opens, "the calendar's time comes when all is ready");
    asleep.process.signal(Signal::STOP);
    wait_until("the other node opens the symbol", Duration::from_secs(60), || phase(awake) == "open");
    put_into(awake, "halted");
    asleep.process.signal(Signal::CONT);
    settle(&nodes);
    // By now the node has done what its calendar had due: its answer comes after that.
    let told = asleep.ask("<transactions id=\"1\"><cancel id=\"77\"/></transactions>");
    assert!(told.contains("<error"), "{told}");
    settle(&nodes);
    assert_eq!((phase(awake), phase(asleep)), ("halted".to_owned(), "halted".to_owned()));
    stop_and_compare(&folder, nodes, |number| launch(number).start());
}

/// A node's first message has the time of its start, and what its calendar had due before that once was left out.
#[test]
fn what_a_calendar_had_due_while_no_node_ran_is_done_at_a_start() {
    let folder = Folder::new("cluster-calendar");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let calendar = folder.path().join("calendar");
    let launch = |line: &str| {
        std::fs::write(&calendar, line).unwrap();
        node(&folder, 1, &url).with(&format!("--calendar {}", calendar.display()))
    };
    let server = launch("# nothing\n").start();
    server.ask(CREATE);
    drop(server.stop());
    let missed = time_of_day(now() + 1);
    std::thread::sleep(Duration::from_millis(2_500));
    let server = launch(&format!("{missed} * auction\n")).start();
    wait_until("what was missed to be done", Duration::from_secs(30), || phase(&server) == "auction");
    put_into(&server, "open");
    drop(server.stop());
    let server = launch(&format!("{missed} * auction\n")).start();
    server.ask("<transactions id=\"1\"><cancel id=\"77\"/></transactions>");
    assert_eq!(phase(&server), "open", "once");
    drop(server.stop());
}

/// A node a minute ahead of the log once wrote hundreds of messages a second, each to end an order whose time had not
/// come.
#[test]
fn a_node_whose_clock_is_a_minute_ahead_asks_once_for_what_is_due() {
    let folder = Folder::new("cluster-ahead");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let load = format!("LD_PRELOAD={}", clock_library(folder.path()).display());
    let ahead = |launch: Launch| launch.through(&["env", &load, "JUMP_SECONDS=60"]);
    let start = |number: u16| match number {
        1 => node(&folder, number, &url).start(),
        _ => ahead(node(&folder, number, &url)).start(),
    };
    let nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, start(number))).collect();
    nodes[0].1.ask(CREATE);
    // Its clock jumps a second after its start.
    std::thread::sleep(Duration::from_millis(1_500));
    let until = (now() + 8) * 1_000_000;
    let order = json!({"account": "1", "symbol": "SPY", "side": "sell", "shares": "1", "limit": "10", "until": until});
    let placed = Http::new(nodes[0].1.http).post("/api/v1/orders", &order);
    assert_eq!(placed.status, 201, "{}", placed.text);
    settle(&nodes);
    let messages = || servers.state("market")["messages"].as_u64().unwrap();
    let before = messages();
    wait_until("the order ends", Duration::from_secs(60), || {
        let account = Http::new(nodes[0].1.http).read("/api/v1/accounts/1/orders?status=open");
        account["orders"].as_array().unwrap().is_empty()
    });
    assert!(now() * 1_000_000 >= until, "not before its time");
    // Each node asks once, and there may be messages with marks.
    let asked = messages() - before;
    assert!(asked < 60, "{asked} messages");
    stop_and_compare(&folder, nodes, start);
}
