//! A lost log, and a log that replaces it.

use crate::common::folder::Folder;
use crate::common::server::Server;

use super::log_servers::{LogServers, cluster};
use super::nodes::{CREATE, buy, node, sell, settle, stop_and_compare};

#[test]
fn a_log_that_is_lost_is_stood_in_for_by_what_the_nodes_have() {
    let folder = Folder::new("cluster-recovery");
    let servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let mut nodes: Vec<(u16, Server)> = (1..=3).map(|number| (number, node(&folder, number, &url).start())).collect();
    nodes[0].1.ask(CREATE);
    (0..20).for_each(|round| drop(nodes[1].1.ask(&sell(round))));
    settle(&nodes);
    // One node has less than the others.
    drop(nodes.remove(0).1.stop());
    (0..10).for_each(|round| drop(nodes[1].1.ask(&buy(round))));
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
    servers.lose("market");
    let lost = node(&folder, 2, &url).try_start().err().expect("it does not start").stderr;
    assert!(lost.contains("market is not there") && lost.contains("it is lost (docs/CLUSTER.md)"), "{lost}");
    let other = servers.url("market-2");
    let data = |number: u16| folder.path().join(format!("node-{number}")).to_str().unwrap().to_owned();
    let said = cluster(&["recover", "--store", &other, "--data", &data(2), "--marks-every", "1s"]).unwrap();
    assert!(said.contains("goes on behind message ") && said.contains("of the lost one: command "), "{said}");
    let again = cluster(&["recover", "--store", &other, "--data", &data(2)]).unwrap_err();
    assert!(again.contains("is there already"), "{again}");
    // The nodes that have all of it go on.
    let mut nodes: Vec<(u16, Server)> = [2, 3].map(|number| (number, node(&folder, number, &other).start())).into();
    let query = "<transactions id=\"1\"><query id=\"1\"/><query id=\"11\"/></transactions>";
    let told = nodes[0].1.ask(query);
    assert!(told.contains("<executed shares=\"1\" price=\"10\"") && told.contains("<open shares=\"1\""), "{told}");
    nodes[1].1.ask(&sell(100));
    // The node that has less begins with a copy.
    let less = node(&folder, 1, &other).try_start().err().expect("it does not start").stderr;
    assert!(less.contains("start it with an empty folder"), "{less}");
    std::fs::rename(data(1), data(9)).unwrap();
    nodes.push((1, node(&folder, 1, &other).start()));
    assert!(nodes[2].1.ask(&sell(101)).contains("<opened"));
    // The same holds after another start, when each has taken messages of the new log.
    settle(&nodes);
    drop(nodes.remove(0).1.stop());
    nodes.push((2, node(&folder, 2, &other).start()));
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &other).start());
}
