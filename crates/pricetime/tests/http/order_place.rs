//! The place of an order in its queue, and how long its answer took.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, market};
use crate::common::server::Launch;

/// Two accounts, and shares.
const MARKET: &str = r#"<create><account id="1" balance="1000000"/><account id="2" balance="1000000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol></create>"#;

fn place(http: &Http, order: Value) -> u64 {
    http.make("/api/v1/orders", &order)["order_id"].as_u64().unwrap()
}

fn buy(account: &str, limit: &str, shares: &str) -> Value {
    json!({"account": account, "symbol": "SPY", "side": "buy", "limit": limit, "shares": shares})
}

#[test]
fn an_order_knows_what_is_shown_before_it_and_not_what_is_hidden() {
    let folder = Folder::new("order-place");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let of = |order: u64| http.read(&format!("/api/v1/orders/{order}/place?account=1"))["place"].clone();
    let mut iceberg = buy("2", "10", "500");
    iceberg["display"] = json!("20");
    let hides = place(&http, iceberg);
    let first = place(&http, buy("2", "10", "7"));
    let mine = place(&http, buy("1", "10", "5"));
    place(&http, buy("2", "10", "9"));
    place(&http, buy("2", "10.5", "3"));
    let sums = |orders: u64, shares: &str| json!({"orders": orders, "shares": shares});
    let told = of(mine);
    assert_eq!(told["level"], json!(["10", "41", 4]));
    assert_eq!((&told["ahead"], &told["better"]), (&sums(2, "27"), &sums(1, "3")));
    assert_eq!(told["exact"], true);
    assert_eq!(http.delete(&format!("/api/v1/orders/{first}?account=2")).status, 200);
    assert_eq!(of(mine)["ahead"], sums(1, "20"));
    // All shown shares execute, and the next hidden part goes to the end of the queue.
    let sell = json!({"account": "2", "symbol": "SPY", "side": "sell", "limit": "10", "shares": "23"});
    place(&http, sell);
    assert_eq!((&of(mine)["ahead"], &of(mine)["better"]), (&sums(0, "0"), &sums(0, "0")));
    let waits = place(
        &http,
        json!({"account": "1", "symbol": "SPY", "side": "sell", "kind": "market", "stop": "5", "shares": "1"}),
    );
    assert_eq!(of(waits), Value::Null, "it stands in no book yet");
    assert_eq!(http.delete(&format!("/api/v1/orders/{mine}?account=1")).status, 200);
    assert_eq!(of(mine), Value::Null, "it is done");
    let others = http.get(&format!("/api/v1/orders/{hides}/place?account=1"));
    assert_eq!(others.code(), (404, "unknown-order"));
    server.stop();
}

#[test]
fn only_who_may_look_at_the_account_is_told_the_place() {
    let folder = Folder::new("order-place-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    let told = |member: &str| Client { http: &http, member }.get(&format!("/api/v1/orders/{order}/place?account=1"));
    assert_eq!(told("").code(), (401, "unauthenticated"));
    assert_eq!(told("bob").code(), (404, "unknown-account"));
    for member in ["alice", "olga"] {
        assert_eq!(told(member).body["place"]["ahead"]["orders"], 0, "{member}");
    }
    server.stop();
}

#[test]
fn who_asks_is_told_how_long_each_part_took_and_nobody_else() {
    let folder = Folder::new("order-timing");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let send = |method: &str, path: &str, body: Option<&Value>, asks: bool| {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(asks.then_some(("pricetime-timing", "1")));
        http.send(method, path, body.map(Value::to_string).as_deref(), &headers).timing
    };
    let order = buy("1", "10", "1");
    assert_eq!(send("POST", "/api/v1/orders", Some(&order), false), "");
    let told = send("POST", "/api/v1/orders", Some(&order), true);
    let parts: Vec<(&str, f64)> = told
        .split(", ")
        .map(|part| part.split_once(";dur=").map(|(name, time)| (name, time.parse().unwrap())).unwrap())
        .collect();
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["read", "wait", "write", "sync", "apply", "reply", "total"], "{told}");
    let (total, others) = parts.split_last().map(|(total, others)| (total.1, others)).unwrap();
    let sum: f64 = others.iter().map(|(_, time)| time).sum();
    assert!((total - sum).abs() < 0.01, "the parts are all of it: {told}");
    assert!(parts.iter().all(|(name, time)| *time > 0.0 || !["sync", "total"].contains(name)), "{told}");
    assert!(send("GET", "/api/v1/accounts/1", None, true).starts_with("total;dur="));
    server.stop();
}
