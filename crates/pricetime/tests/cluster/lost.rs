//! The loss of the whole log while nodes serve.

use std::path::Path;
use std::time::Duration;

use crate::common::client::NoReply;
use crate::common::folder::Folder;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;

use super::log_servers::LogServers;
use super::nodes::{CREATE, node, sell, settle};

/// Nodes without requests once went on for ever, and said that they were ready.
#[test]
fn nodes_notice_that_the_log_is_lost_and_end() {
    let folder = Folder::new("cluster-lost");
    let servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let mut nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, node(&folder, number, &url).start())).collect();
    nodes[0].1.ask(CREATE);
    nodes[1].1.ask(&sell(1));
    settle(&nodes);
    servers.lose("market");
    for (number, node) in &mut nodes {
        let ended = node.process.wait_for_end(PATIENCE);
        let why = "the log is not there any more: it is lost. Its commands are in this node's journal";
        assert!(ended.stderr.contains(why), "node {number}: {ended:?}");
    }
}

/// The files of a folder that only a market has.
fn remove_journal_and_snapshots(data: &Path) {
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("journal-") || name.starts_with("snapshot-") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// A node whose journal was lost failed at every start on the history that was left, while the log had all of it.
#[test]
fn a_node_whose_journal_is_lost_begins_again_with_the_log_and_keeps_its_old_history() {
    let folder = Folder::new("cluster-journal-lost");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let data = folder.path().join("node-1");
    let first = node(&folder, 1, &url).start();
    first.ask(CREATE);
    let opened = first.ask(&sell(1));
    assert!(opened.contains("<opened"), "{opened}");
    first.stop();
    remove_journal_and_snapshots(&data);
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    let again = node(&folder, 1, &url).start();
    assert!(again.ask(query).contains("<open shares=\"1\""), "{}", again.ask(query));
    let told = again.stop();
    let kept = std::fs::read_dir(folder.path().join("node-1")).unwrap().map(|entry| entry.unwrap().file_name());
    let kept: Vec<String> = kept.filter_map(|name| name.into_string().ok()).collect();
    assert!(kept.iter().any(|name| name.starts_with("history-through-")), "{kept:?} {told:?}");
    // Without its log the folder is refused, and so is one beside a log that knows nothing of its market.
    remove_journal_and_snapshots(&data);
    for launch in [Launch::new(&data), node(&folder, 1, &servers.create("other", 1))] {
        let refused = launch.try_start().err().expect("it does not start").stderr;
        assert!(refused.contains("the market itself is gone"), "{refused}");
    }
}

/// The node once stayed `store-away` for ever.
#[test]
fn a_node_whose_log_lost_its_majority_says_so_and_is_ready_when_it_is_back() {
    let folder = Folder::new("cluster-majority");
    let mut servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let node = node(&folder, 1, &url).with("--store-patience 2s").start();
    node.ask(CREATE);
    // The node may be connected with the remaining server, or connects to it.
    servers.kill(1);
    servers.kill(2);
    wait_until("the node says that its log is away", Duration::from_secs(60), || {
        node.readiness().contains("store-away")
    });
    // No request is under way, and the first client that asks gets an answer, too.
    let refused = node.ask(&sell(1));
    assert!(refused.contains("the server's store is away: nothing was changed"), "{refused}");
    let query = node.ask("<transactions id=\"1\"><query id=\"1\"/></transactions>");
    assert!(query.contains("<error id=\"1\">") && !query.contains("store is away"), "what is known is told: {query}");
    servers.restart(1);
    servers.restart(2);
    wait_until("the node is ready", Duration::from_secs(60), || node.readiness().contains("\"ok\""));
    let answered = node.ask(&sell(1));
    assert!(answered.contains("<opened"), "{answered}");
    // The same happens if a request was under way when the majority was lost: its outcome is unknown, and it is done.
    servers.kill(1);
    servers.kill(2);
    let mut client = node.client();
    client.send_request(&sell(2)).unwrap();
    wait_until("the node says so again", Duration::from_secs(60), || node.readiness().contains("store-away"));
    assert!(matches!(client.reply(), Err(NoReply::Closed { .. })));
    servers.restart(1);
    servers.restart(2);
    // It is ready when its turn goes on, not as soon as the log answers.
    wait_until("the node is ready again", Duration::from_secs(60), || node.readiness().contains("\"ok\""));
    let answered = node.ask(&sell(2));
    assert!(answered.contains("<opened") && answered.contains("id=\"2\""), "{answered}");
    node.stop();
}
