//! Refusals of a node to start, and features that a cluster does not offer.

use std::process::Command;

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;

use super::log_servers::{LogServers, create};

fn refusal(launch: &Launch) -> String {
    launch.try_start().err().expect("it does not start").stderr
}

#[test]
fn a_node_says_what_keeps_it_from_starting() {
    let folder = Folder::new("cluster-refusals");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let again = create(&url, 1).unwrap_err();
    assert!(again.contains("is there already, and is left as it is"), "{again}");
    let launch = |data: &str, url: &str, node: u16| {
        Launch::new(&folder.path().join(data)).with(&format!("--store {url} --node {node}"))
    };
    let missing = refusal(&launch("none", &servers.url("other"), 1));
    assert!(missing.contains("other is not there") && missing.contains("pricetime cluster create"), "{missing}");
    let zero = refusal(&launch("zero", &url, 0));
    assert!(zero.contains("node is 0; at least 1"), "{zero}");
    let wrong = refusal(&launch("wrong", "nats://127.0.0.1:1/a.b", 1));
    assert!(wrong.contains("a name of other than 1 to 32 letters"), "{wrong}");
    let alone = Launch::new(&folder.path().join("alone"));
    let server = alone.start();
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    drop(server.stop());
    let not_a_node = refusal(&launch("alone", &url, 1));
    assert!(not_a_node.contains("the data folder is of a server without a cluster"), "{not_a_node}");
    // A node's folder is for no other server, and its number for no other process.
    let mut first = launch("first", &url, 1).start();
    let protect = first.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    assert!(protect.contains("created"), "{protect}");
    let protect = first.ask("<transactions id=\"1\"><protect grace=\"5s\"/></transactions>");
    assert!(protect.contains("cancel on disconnect is not offered by a cluster"), "{protect}");
    let http = Http::new(first.http);
    let issue = |body| http.post("/api/v1/symbols/SPY/shares", &body);
    let refused = issue(json!({"account": "1", "shares": "1", "expected_issued": "0"}));
    assert_eq!(refused.code(), (422, "not-in-a-cluster"), "{}", refused.text);
    assert_eq!(http.get("/api/v1/symbols/SPY").code(), (404, "unknown-symbol"));
    assert_eq!(issue(json!({"account": "1", "shares": "1"})).status, 201);
    let second = launch("second", &url, 1).start();
    let ended = first.process.wait_for_end(crate::common::server::PATIENCE);
    assert!(ended.stderr.contains("another process runs as node 1"), "{}", ended.stderr);
    drop(second.stop());
    // The refusal comes before any question to the database: here there is none.
    let mut import = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    import.args(["store", "import"]).arg(folder.path().join("second")).arg("postgres://nobody@127.0.0.1:1/none");
    let import = import.output().unwrap();
    let said = String::from_utf8_lossy(&import.stderr);
    assert!(!import.status.success() && said.contains("is the data folder of a node of a cluster"), "{said}");
    let left = refusal(&Launch::new(&folder.path().join("second")));
    assert!(left.contains("the data folder is that of a node of a cluster"), "{left}");
}
