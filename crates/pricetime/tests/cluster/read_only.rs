//! Nodes that only follow: they show everything that the others do, refuse changes, and leave no trace in the log.

use std::time::Duration;

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Launch;
use crate::common::wait::wait_until;

use super::log_servers::{LogServers, status};
use super::nodes::{CREATE, buy, node, sell, settle, stop_and_compare};

const REFUSAL: &str = "this server is read-only: nothing was changed; send it to a server of the cluster that is not";

#[test]
fn a_node_that_only_follows_shows_all_and_changes_nothing() {
    let folder = Folder::new("cluster-read-only");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let mut nodes = vec![(1, node(&folder, 1, &url).start())];
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    nodes[0].1.ask(&sell(1));
    nodes[0].1.ask(&buy(1));
    let before = servers.state("market")["last_seq"].as_u64().unwrap();
    let keys = KeyFile::new(&folder);
    let reader = node(&folder, 2, &url).with("--read-only").with(&format!("--keys {}", keys.path.display()));
    nodes.push((2, reader.start()));
    settle(&nodes);
    let follower = &nodes[1].1;
    assert!(follower.process.printed.contains("read-only  it follows the log"), "{}", follower.process.printed);
    // No other process can be node 2 then, nor node 1.
    for taken in [1, 2] {
        let other = Launch::new(&folder.path().join(format!("other-{taken}")));
        let other = other.with(&format!("--store {url} --node {taken} --read-only")).try_start();
        let said = other.err().expect("it does not start").stderr;
        assert!(said.contains(&format!("another process answers as node {taken}")), "{said}");
    }
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    assert_eq!(follower.ask(query), nodes[0].1.ask(query));
    assert!(follower.ask(query).contains("<executed shares=\"1\" price=\"10\""));
    // Changes are refused, over every protocol, and do not reach the log.
    let cancel = "<transactions id=\"1\"><cancel id=\"1\"/></transactions>".to_owned();
    let create = "<create><account id=\"3\" balance=\"1\"/></create>".to_owned();
    let protect = "<transactions id=\"1\"><protect grace=\"5s\"/></transactions>".to_owned();
    for request in [sell(2), cancel, create, protect] {
        let refused = follower.ask(&request);
        assert!(refused.contains(REFUSAL), "{request}: {refused}");
    }
    let http = Http::new(follower.http);
    let refused = http.post("/api/v1/accounts", &json!({"account": "3", "balance": "1"}));
    assert_eq!(refused.code(), (503, "read-only-node"));
    let order = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";
    let refused = keys.send(&http, "POST", "order", order);
    assert_eq!((refused.status, &refused.body), (503, &json!({"code": -1001, "msg": REFUSAL})));
    // A mark may have been before one of the first messages. Then node 1 states its state, at any time.
    let written = servers.written_behind("market", before);
    assert!(written.iter().all(|written| *written == (1, 0)), "a node that only follows wrote: {written:?}");
    let ready = http.get("/ready");
    assert!(ready.status == 200 && ready.text.contains("\"read-only\""), "{}", ready.text);
    // The node follows new messages, also in the feed, and compares its state without a vote.
    let mut round = 10;
    wait_until("the follower has compared its state", Duration::from_secs(60), || {
        round += 1;
        nodes[0].1.ask(&sell(round));
        let (told, is_well) = status(&url);
        let line = told.lines().find(|line| line.contains(" read-only "));
        is_well && line.is_some_and(|line| line.contains(": 1 have ") && line.ends_with(", 0 other"))
    });
    settle(&nodes);
    let trades = |at: usize| Http::new(nodes[at].1.http).read("/api/v1/symbols/SPY/trades")["trades"].clone();
    assert_eq!(trades(1), trades(0));
    assert_eq!(trades(1).as_array().map(Vec::len), Some(1));
    // The others go on without it, and it returns as a node that trades.
    drop(nodes.pop().unwrap().1.stop());
    assert!(status(&url).1);
    nodes.push((2, node(&folder, 2, &url).start()));
    assert!(nodes[1].1.ask(&sell(3)).contains("<opened"));
    stop_and_compare(&folder, nodes, |number| node(&folder, number, &url).start());
}

#[test]
fn a_server_of_its_own_has_nobody_to_follow() {
    let folder = Folder::new("read-only-alone");
    let refused = Launch::new(&folder.path().join("alone")).with("--read-only").try_start();
    let said = refused.err().expect("it does not start").stderr;
    assert!(said.contains("read-only follows a log that other servers write to"), "{said}");
}
