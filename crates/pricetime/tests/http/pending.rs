//! Orders that wait until another one is executed, over REST and the WebSocket.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="2">100</account></symbol></create>"#;

fn order(side: &str, terms: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": side, "shares": "10"});
    order.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
    order
}

fn three() -> [Value; 3] {
    [
        order("buy", json!({"limit": "25"})),
        order("sell", json!({"kind": "post_only", "limit": "30"})),
        order("sell", json!({"kind": "market", "stop": "20"})),
    ]
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

const SHOWN: [&str; 6] = ["order_id", "pends_on", "linked_with", "status", "open", "waits"];

#[test]
fn orders_wait_are_placed_and_are_told_so() {
    let folder = Folder::new("rest-pending");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let placed = http.post("/api/v1/order-lists", &json!({"kind": "otoco", "orders": three()}));
    assert_eq!(placed.status, 201, "{}", placed.text);
    assert_eq!(placed.body["order_list_id"], 1);
    assert_eq!(placed.body["orders"].as_array().unwrap().len(), 3);
    let shown = |http: &Http| {
        let one = |order: u64| fields(&http.read(&format!("/api/v1/orders/{order}?account=1")), SHOWN);
        [one(1), one(2), one(3)]
    };
    let waits = |order: u64| json!([order, 1, null, "open", "10", false]);
    assert_eq!(shown(&http), [json!([1, null, null, "open", "10", false]), waits(2), waits(3)]);
    // The waiting orders hold nothing: the held money is the first order's.
    let account = http.read("/api/v1/accounts/1");
    assert_eq!((&account["held"], &account["open_orders"]), (&json!("250"), &json!(3)), "{account}");
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http)[1..], [waits(2), waits(3)]);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="25"/></transactions>"#);
    let expected = [
        json!([1, null, null, "executed", "0", false]),
        json!([2, null, 3, "open", "10", false]),
        json!([3, null, 2, "open", "10", true]),
    ];
    assert_eq!(shown(&http), expected);
    assert_eq!(http.read("/api/v1/accounts/1")["positions"][0]["held"], "10");
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http), expected);
    let mut late = http.listen();
    late.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    let mut reports = Vec::new();
    while reports.len() < 10 {
        let message = late.next();
        reports.extend(message["reports"].as_array().into_iter().flatten().cloned());
    }
    let told: Vec<Value> =
        reports.iter().map(|report| fields(report, ["report", "order_id", "pends_on", "linked_with"])).collect();
    let expected = [
        json!(["placed", 1, null, null]),
        json!(["placed", 2, null, null]),
        json!(["pending", 2, 1, null]),
        json!(["placed", 3, null, null]),
        json!(["pending", 3, 1, null]),
        json!(["executed", 1, null, null]),
        json!(["released", 2, null, null]),
        json!(["released", 3, null, null]),
        json!(["linked", 2, null, 3]),
        json!(["linked", 3, null, 2]),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_list_of_two_and_refusals_that_name_the_order_at_fault() {
    let folder = Folder::new("rest-pending-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let [working, profit, loss] = three();
    let place =
        |kind: &str, orders: &[&Value]| http.post("/api/v1/order-lists", &json!({"kind": kind, "orders": orders}));
    assert_eq!(place("oto", &[&working, &loss]).status, 201);
    let canceled = http.delete("/api/v1/orders/1?account=1");
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    let ended = http.read("/api/v1/orders/2?account=1");
    assert_eq!(fields(&ended, SHOWN), json!([2, null, null, "canceled", "0", false]));
    let malformed = |kind: &str, orders: &[&Value], field: &str| {
        let refused = place(kind, orders);
        assert_eq!(refused.code(), (400, "malformed"), "{}", refused.text);
        assert_eq!(refused.body["field"], field, "{}", refused.text);
    };
    malformed("oto", &[&working, &profit, &loss], "orders");
    malformed("otoco", &[&working, &profit], "orders");
    malformed("oto", &[&loss, &profit], "orders.0");
    malformed("otoco", &[&working, &profit, &profit], "orders.2");
    let other = order("sell", json!({"symbol": "QQQ", "limit": "30"}));
    malformed("oto", &[&working, &other], "orders.1");
    let other = order("sell", json!({"account": "2", "limit": "30"}));
    malformed("oto", &[&working, &other], "orders.1.account");
    // The same request again is the same list, and orders of two lists do not make a list.
    let named = |which: &str, order: &Value| {
        let mut order = order.clone();
        order["client_order_id"] = json!(which);
        order
    };
    let list = |names: [&str; 2]| place("oto", &[&named(names[0], &working), &named(names[1], &loss)]);
    let placed = list(["a", "b"]);
    assert_eq!(placed.status, 201, "{}", placed.text);
    let again = list(["a", "b"]);
    assert_eq!((again.status, &again.body), (200, &placed.body));
    assert_eq!(list(["c", "d"]).status, 201);
    for names in [["a", "d"], ["c", "b"], ["a", "e"]] {
        assert_eq!(list(names).code(), (409, "client-order-id-taken"), "{names:?}");
    }
    let dear = order("buy", json!({"limit": "2500"}));
    let refused = place("oto", &[&dear, &loss]);
    assert_eq!((refused.code(), &refused.body["field"]), ((422, "insufficient-funds"), &json!("orders.0")));
    assert_eq!(refused.body["rule"], "1.12");
}
