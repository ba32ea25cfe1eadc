//! The callers of commands are in the log, and so in the journal of every node.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Server;

use super::log_servers::LogServers;
use super::nodes::{CREATE, buy, node, sell, settle};

/// The commands of a folder's journal, with their callers.
pub fn dump(folder: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    let ran = command.args(["journal", "dump", "--format", "json"]).arg(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The commands with these words.
pub fn told_as<'a>(dumped: &'a [Value], what: &str) -> Vec<&'a Value> {
    dumped.iter().filter(|line| line["what"].as_str().unwrap().starts_with(what)).collect()
}

#[test]
fn every_node_knows_whose_the_commands_of_all_are() {
    let folder = Folder::new("cluster-audit");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let start = |number| (number, node(&folder, number, &url).with("--audit").start());
    let nodes: Vec<(u16, Server)> = (1..=2).map(start).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    assert!(nodes[0].1.ask(&sell(1)).contains("<opened"));
    assert!(nodes[1].1.ask(&buy(1)).contains("<opened"));
    let placed = Http::new(nodes[1].1.http).post(
        "/api/v1/orders",
        &serde_json::json!({"account": "1", "symbol": "SPY", "side": "sell", "limit": "12", "shares": "1"}),
    );
    assert_eq!(placed.status, 201, "{}", placed.text);
    settle(&nodes);
    nodes.into_iter().for_each(|(_, server)| drop(server.stop()));
    // A node that reads all of the log has them, too.
    let (_, late) = (3, node(&folder, 3, &url).start());
    assert!(late.ask("<transactions id=\"1\"><query id=\"1\"/></transactions>").contains("executed"));
    drop(late.stop());
    let dumped = [1, 2, 3].map(|number| dump(&folder.path().join(format!("node-{number}"))));
    let asked = |dumped: &Vec<Value>| -> Vec<Value> {
        let orders = told_as(dumped, "order of account").into_iter();
        orders
            .map(|line| serde_json::json!([line["by"]["protocol"], line["by"]["session"], line["by"]["address"]]))
            .collect()
    };
    let first = asked(&dumped[0]);
    assert_eq!(first.len(), 3, "{:?}", dumped[0]);
    assert_eq!([&first[0][0], &first[1][0], &first[2][0]], ["xml", "xml", "rest"], "{first:?}");
    assert!(first.iter().all(|by| by[2] == "127.0.0.1" && by[1].as_u64().is_some_and(|session| session > 0)));
    assert_ne!(first[0][1], first[1][1]);
    dumped.iter().for_each(|other| assert_eq!(asked(other), first));
    let taken = told_as(&dumped[1], "take message");
    assert!(taken.len() > 3 && taken.iter().all(|line| line["by"]["protocol"].is_null()), "{taken:?}");
}
