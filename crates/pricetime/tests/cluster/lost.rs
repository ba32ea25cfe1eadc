//! The loss of the whole log while nodes serve.

use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::server::{PATIENCE, Server};
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
    // The same happens if a request was under way when the majority was lost.
    servers.kill(1);
    servers.kill(2);
    let mut client = node.client();
    client.send_request(&sell(2)).unwrap();
    wait_until("the node says so again", Duration::from_secs(60), || node.readiness().contains("store-away"));
    servers.restart(1);
    servers.restart(2);
    let answered = client.reply().unwrap();
    assert!(answered.contains("<opened"), "{answered}");
    wait_until("the node is ready again", Duration::from_secs(60), || node.readiness().contains("\"ok\""));
    node.stop();
}
