//! Pairs of orders that cancel each other, over REST and the WebSocket: what is told of them when they are placed, when
//! one of them ends, and after a restart.

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">10</account><account id="2">10</account></symbol></create>"#;

fn above(more: Value) -> Value {
    order(json!({"kind": "post_only", "limit": "30"}), more)
}

fn below(more: Value) -> Value {
    order(json!({"kind": "market", "stop": "20"}), more)
}

fn order(terms: Value, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": "sell", "shares": "10"});
    for terms in [terms, more] {
        order.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
    }
    order
}

fn place(http: &Http, first: Value, second: Value) -> Answer {
    http.post("/api/v1/order-lists", &json!({"orders": [first, second]}))
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

const SHOWN: [&str; 5] = ["order_id", "linked_with", "status", "open", "waits"];

#[test]
fn two_orders_are_told_with_their_partners_and_the_same_after_restarts() {
    let folder = Folder::new("rest-order-lists");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    let named = |which: &str| json!({"client_order_id": which});
    let placed = place(&http, above(named("above")), below(named("below")));
    assert_eq!(placed.status, 201, "{}", placed.text);
    let told = placed.body["orders"].as_array().unwrap();
    let terms = ["order_id", "client_order_id", "kind", "limit", "stop", "shares"];
    assert_eq!(placed.body["order_list_id"], 1);
    assert_eq!(fields(&told[0], terms), json!([1, "above", "post_only", "30", null, "10"]));
    assert_eq!(fields(&told[1], terms), json!([2, "below", "market", null, "20", "10"]));
    let again = place(&http, above(named("above")), below(named("below")));
    assert_eq!((again.status, again.body), (200, placed.body));
    // What both orders hold is held once.
    assert_eq!(http.read("/api/v1/accounts/1")["positions"][0]["held"], "10");
    let update = socket.next_of("update", "orders");
    let mut orders: Vec<Value> =
        update["orders"].as_array().unwrap().iter().map(|order| fields(order, SHOWN)).collect();
    orders.sort_by_key(|order| order[0].as_u64());
    assert_eq!(orders, [json!([1, 2, "open", "10", false]), json!([2, 1, "open", "10", true])]);
    let shown = |http: &Http| {
        let one = |order: u64| fields(&http.read(&format!("/api/v1/orders/{order}?account=1")), SHOWN);
        let page = http.read("/api/v1/accounts/1/orders?status=all");
        let all: Value = page["orders"].as_array().unwrap().iter().map(|order| fields(order, SHOWN)).collect();
        (one(1), one(2), all)
    };
    let [open, waits] = [json!([1, 2, "open", "10", false]), json!([2, 1, "open", "10", true])];
    assert_eq!(shown(&http), (open.clone(), waits.clone(), json!([waits, open])));
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http), (open.clone(), waits.clone(), json!([waits, open])));
    // One order executes in part, and the other one is canceled.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="4" limit="30"/></transactions>"#);
    let [open, canceled] = [json!([1, 2, "open", "6", false]), json!([2, 1, "canceled", "0", false])];
    let expected = (open.clone(), canceled.clone(), json!([canceled, open]));
    assert_eq!(shown(&http), expected);
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http), expected);
    // A client that was away is told all of it.
    let mut late = http.listen();
    late.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    let mut reports = Vec::new();
    while reports.len() < 6 {
        let message = late.next();
        reports.extend(message["reports"].as_array().into_iter().flatten().cloned());
    }
    let told: Vec<Value> =
        reports.iter().map(|report| fields(report, ["report", "order_id", "linked_with", "why"])).collect();
    let expected = [
        json!(["placed", 1, null, null]),
        json!(["placed", 2, null, null]),
        json!(["linked", 1, 2, null]),
        json!(["linked", 2, 1, null]),
        json!(["executed", 1, null, null]),
        json!(["canceled", 2, null, "linked"]),
    ];
    assert_eq!(told, expected);
    let canceled = http.delete("/api/v1/orders/1?account=1");
    assert_eq!(fields(&canceled.body, SHOWN), json!([1, 2, "canceled", "0", false]));
    // An order that is in no list is told as before.
    let alone = http.make("/api/v1/orders", &above(json!({"shares": "1"})));
    let alone = http.read(&format!("/api/v1/orders/{}?account=1", alone["order_id"]));
    assert!(alone.get("linked_with").is_none(), "{alone}");
}

#[test]
fn refusals_name_the_order_that_is_at_fault() {
    let folder = Folder::new("rest-order-lists-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="2"/></transactions>"#);
    let http = Http::new(server.http);
    let malformed = |first: Value, second: Value, field: &str| {
        let refused = place(&http, first, second);
        assert_eq!(refused.code(), (400, "malformed"), "{}", refused.text);
        assert_eq!(refused.body["field"], field, "{}", refused.text);
    };
    malformed(above(json!({})), above(json!({})), "orders");
    malformed(above(json!({"kind": "limit"})), below(json!({})), "orders.0");
    malformed(below(json!({})), above(json!({"kind": "immediate_or_cancel"})), "orders.1");
    malformed(above(json!({})), below(json!({"side": "buy"})), "orders");
    malformed(above(json!({})), below(json!({"shares": "9"})), "orders");
    malformed(above(json!({})), below(json!({"symbol": "QQQ"})), "orders");
    malformed(above(json!({})), below(json!({"account": "2"})), "orders.1.account");
    malformed(above(json!({"limit": "0"})), below(json!({})), "orders.0.limit");
    malformed(above(json!({})), below(json!({"stop": "x"})), "orders.1.stop");
    for orders in [json!([]), json!([above(json!({}))]), json!([above(json!({})), below(json!({})), below(json!({}))])]
    {
        let refused = http.post("/api/v1/order-lists", &json!({"orders": orders}));
        assert_eq!((refused.code(), &refused.body["field"]), ((400, "malformed"), &json!("orders")));
    }
    let refused = |first: Value, second: Value, code: (u16, &str), field: &str| {
        let refused = place(&http, first, second);
        assert_eq!((refused.code(), refused.body["field"].as_str()), (code, Some(field)), "{}", refused.text);
    };
    let many = json!({"shares": "11"});
    refused(above(many.clone()), below(many), (422, "insufficient-shares"), "orders.0");
    refused(below(json!({})), above(json!({"limit": "1", "client_order_id": "x"})), (422, "would-take"), "orders.1");
}

#[test]
fn of_two_that_cannot_both_be_placed_there_is_none_and_canceling_one_cancels_both() {
    let folder = Folder::new("rest-order-lists-nothing");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="15"/><order sym="SPY" amount="1" limit="15"/></transactions>"#);
    let http = Http::new(server.http);
    let refused = place(&http, above(json!({})), below(json!({})));
    assert_eq!((refused.code(), &refused.body["field"]), ((422, "triggers-at-once"), &json!("orders.1")));
    assert_eq!(http.read("/api/v1/accounts/1/orders")["orders"], json!([]));
    // What the order held is free again.
    let placed = place(&http, above(json!({})), below(json!({"stop": "14"})));
    assert_eq!(placed.status, 201, "{}", placed.text);
    let canceled = http.delete(&format!("/api/v1/orders/{}?account=1", placed.body["orders"][1]["order_id"]));
    assert_eq!(canceled.body["status"], "canceled");
    assert_eq!(http.read("/api/v1/accounts/1/orders")["orders"], json!([]));
}
