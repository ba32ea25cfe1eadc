//! Nodes that join, trade, die and return.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server, state_of};
use crate::common::wait::wait_until;

use super::log_servers::{LogServers, status};

/// The number of times that nodes are stopped until all have stopped at the same message.
pub const STOPS: usize = 10;

pub fn node(folder: &Folder, number: u16, url: &str) -> Launch {
    Launch::new(&folder.path().join(format!("node-{number}"))).with(&format!("--store {url} --node {number}"))
}

/// The state hash of a node's folder.
pub fn hash(folder: &Path) -> String {
    state_of(folder)["state_hash"].as_str().unwrap().to_owned()
}

/// Waits until all have taken everything that one of them has answered.
pub fn settle(nodes: &[(u16, Server)]) {
    let sequence = |(_, node): &(u16, Server)| Http::new(node.http).read("/api/v1/status")["sequence"].clone();
    wait_until("all nodes stand where the first does", Duration::from_secs(30), || {
        let first = sequence(&nodes[0]);
        nodes.iter().all(|node| sequence(node) == first)
    });
}

/// Stops all nodes and compares their states. A statement at a mark that a node writes while others stop is in its own
/// state alone: then all start again, and stop again.
/// then all start again, and stop again.
pub fn stop_and_compare(folder: &Folder, mut nodes: Vec<(u16, Server)>, start: impl Fn(u16) -> Server) {
    let numbers: Vec<u16> = nodes.iter().map(|(number, _)| *number).collect();
    for _ in 0..STOPS {
        settle(&nodes);
        thread::scope(|scope| {
            for (_, server) in nodes {
                scope.spawn(move || drop(server.stop()));
            }
        });
        let states: Vec<Value> =
            numbers.iter().map(|number| state_of(&folder.path().join(format!("node-{number}")))).collect();
        let all = |field: &str| states.iter().all(|state| state[field] == states[0][field]);
        if all("log_message") {
            assert!(all("state_hash"), "{states:?}");
            return;
        }
        nodes = numbers.iter().map(|number| (*number, start(*number))).collect();
    }
    panic!("nodes that stop together stop at different messages, {STOPS} times");
}

pub const CREATE: &str = "<create><account id=\"1\" balance=\"1000000\"/><account id=\"2\" balance=\"1000000\"/>\
                      <symbol sym=\"SPY\"><account id=\"1\">10000</account></symbol></create>";

pub fn sell(client: u32) -> String {
    format!(
        "<transactions id=\"1\"><order sym=\"SPY\" amount=\"-1\" limit=\"10\" client-id=\"sell-{client}\"/></transactions>"
    )
}

pub fn buy(client: u32) -> String {
    format!(
        "<transactions id=\"2\"><order sym=\"SPY\" amount=\"1\" limit=\"10\" client-id=\"buy-{client}\"/></transactions>"
    )
}

#[test]
fn what_one_node_answers_all_do_and_a_new_one_catches_up() {
    let folder = Folder::new("cluster-nodes");
    let servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(|number| (number, node(&folder, number, &url).start())).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    assert!(nodes[1].1.ask(&sell(1)).contains("<opened"));
    let bought = nodes[2].1.ask(&buy(1));
    assert!(bought.contains("<opened"), "{bought}");
    // Node 1 knows the order that node 3 executed by the same id.
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    wait_until("node 1 has taken it", Duration::from_secs(10), || {
        nodes[0].1.ask(query).contains("<executed shares=\"1\" price=\"10\"")
    });
    let again = nodes[0].1.ask(&buy(1));
    assert!(again.contains("id=\"2\""), "a client order id stands for its order on every node: {again}");
    for round in 2..40 {
        let at = round as usize % 3;
        nodes[at].1.ask(&sell(round));
        nodes[(at + 1) % 3].1.ask(&buy(round));
    }
    nodes.push((4, node(&folder, 4, &url).start()));
    assert!(nodes[3].1.ask(query).contains("<executed shares=\"1\" price=\"10\""));
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
    let (told, is_well) = status(&url);
    assert!(!is_well, "no node answers: {told}");
}

#[test]
fn nodes_and_servers_of_the_log_are_killed_and_nothing_is_lost_or_done_twice() {
    let folder = Folder::new("cluster-kills");
    let mut servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    // A node's statement at a mark may be on its way when the log's leader dies, so more than the default time may pass
    // until requests are taken again.
    let start = |number| (number, node(&folder, number, &url).with("--store-patience 60s").start());
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(start).collect();
    nodes[0].1.ask(CREATE);
    let mut opened = 0;
    for round in 0..30 {
        let at = round as usize % nodes.len();
        opened += nodes[at].1.ask(&sell(round)).matches("<opened").count();
        if round == 8 {
            // A node dies, and the others go on at once.
            let (number, mut dead) = nodes.remove(1);
            dead.process.kill();
            opened += nodes[0].1.ask(&sell(1_000)).matches("<opened").count();
            nodes.push(start(number));
        }
        if round == 16 {
            servers.kill(0);
        }
    }
    assert_eq!(opened, 31);
    settle(&nodes);
    for (number, node) in &nodes {
        let listed = node.ask("<transactions id=\"1\"><query id=\"31\"/><query id=\"32\"/></transactions>");
        assert!(
            listed.contains("<open shares=\"1\"") && listed.contains("<error id=\"32\""),
            "node {number}: {listed}"
        );
    }
    stop_and_compare(&folder, nodes, |number| start(number).1);
}

#[test]
fn nodes_compare_their_states_and_say_how_they_are() {
    let folder = Folder::new("cluster-marks");
    let servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(|number| (number, node(&folder, number, &url).start())).collect();
    nodes[0].1.ask(CREATE);
    let mut round = 0;
    // A mark is before the first message of a second, and statements follow it.
    wait_until("all nodes have compared their states", Duration::from_secs(60), || {
        round += 1;
        nodes[round as usize % 3].1.ask(&sell(round));
        let (told, is_well) = status(&url);
        is_well && told.matches(": 3 have ").count() == 3
    });
    settle(&nodes);
    let (told, _) = status(&url);
    assert!(told.contains("leader     log-") && told.matches(", has all of it").count() == 2, "{told}");
    assert_eq!(told.matches(" ready ").count(), 3, "{told}");
    let mut metrics = String::new();
    let figure = |metrics: &str, name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not told: {metrics}")).parse::<f64>().unwrap()
    };
    // The last order may have begun another second, whose statements are still on their way.
    wait_until("a node has what all say of the last mark", Duration::from_secs(60), || {
        metrics = Http::new(nodes[1].1.http).get("/metrics").text;
        figure(&metrics, "pricetime_log_states_same") == 3.0
    });
    let figure = |name: &str| figure(&metrics, name);
    assert_eq!(figure("pricetime_log_epoch"), 1.0);
    assert_eq!(figure("pricetime_log_taken_messages"), figure("pricetime_log_end_messages"));
    assert_eq!(figure("pricetime_log_states_other"), 0.0);
    // The others report a node that is away.
    let (number, mut dead) = nodes.pop().unwrap();
    dead.process.kill();
    let (told, is_well) = status(&url);
    assert!(!is_well && told.contains(&format!("{number:>5}  no answer; its last message is ")), "{told}");
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
}
