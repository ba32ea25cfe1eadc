//! A client that moves from one node to another finds everything that it learnt before.

use std::time::Instant;

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Server;

use super::log_servers::LogServers;
use super::nodes::{CREATE, node, settle};

#[test]
fn an_answer_is_as_new_as_what_another_node_told() {
    let folder = Folder::new("cluster-recency");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let nodes: Vec<(u16, Server)> = (1..=3).map(|number| (number, node(&folder, number, &url).start())).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    settle(&nodes);
    let clients: Vec<Http> = nodes.iter().map(|(_, server)| Http::new(server.http)).collect();
    for turn in 0..100 {
        let (writes, reads) = (&clients[turn % 3], &clients[(turn + 1) % 3]);
        let order = json!({"account": "1", "symbol": "SPY", "side": "sell", "limit": "10", "shares": "1", "client_order_id": turn.to_string()});
        writes.make("/api/v1/orders", &order);
        let (_, headers) = writes.head("/api/v1/accounts/1", &[]);
        let told = headers["pricetime-sequence"].to_str().unwrap().to_owned();
        let path = format!("/api/v1/orders/by-client-id/{turn}?account=1");
        let read = reads.send("GET", &path, None, &[("pricetime-at-least", &told)]);
        assert_eq!((read.status, &read.body["status"]), (200, &json!("open")), "{}", read.text);
    }
    let begun = Instant::now();
    let far = clients[0].send("GET", "/api/v1/accounts/1", None, &[("pricetime-at-least", "18446744073709551615")]);
    assert_eq!(far.code(), (503, "behind"), "{}", far.text);
    assert!(
        begun.elapsed().as_secs() >= 2 && far.text.contains("command 18446744073709551615 was asked for"),
        "{}",
        far.text
    );
    for wrong in ["", "-1", "+1", "1.5", "18446744073709551616", "1, 2"] {
        let refused = clients[0].send("GET", "/api/v1/accounts/1", None, &[("pricetime-at-least", wrong)]);
        assert_eq!(
            (refused.code(), &refused.body["field"]),
            ((400, "malformed"), &json!("pricetime-at-least")),
            "{wrong}"
        );
    }
    // The compatible interface refuses in its own words, and questions about the server itself never wait.
    let far = [("pricetime-at-least", "18446744073709551615")];
    assert_eq!(clients[0].send("GET", "/binance/api/v3/depth?symbol=SPY", None, &far).status, 503);
    assert_eq!(clients[0].send("GET", "/api/v1/status", None, &far).status, 200);
}

/// See docs/CLUSTER.md.
#[test]
fn behind_a_command_over_xml_a_query_is_as_new_as_what_another_node_told() {
    let folder = Folder::new("cluster-recency-xml");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let nodes: Vec<(u16, Server)> = (1..=2).map(|number| (number, node(&folder, number, &url).start())).collect();
    assert!(nodes[0].1.ask(CREATE).contains("created"));
    settle(&nodes);
    for turn in 0..50 {
        let (writes, reads) = (&nodes[turn % 2].1, &nodes[(turn + 1) % 2].1);
        let opened = writes.ask(r#"<transactions id="1"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
        let id = opened.split(" id=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it is opened");
        // There is nothing to cancel: the refusal has its place in the log all the same.
        let asked = format!(r#"<transactions id="1"><cancel id="999999999"/><query id="{id}"/></transactions>"#);
        let told = reads.ask(&asked);
        assert!(told.contains("<error") && told.contains(&format!(r#"<status id="{id}"><open shares="#)), "{told}");
    }
}
