//! Nodes of one program after the other: what all of them know is written from the moment on in which somebody says so.

use std::time::Duration;

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::server::Server;
use crate::common::wait::wait_until;

use super::audit::{dump, told_as};
use super::log_servers::{LogServers, cluster, status};
use super::nodes::{CREATE, node, sell, settle, stop_and_compare};

#[test]
fn what_all_nodes_know_is_written_when_somebody_says_so() {
    let folder = Folder::new("cluster-upgrade");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.url("market");
    wait_until("the log is made", Duration::from_secs(20), || {
        cluster(&["create", "--store", &url, "--replicas", "1", "--rules", "2"]).is_ok()
    });
    let start = |number| node(&folder, number, &url).with("--audit").start();
    let mut nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, start(number))).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    let mut orders = 0;
    let mut sells = |server: &Server| {
        orders += 1;
        assert!(server.ask(&sell(orders)).contains("<opened"));
    };
    sells(&nodes[0].1);
    settle(&nodes);
    let told = status(&url).0;
    assert!(told.contains("written in version 2; all nodes know 4: pricetime cluster upgrade"), "{told}");

    // A node that does not answer may be one that does not know it.
    drop(nodes.pop().unwrap().1.stop());
    let refused = cluster(&["upgrade", "--store", &url]).unwrap_err();
    assert!(refused.contains("node 2 does not answer") && refused.contains("--gone 2"), "{refused}");
    assert!(status(&url).0.contains("written in version 2"));
    nodes.push((2, start(2)));
    let upgraded = cluster(&["upgrade", "--store", &url]).unwrap();
    assert!(upgraded.contains("version 4 from now on"), "{upgraded}");
    assert!(cluster(&["upgrade", "--store", &url]).unwrap().contains("version 4 already"));
    assert!(status(&url).0.contains("written in version 4\n"));

    // Both do so soon, without a restart. Of what was written before nobody says whose it is.
    let known = |number: u16| {
        let dumped = dump(&folder.path().join(format!("node-{number}")));
        told_as(&dumped, "order of account")
            .iter()
            .map(|line| line["by"]["protocol"].is_string())
            .collect::<Vec<bool>>()
    };
    wait_until("messages are of the new version", Duration::from_secs(20), || {
        nodes.iter().for_each(|(_, server)| sells(server));
        settle(&nodes);
        known(1).ends_with(&[true, true])
    });
    let (first, second) = (known(1), known(2));
    assert_eq!(first, second);
    assert!(!first[0], "{first:?}");

    stop_and_compare(&folder, nodes, start);
    // A program that does not know what is written does not begin.
    let mut config = servers.ask("$JS.API.STREAM.INFO.market", "")["config"].clone();
    config["metadata"]["pricetime-rules"] = json!("9");
    let updated = servers.ask("$JS.API.STREAM.UPDATE.market", &config.to_string());
    assert!(updated["error"].is_null(), "{updated}");
    let ended = node(&folder, 3, &url).spawn().wait_for_end(Duration::from_secs(20));
    assert!(ended.stderr.contains("has messages of version 9, and this program reads versions up to 4"), "{ended:?}");
}
