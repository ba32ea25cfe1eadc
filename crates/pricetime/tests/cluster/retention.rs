//! The log's retention, and nodes that begin where the log does not reach back to the beginning.

use std::process::Command;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

use super::log_servers::{LogServers, cluster, status};
use super::nodes::{CREATE, buy, hash, node, sell, settle, stop_and_compare};

/// The number of messages before a mark that are kept in any case.
const WINDOW: usize = 10_000;

#[test]
fn the_log_forgets_what_two_nodes_have_and_a_new_one_begins_with_a_copy() {
    let folder = Folder::new("cluster-retention");
    let servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(|number| (number, node(&folder, number, &url).start())).collect();
    nodes[0].1.ask(CREATE);
    (0..20).for_each(|round| drop(nodes[1].1.ask(&sell(round))));
    (0..10).for_each(|round| drop(nodes[2].1.ask(&buy(round))));
    settle(&nodes);
    let (away, stopped) = nodes.pop().unwrap();
    drop(stopped.stop());
    servers.repeat_first("market", WINDOW + 500);
    let mut round = 100;
    wait_until("the log forgets its beginning", Duration::from_secs(60), || {
        round += 1;
        nodes[round as usize % 2].1.ask(&sell(round));
        servers.state("market")["first_seq"].as_u64().unwrap() > 40
    });
    // A node that was away for too long says so, and one with nothing begins with a copy: it knows the earlier market,
    // and goes on.
    let away = node(&folder, away, &url).try_start().err().expect("it does not start").stderr;
    assert!(away.contains("start it with an empty folder, and it gets a copy of another node's"), "{away}");
    // The log forgets after a second here, and so, on a busy machine, also messages after the copy while it is made. A
    // history without a journal in the folder does not hinder the node, and is kept.
    let leave = || {
        std::fs::create_dir_all(folder.path().join("node-4/history")).unwrap();
        std::fs::write(folder.path().join("node-4/history/orders"), "of before").unwrap();
    };
    let mut tries = (0..10).map(|_| {
        leave();
        node(&folder, 4, &url).try_start().inspect_err(|ended| {
            assert!(ended.stderr.contains("the log begins at message "), "{}", ended.stderr);
            std::fs::remove_dir_all(folder.path().join("node-4")).unwrap();
        })
    });
    let joined = tries.find_map(Result::ok).expect("a copy that is not too old");
    let kept = std::fs::read_to_string(folder.path().join("node-4/history-through-0/orders"));
    assert_eq!(kept.unwrap(), "of before");
    let query = "<transactions id=\"1\"><query id=\"1\"/><query id=\"20\"/></transactions>";
    let told = joined.ask(query);
    assert!(told.contains("<executed shares=\"1\" price=\"10\"") && told.contains("<open shares=\"1\""), "{told}");
    let again = joined.ask(&buy(3));
    assert!(again.contains("id=\"24\""), "a client order id stands for its order on every node: {again}");
    joined.ask(&sell(1_000));
    nodes.push((4, joined));
    // A backup of the cluster does the same, and is like any other node's folder: its node starts, unless the log has
    // forgotten what came behind it meanwhile.
    let mut tries = (0..10).map(|number| {
        let copy = folder.path().join(format!("copy-{number}"));
        let backup = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["backup", &url]).arg(&copy).output().unwrap();
        let said = String::from_utf8_lossy(&backup.stdout);
        let failed = String::from_utf8_lossy(&backup.stderr);
        assert!(backup.status.success() && said.contains("sound at command"), "{said}{failed}");
        assert_eq!(hash(&copy).len(), 16);
        Launch::new(&copy).with(&format!("--store {url} --node 5")).try_start().inspect_err(|ended| {
            assert!(ended.stderr.contains("the log begins at message "), "{}", ended.stderr);
        })
    });
    let restored = tries.find_map(Result::ok).expect("a backup that is not too old");
    assert!(restored.ask(query).contains("<executed shares=\"1\" price=\"10\""));
    drop(restored.stop());
    let given = folder.path().join("node-1/copy-for-a-node");
    wait_until("copies are removed", Duration::from_secs(20), || !given.exists());
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
}

/// Each node once remembered in memory alone on which marks nodes had agreed: where all nodes started anew more often
/// than messages were kept, the log forgot nothing.
#[test]
fn the_log_forgets_where_nodes_start_anew_more_often_than_messages_get_old() {
    let folder = Folder::new("cluster-retention-starts");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.url("market");
    let words = ["--replicas", "1", "--marks-every", "1s", "--keep", "15s"];
    wait_until("the log is made", Duration::from_secs(60), || {
        cluster(&[&["create", "--store", &url], &words[..]].concat()).is_ok()
    });
    let start =
        || -> Vec<(u16, Server)> { (1..=2).map(|number| (number, node(&folder, number, &url).start())).collect() };
    let mut nodes = start();
    nodes[0].1.ask(CREATE);
    servers.repeat_first("market", WINDOW + 500);
    let mut round = 0;
    wait_until("the log forgets its beginning", Duration::from_secs(120), || {
        // Some marks, on which both nodes agree.
        for _ in 0..8 {
            round += 1;
            nodes[round as usize % 2].1.ask(&sell(round));
            std::thread::sleep(Duration::from_millis(400));
        }
        std::mem::take(&mut nodes).into_iter().for_each(|(_, server)| drop(server.stop()));
        nodes = start();
        servers.state("market")["first_seq"].as_u64().unwrap() > 40
    });
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
}

/// The first mark behind a stop that was longer than messages are kept once forgot what a node that started a little
/// later than the others still needed.
#[test]
fn a_node_that_starts_later_than_others_behind_a_long_stop_finds_what_it_needs() {
    let folder = Folder::new("cluster-retention-stop");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.url("market");
    let words = ["--replicas", "1", "--marks-every", "1s", "--keep", "60s"];
    wait_until("the log is made", Duration::from_secs(60), || {
        cluster(&[&["create", "--store", &url], &words[..]].concat()).is_ok()
    });
    let start = |number: u16| (number, node(&folder, number, &url).start());
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(start).collect();
    nodes[0].1.ask(CREATE);
    settle(&nodes);
    drop(nodes.pop());
    servers.repeat_first("market", WINDOW + 500);
    nodes.into_iter().for_each(|(_, server)| drop(server.stop()));
    std::thread::sleep(Duration::from_secs(61));
    // Messages are kept for half a minute more.
    let mut nodes: Vec<(u16, Server)> = (1..=2).map(start).collect();
    let mut round = 0;
    let mut trade = |nodes: &[(u16, Server)]| {
        round += 1;
        nodes[round as usize % 2].1.ask(&sell(round));
    };
    wait_until("the nodes agree on a mark", Duration::from_secs(25), || {
        trade(&nodes);
        status(&url).0.matches(": 2 have ").count() == 2
    });
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(servers.state("market")["first_seq"], 1);
    nodes.push(start(3));
    wait_until("the log forgets its beginning", Duration::from_secs(90), || {
        trade(&nodes);
        servers.state("market")["first_seq"].as_u64().unwrap() > 40
    });
    stop_and_compare(&folder, nodes, |number| start(number).1);
}
