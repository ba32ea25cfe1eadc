//! Orders that end at a time, do not trade with their own account, or are amended, over REST and the WebSocket: what is
//! told of them, and what is known of them after a restart.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
/// The year 2100, in microseconds.
const FAR: u64 = 4_102_444_800_000_001;

/// A limit order with its further parameters.
fn order(side: &str, limit: &str, shares: &str, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": side, "limit": limit, "shares": shares});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

fn amend(http: &Http, order: &str, body: &Value) -> Answer {
    http.send(
        "PATCH",
        &format!("/api/v1/orders/{order}"),
        Some(&body.to_string()),
        &[("content-type", "application/json")],
    )
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

#[test]
fn an_order_is_told_with_its_deadline_and_mode_and_the_same_after_restarts() {
    let folder = Folder::new("rest-terms");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let asked = order("buy", "9", "5", json!({"until": FAR, "self_trade": "cancel_both", "client_order_id": "dated"}));
    let terms = ["self_trade", "until", "status"];
    let placed = http.make("/api/v1/orders", &asked);
    assert_eq!(fields(&placed, ["self_trade", "until"]), json!(["cancel_both", FAR]));
    let again = http.post("/api/v1/orders", &asked);
    assert_eq!((again.status, again.body), (200, placed));
    let plain = http.make("/api/v1/orders", &order("buy", "8", "5", json!({})));
    assert_eq!(fields(&plain, ["self_trade", "until"]), json!(["allowed", null]));
    let (expected, plain) = (json!(["cancel_both", FAR, "open"]), json!(["allowed", null, "open"]));
    let shown = |http: &Http| {
        let one = |path: &str| fields(&http.read(&format!("/api/v1/orders/{path}?account=1")), terms);
        let list = |which: &str| -> Value {
            let page = http.read(&format!("/api/v1/accounts/1/orders?status={which}"));
            page["orders"].as_array().unwrap().iter().map(|order| fields(order, terms)).collect()
        };
        let snapshot =
            http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
        let told: Value = snapshot["orders"].as_array().unwrap().iter().map(|order| fields(order, terms)).collect();
        [one("1"), one("by-client-id/dated"), list("open"), list("all"), told]
    };
    let both = json!([plain, expected]);
    let all = [expected.clone(), expected, both.clone(), both.clone(), both];
    assert_eq!(shown(&http), all);
    // The server restarts from its journal first, and then from the snapshot of a stop.
    server.kill();
    let server = launch.start();
    assert_eq!(shown(&Http::new(server.http)), all);
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http), all);
    // A new order that replaces another one has terms of its own.
    let asked = order("buy", "9.5", "5", json!({"until": FAR + 1, "self_trade": "decrement"})).to_string();
    let replaced = http.send("PUT", "/api/v1/orders/1", Some(&asked), &[("content-type", "application/json")]).body;
    assert_eq!(fields(&replaced["placed"], ["self_trade", "until"]), json!(["decrement", FAR + 1]));
    assert_eq!(fields(&replaced["canceled"], terms), json!(["cancel_both", null, "canceled"]));
}

#[test]
fn terms_that_cannot_be_are_refused_and_name_their_field() {
    let folder = Folder::new("rest-terms-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for (more, field) in [
        (json!({"until": 0}), "until"),
        (json!({"until": -1}), "until"),
        (json!({"until": 1.5}), "until"),
        (json!({"until": "4102444800"}), "until"),
        (json!({"until": (1u64 << 53)}), "until"),
        (json!({"until": FAR, "kind": "immediate_or_cancel"}), "until"),
        (json!({"until": FAR, "kind": "fill_or_kill"}), "until"),
    ] {
        let refused = http.post("/api/v1/orders", &order("buy", "9", "1", more));
        assert_eq!(fields(&refused.body, ["code", "field"]), json!(["malformed", field]), "{}", refused.text);
    }
    for (more, code) in [
        (json!({"self_trade": "cancel-both"}), "malformed"),
        (json!({"until": 1}), "deadline-passed"),
        (json!({"until": 1_763_690_000_000_000u64, "self_trade": "decrement"}), "deadline-passed"),
    ] {
        assert_eq!(http.post("/api/v1/orders", &order("buy", "9", "1", more)).body["code"], code);
    }
    http.make("/api/v1/orders", &order("buy", "9", "1", json!({"until": (1u64 << 53) - 1})));
    let waits = json!({"until": FAR, "kind": "immediate_or_cancel", "stop": "20"});
    http.make("/api/v1/orders", &order("buy", "30", "1", waits));
}

