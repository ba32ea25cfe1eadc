//! A cancel of all open orders over REST, the compatible interface and its WebSocket: it is one command, and all of its
//! effects are told.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol>
    <symbol sym="QQQ"><account id="1">100</account></symbol></create>"#;

/// Three orders of SPY, two of which cancel each other, one order of QQQ, and one of another account.
const ORDERS: &str = r#"<transactions id="1"><order sym="SPY" amount="10" limit="4"/>
    <oco><order sym="SPY" amount="-5" limit="6" post-only="true"/><order sym="SPY" amount="-5" type="market" stop="3"/></oco>
    <order sym="QQQ" amount="-1" limit="9"/></transactions>"#;
const OTHERS: &str = r#"<transactions id="2"><order sym="SPY" amount="1" limit="2"/></transactions>"#;

fn numbers(orders: &Value, name: &str) -> Vec<u64> {
    orders.as_array().unwrap().iter().map(|order| order[name].as_u64().unwrap()).collect()
}

/// A cancel of all orders once was a sequence of single cancels: other commands could come between them, and a crash
/// left some orders open. And if one order's cancel canceled another one, only one of the two was told.
#[test]
fn all_orders_are_canceled_by_one_command_and_each_is_told() {
    let folder = Folder::new("cancel-all");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let sequence = || http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    server.ask(ORDERS);
    server.ask(OTHERS);
    let before = sequence();
    let canceled = http.delete("/api/v1/accounts/1/orders?symbol=SPY").body;
    assert_eq!(sequence(), before + 1);
    assert_eq!(numbers(&canceled["canceled"], "order_id"), [3, 2, 1], "{canceled}");
    assert!(canceled["canceled"].as_array().unwrap().iter().all(|order| order["status"] == "canceled"), "{canceled}");
    server.ask(ORDERS);
    let before = sequence();
    let canceled = keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").body;
    assert_eq!(sequence(), before + 1);
    assert_eq!(numbers(&canceled, "orderId"), [8, 7, 6], "{canceled}");
    assert!(canceled.as_array().unwrap().iter().all(|order| order["status"] == "CANCELED"), "{canceled}");
    // A cancel for all symbols. When nothing is open, nothing is to be done.
    let before = sequence();
    let canceled = http.delete("/api/v1/accounts/1/orders").body;
    assert_eq!(numbers(&canceled["canceled"], "order_id"), [9, 4], "{canceled}");
    assert_eq!(http.delete("/api/v1/accounts/1/orders").body, json!({"canceled": []}));
    assert_eq!(keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").body["code"], -2011);
    assert_eq!(sequence(), before + 1);
    assert_eq!(http.read("/api/v1/accounts/1")["held"], "0");
    assert_eq!(http.read("/api/v1/accounts/2")["open_orders"], 1);
    server.stop();
}

/// A cancel of one symbol's orders once walked through all orders of the account that were placed since the symbol's
/// last one: 10,000 steps at five million. Here one of these is damaged, and a walk that far would meet it.
#[test]
fn a_cancel_of_a_symbol_does_not_walk_through_the_orders_of_others() {
    const OTHERS: usize = 600;
    const RECORD_BYTES: usize = 163;
    let folder = Folder::new("cancel-all-walk");
    let (server, _, keys) = KeyFile::serve(&folder, MARKET);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
    let both = r#"<order sym="QQQ" amount="-1" limit="1"/><order sym="QQQ" amount="1" limit="1"/>"#;
    server.ask(&format!("<transactions id=\"1\">{}</transactions>", both.repeat(OTHERS / 2)));
    server.stop();
    let orders = folder.data().join("history/orders-000000.tab");
    let mut bytes = std::fs::read(&orders).unwrap();
    // The second order of all.
    bytes[RECORD_BYTES + 10] ^= 1;
    std::fs::write(&orders, bytes).unwrap();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(http.get("/api/v1/orders/2?account=1").code(), (500, "record-damaged"));
    let canceled = http.delete("/api/v1/accounts/1/orders?symbol=SPY");
    assert_eq!((canceled.status, numbers(&canceled.body["canceled"], "order_id")), (200, vec![1]), "{}", canceled.text);
    server.stop();
}
