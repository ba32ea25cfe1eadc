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
        ("1", to("4"), (422, "amends-below-executed")),
        ("1", to("0"), (400, "malformed")),
        ("1", to("-1"), (400, "malformed")),
        ("1", json!({"account": "1"}), (400, "malformed")),
        ("1", json!({"account": "1", "shares": "3", "limit": "8"}), (422, "amends-below-executed")),
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

#[test]
fn an_order_gets_other_terms_under_its_id_and_whoever_listens_is_told() {
    let folder = Folder::new("rest-amends-terms");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &order("buy", "9", "10", json!({"client_order_id": "first", "until": FAR})));
    http.make("/api/v1/orders", &order("buy", "9", "10", json!({})));
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    let names = ["order_id", "client_order_id", "limit", "shares", "open", "until", "display"];
    let to = |body: Value| {
        let mut whole = json!({"account": "1"});
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        whole
    };
    let first_in_line = |http: &Http| http.read("/api/v1/symbols/SPY/book/orders")["bids"][0]["order_id"].clone();
    let mut amended = |body: Value, expected: Value| {
        let told = amend(&http, "by-client-id/first", &to(body.clone()));
        assert_eq!((told.status, fields(&told.body, names)), (200, expected.clone()), "{body}: {}", told.text);
        let update = socket.next_of("update", "orders");
        assert_eq!(fields(&update["orders"][0], names), expected, "{body}");
    };
    // These keep its place.
    amended(json!({"until": null}), json!([1, "first", "9", "10", "10", null, null]));
    amended(json!({"display": "4", "until": FAR}), json!([1, "first", "9", "10", "10", FAR, "4"]));
    assert_eq!(first_in_line(&http), 1);
    // These do not.
    amended(json!({"display": null, "tif": "GTC"}), json!([1, "first", "9", "10", "10", null, null]));
    assert_eq!(first_in_line(&http), 2);
    amended(json!({"shares": "12", "limit": "9.5"}), json!([1, "first", "9.5", "12", "12", null, null]));
    assert_eq!(first_in_line(&http), 1);
    amended(json!({"limit": "9"}), json!([1, "first", "9", "12", "12", null, null]));
    assert_eq!(first_in_line(&http), 2);
    // It executes at once.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-4" limit="10"/></transactions>"#);
    amended(json!({"limit": "10"}), json!([1, "first", "10", "12", "8", null, null]));
    let mut reports = http.listen();
    reports.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    let mut all = Vec::new();
    while all.iter().all(|report: &Value| report["report"] != "executed") {
        all.extend(reports.next_of("reports", "orders")["reports"].as_array().unwrap().clone());
    }
    let of_terms = ["shares_before", "shares", "terms"];
    let told: Vec<Value> =
        all.iter().filter(|report| report["report"] == "amended").map(|report| fields(report, of_terms)).collect();
    let terms = |limit: &str, keeps_place: bool| json!({"kind": "limit", "limit": limit, "stop": null, "take_profit": null, "keeps_place": keeps_place});
    let expected = [
        json!(["10", "10", terms("9", true)]),
        json!(["10", "10", terms("9", true)]),
        json!(["10", "10", terms("9", false)]),
        json!(["10", "12", terms("9.5", false)]),
        json!(["12", "12", terms("9", false)]),
        json!(["12", "12", terms("10", false)]),
    ];
    assert_eq!(told, expected, "{all:?}");
    // The rest is canceled where nobody is on the other side.
    let done = amend(&http, "1", &to(json!({"tif": "IOC"})));
    let names = ["status", "kind", "limit", "shares", "executed", "canceled", "average_price"];
    let expected = json!(["canceled", "immediate_or_cancel", "10", "12", "4", "8", "10"]);
    assert_eq!((done.status, fields(&done.body, names)), (200, expected.clone()), "{}", done.text);
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(fields(&http.read("/api/v1/orders/1?account=1"), names), expected);
    let again = order("buy", "9", "10", json!({"client_order_id": "first", "until": FAR}));
    assert_eq!(http.post("/api/v1/orders", &again).code(), (409, "client-order-id-taken"));
}