#[test]
fn an_order_that_ends_by_itself_is_told_to_who_listens() {
    let folder = Folder::new("rest-expires");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64 + 1_500_000;
    http.make("/api/v1/orders", &order("buy", "9", "5", json!({"until": until})));
    let opened = socket.next_of("update", "orders");
    assert_eq!(fields(&opened["orders"][0], ["status", "until", "open"]), json!(["open", until, "5"]));
    let ended = socket.next_of("update", "orders");
    let shown = fields(&ended["orders"][0], ["status", "until", "open", "canceled"]);
    assert_eq!(shown, json!(["canceled", null, "0", "5"]));
    assert!(ended["orders"][0]["done_time"].as_u64().unwrap() >= until, "not before its time: {ended}");
    assert_eq!(fields(&ended["account"], ["balance", "held"]), json!(["1000", "0"]));
}

#[test]
fn shares_are_taken_off_an_order_which_keeps_its_place() {
    let folder = Folder::new("rest-amends");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let first = json!({"client_order_id": "first", "until": FAR});
    http.make("/api/v1/orders", &order("buy", "9", "10", first));
    http.make("/api/v1/orders", &order("buy", "9", "10", json!({})));
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    let mut book = http.listen();
    book.subscribe(json!({"op": "subscribe", "id": 2, "channel": "book", "symbol": "SPY"}));
    let names = ["shares", "open", "executed", "status", "until"];
    let to = |shares: &str| json!({"account": "1", "shares": shares});
    let amended = amend(&http, "by-client-id/first", &to("6"));
    assert_eq!((amended.status, fields(&amended.body, names)), (200, json!(["6", "6", "0", "open", FAR])));
    let told = socket.next_of("update", "orders");
    assert_eq!(fields(&told["orders"][0], names), json!(["6", "6", "0", "open", FAR]));
    assert_eq!(fields(&told["account"], ["balance", "held"]), json!(["856", "144"]));
    assert_eq!(book.next_of("update", "book")["bids"], json!([["9", "16", 2]]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-4" limit="9"/></transactions>"#);
    assert_eq!(amend(&http, "1", &to("5")).body["open"], "1");
    for (order, body, code) in [
        ("1", to("5"), (422, "amends-upward")),
        ("1", to("4"), (422, "amends-below-executed")),
        ("1", to("0"), (400, "malformed")),
        ("1", to("-1"), (400, "malformed")),
        ("1", json!({"account": "1"}), (400, "malformed")),
        ("1", json!({"account": "1", "shares": "3", "limit": "8"}), (400, "malformed")),
        ("1", json!({"account": "2", "shares": "3"}), (404, "unknown-order")),
        ("9", to("3"), (404, "unknown-order")),
        ("by-client-id/second", to("3"), (404, "unknown-order")),
        ("3", json!({"account": "2", "shares": "3"}), (409, "nothing-to-amend")),
    ] {
        let refused = amend(&http, order, &body);
        assert_eq!(refused.code(), code, "{order} {body}");
    }
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    let shown = http.read("/api/v1/orders/1?account=1");
    assert_eq!(fields(&shown, names), json!(["5", "1", "4", "open", FAR]));
    let queue = http.read("/api/v1/symbols/SPY/book/orders")["bids"].clone();
    assert_eq!(queue[0]["order_id"], 1, "it is first still: {queue}");
}
