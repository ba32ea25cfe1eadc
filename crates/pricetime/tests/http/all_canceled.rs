//! An account whose many open orders are canceled at once, and those who follow it: nobody is disconnected for what one command did.

use serde_json::json;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;

const ORDERS: usize = 100_000;

#[test]
fn who_follows_an_account_is_told_that_all_its_orders_are_canceled() {
    let folder = Folder::new("all-canceled");
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"100000000\"/><symbol sym=\"SPY\"/></create>");
    let mut client = server.client();
    let order = "<order sym=\"SPY\" amount=\"1\" limit=\"1.5\"/>";
    for _ in 0..ORDERS / 5_000 {
        let reply = client.ask(&format!("<transactions id=\"1\">{}</transactions>", order.repeat(5_000)));
        assert!(!reply.contains("<error"));
    }
    let http = Http::new(server.http);
    let through = || http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    let (mut updates, mut reports, mut copy) = (http.listen(), http.listen(), http.listen());
    updates.send(&json!({"op": "subscribe", "channel": "orders", "account": "1"}));
    assert_eq!(updates.next_of("snapshot", "orders")["orders"].as_array().unwrap().len(), ORDERS);
    reports.send(&json!({"op": "subscribe", "channel": "orders", "account": "1", "from": through()}));
    copy.send(&json!({"op": "subscribe", "channel": "drop-copy", "accounts": ["1"], "from": through()}));
    for socket in [&mut reports, &mut copy] {
        assert_eq!(socket.next()["type"], "subscribed");
    }
    let reply = client.ask("<transactions id=\"1\"><cancel-all/></transactions>");
    assert!(reply.contains(&format!("orders=\"{ORDERS}\"")), "{reply}");
    // More happens while much waits.
    for _ in 0..20 {
        client.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    }
    let mut canceled = 0;
    while canceled < ORDERS {
        let told = updates.next_of("update", "orders");
        let orders = told["orders"].as_array().unwrap();
        canceled += orders.iter().filter(|order| order["canceled"] == "1").count();
    }
    for (socket, channel) in [(&mut reports, "orders"), (&mut copy, "drop-copy")] {
        let mut canceled = 0;
        while canceled < ORDERS {
            let told = socket.next_of("reports", channel);
            let its = told["reports"].as_array().unwrap().iter();
            let kind = |told: &serde_json::Value| {
                told.get("report").filter(|its| its.is_object()).unwrap_or(told)["report"].clone()
            };
            canceled += its.filter(|told| kind(told) == "canceled").count();
        }
    }
    server.stop();
}