#[test]
fn the_price_that_an_order_waits_for_is_amended() {
    let folder = Folder::new("rest-amends-stops");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    // Something was executed, so there is a price to follow.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-4" limit="10"/></transactions>"#);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="4" limit="10"/></transactions>"#);
    let http = Http::new(server.http);
    let waiting = http.make("/api/v1/orders", &order("buy", "30", "5", json!({"stop": "20"})));
    let path = waiting["order_id"].to_string();
    let names = ["stop", "take_profit", "trail", "trail_bips", "waits", "kind"];
    for (body, expected) in [
        (json!({"stop": "15"}), json!(["15", null, null, null, true, "limit"])),
        (json!({"take_profit": "3"}), json!([null, "3", null, null, true, "limit"])),
        (json!({"trail": "2"}), json!(["12", null, "2", null, true, "limit"])),
        (json!({"trail_bips": 1000}), json!(["11", null, null, 1000, true, "limit"])),
        (json!({"stop": "14", "tif": "FOK"}), json!(["14", null, null, null, true, "fill_or_kill"])),
    ] {
        let mut whole = body.clone();
        whole["account"] = "1".into();
        let told = amend(&http, &path, &whole);
        assert_eq!((told.status, fields(&told.body, names)), (200, expected.clone()), "{body}: {}", told.text);
        assert_eq!(fields(&http.read(&format!("/api/v1/orders/{path}?account=1")), names), expected);
    }
    server.kill();
    let server = launch.start();
    let shown = Http::new(server.http).read(&format!("/api/v1/orders/{path}?account=1"));
    assert_eq!(fields(&shown, names), json!(["14", null, null, null, true, "fill_or_kill"]));
}

#[test]
fn an_amendment_that_is_refused_changes_nothing() {
    let folder = Folder::new("rest-amends-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &order("buy", "9", "10", json!({"until": FAR})));
    http.make("/api/v1/orders", &order("buy", "9", "10", json!({"kind": "post_only"})));
    let before = http.read("/api/v1/symbols/SPY/book/orders");
    for (path, body, code, field) in [
        ("1", json!({}), (400, "malformed"), json!(null)),
        ("1", json!({"limit": null, "shares": null}), (400, "malformed"), json!(null)),
        ("1", json!({"price": "8"}), (400, "malformed"), json!("price")),
        ("1", json!({"kind": "limit"}), (400, "malformed"), json!("kind")),
        ("1", json!({"limit": "0"}), (400, "malformed"), json!("limit")),
        ("1", json!({"display": "0"}), (400, "malformed"), json!("display")),
        ("1", json!({"until": "soon"}), (400, "malformed"), json!("until")),
        ("1", json!({"tif": "DAY"}), (400, "malformed"), json!("tif")),
        ("1", json!({"tif": "GTD"}), (400, "malformed"), json!("until")),
        ("1", json!({"tif": "GTC", "until": FAR}), (400, "malformed"), json!("until")),
        ("1", json!({"tif": "IOC", "display": "1"}), (400, "malformed"), json!("display")),
        ("1", json!({"stop": "8", "trail": "1"}), (400, "malformed"), json!("trail")),
        ("1", json!({"trail_bips": 0}), (400, "malformed"), json!("trail_bips")),
        ("1", json!({"stop": "8"}), (409, "cannot-amend"), json!(null)),
        ("1", json!({"until": 1}), (422, "deadline-passed"), json!(null)),
        ("1", json!({"limit": "92000000000"}), (422, "insufficient-funds"), json!(null)),
        ("1", json!({"display": "0.01"}), (422, "display-out-of-range"), json!(null)),
        ("2", json!({"tif": "IOC"}), (409, "cannot-amend"), json!(null)),
    ] {
        let mut whole = body.clone();
        whole["account"] = "1".into();
        let refused = amend(&http, path, &whole);
        assert_eq!((refused.code(), &refused.body["field"]), (code, &field), "{body}");
    }
    let after = http.read("/api/v1/symbols/SPY/book/orders");
    assert_eq!(after["bids"], before["bids"]);
    let shown = http.read("/api/v1/orders/1?account=1");
    assert_eq!(fields(&shown, ["limit", "shares", "open", "until"]), json!(["9", "10", "10", FAR]));
}
