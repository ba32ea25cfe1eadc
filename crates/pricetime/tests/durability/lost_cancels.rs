//! Cancels and replacements, over every interface, of orders that were open when the history began anew: the change is
//! reported as done, with everything that is known of the order.

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Server;
use crate::lost_executions::{SMALL, without_history};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="A"><account id="1">1000</account><account id="2">1000</account></symbol></create>"#;

/// An order of account 1 in A.
fn order(side: &str, shares: &str, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "A", "side": side, "shares": shares});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

/// Places orders of all kinds that rest or wait. Returns their ids in order.
fn kinds(http: &Http) -> Vec<u64> {
    for side in ["buy", "sell"] {
        let traded = json!({"account": "2", "symbol": "A", "side": side, "limit": "100", "shares": "1"});
        http.make("/api/v1/orders", &traded);
    }
    let single = [
        order("buy", "5", json!({"limit": "11"})),
        order("buy", "6", json!({"limit": "12", "client_order_id": "mine"})),
        order("sell", "7", json!({"limit": "200", "kind": "post_only"})),
        order("sell", "8", json!({"limit": "201", "display": "2"})),
        order("sell", "9", json!({"kind": "market", "stop": "20"})),
        order("sell", "10", json!({"limit": "30", "stop": "40", "client_order_id": "stop"})),
        order("sell", "11", json!({"kind": "market", "trail": "50"})),
        order("buy", "12", json!({"limit": "13", "self_trade": "cancel_both", "until": 4_000_000_000_000_000_u64})),
    ];
    let mut ids: Vec<u64> =
        single.iter().map(|order| http.make("/api/v1/orders", order)["order_id"].as_u64().unwrap()).collect();
    let pair = [
        order("sell", "3", json!({"limit": "300", "kind": "post_only"})),
        order("sell", "3", json!({"kind": "market", "stop": "10"})),
    ];
    let pending = [order("buy", "2", json!({"limit": "9"})), order("sell", "2", json!({"limit": "400"}))];
    for (kind, orders) in [("oco", pair), ("oto", pending)] {
        let list = http.make("/api/v1/order-lists", &json!({"kind": kind, "orders": orders}));
        ids.extend(list["orders"].as_array().unwrap().iter().map(|order| order["order_id"].as_u64().unwrap()));
    }
    ids
}

/// A market whose open orders, of all kinds, are older than its history. Returns what is shown of each.
fn begun_anew(folder: &Folder) -> (KeyFile, Server, Http, Vec<Value>) {
    let keys = KeyFile::new(folder);
    let launch = keys.launch(folder).with(SMALL);
    let server = launch.start();
    server.ask(MARKET);
    let ids = kinds(&Http::new(server.http));
    let server = without_history(&launch, folder, server);
    let http = Http::new(server.http);
    let shown = ids.iter().map(|order| http.read(&format!("/api/v1/orders/{order}?account=1"))).collect();
    (keys, server, http, shown)
}

/// Fields that change when an order is canceled, that only open orders have, and that are not known of an order from
/// before.
const CHANGED: [&str; 10] =
    ["status", "open", "canceled", "done_time", "waits", "display", "shown", "until", "trail", "linked_with"];

fn differences(open: &Value, canceled: &Value) -> Vec<String> {
    let fields = open.as_object().unwrap().iter().filter(|(name, _)| !CHANGED.contains(&name.as_str()));
    let differs = fields.filter(|(name, value)| canceled[name.as_str()] != **value);
    differs.map(|(name, value)| format!("{name}: {value} is {}", canceled[name.as_str()])).collect()
}

/// A cancel of such an order once was answered with `unknown-order`, though it was done.
#[test]
fn a_cancel_of_an_order_from_before_the_history_is_told_as_done() {
    let folder = Folder::new("lost-cancels");
    let (_keys, server, http, shown) = begun_anew(&folder);
    let mut wrong = Vec::new();
    for open in &shown {
        let id = &open["order_id"];
        let before = http.read(&format!("/api/v1/orders/{id}?account=1"));
        if before["status"] != "open" {
            // An earlier cancel ended this order, too: the two were linked, or this one waited for the other.
            assert_eq!(before["status"], "canceled", "{before}");
            continue;
        }
        let canceled = http.delete(&format!("/api/v1/orders/{id}?account=1"));
        let again = http.get(&format!("/api/v1/orders/{id}?account=1"));
        if canceled.status != 200 || canceled.body["status"] != "canceled" || again.body != canceled.body {
            wrong.push(format!("{open}\n{} {}\n{} {}", canceled.status, canceled.text, again.status, again.text));
        }
        let differs = differences(open, &canceled.body);
        if !differs.is_empty() {
            wrong.push(format!("{id}: {}", differs.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop();
}

/// A cancel of all such orders once was answered with an empty list.
#[test]
fn all_orders_from_before_the_history_are_told_when_all_are_canceled() {
    for interface in ["rest", "binance"] {
        let folder = Folder::new("lost-cancel-all");
        let (keys, server, http, shown) = begun_anew(&folder);
        let told = match interface {
            "rest" => {
                let answer = http.delete("/api/v1/accounts/1/orders");
                assert_eq!(answer.status, 200, "{}", answer.text);
                answer.body["canceled"].as_array().unwrap().len()
            }
            _ => {
                let answer = keys.send(&http, "DELETE", "openOrders", "symbol=AUSD");
                assert_eq!(answer.status, 200, "{}", answer.text);
                let lists = |one: &Value| one["orderReports"].as_array().map_or(1, Vec::len);
                answer.body.as_array().unwrap().iter().map(lists).sum()
            }
        };
        assert_eq!(told, shown.len(), "{interface}");
        server.stop();
    }
}

/// A replacement of such an order once was answered with an unknown outcome, though it was done.
#[test]
fn an_order_from_before_the_history_is_replaced_and_told_so() {
    let folder = Folder::new("lost-replaced");
    let (keys, server, http, shown) = begun_anew(&folder);
    let put = |path: &str, body: &Value| {
        let json = [("content-type", "application/json")];
        http.send("PUT", &format!("/api/v1/orders/{path}"), Some(&body.to_string()), &json)
    };
    let first = shown[0]["order_id"].to_string();
    let replaced = put(&first, &order("buy", "4", json!({"limit": "10"})));
    assert_eq!((replaced.status, &replaced.body["canceled"]["status"]), (201, &json!("canceled")), "{}", replaced.text);
    let named = put("by-client-id/mine", &order("buy", "4", json!({"limit": "10"})));
    assert_eq!((named.status, &named.body["canceled"]["status"]), (201, &json!("canceled")), "{}", named.text);
    assert_eq!(named.body["canceled"]["client_order_id"], "mine", "{}", named.text);
    let third = shown[2]["order_id"].to_string();
    let amended = http.send(
        "PATCH",
        &format!("/api/v1/orders/{third}?account=1"),
        Some(&json!({"account": "1", "shares": "6"}).to_string()),
        &[("content-type", "application/json")],
    );
    assert_eq!((amended.status, &amended.body["shares"]), (200, &json!("6")), "{}", amended.text);
    let stop = keys.send(&http, "DELETE", "order", "symbol=AUSD&origClientOrderId=stop");
    assert_eq!((stop.status, &stop.body["status"]), (200, &json!("CANCELED")), "{}", stop.text);
    let asked = format!(
        "symbol=AUSD&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=210&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={third}"
    );
    let answer = keys.send(&http, "POST", "order/cancelReplace", &asked);
    assert_eq!((answer.status, &answer.body["cancelResult"]), (200, &json!("SUCCESS")), "{}", answer.text);
    server.stop();
}

#[test]
fn orders_from_before_the_history_are_canceled_and_amended_over_fix() {
    let folder = Folder::new("lost-over-fix");
    let (_keys, server, http, shown) = begun_anew(&folder);
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    let first = &shown[0]["order_id"];
    fix.send("F", &format!("11=cancel|41=none|37={first}|1=1|55=A|54=1|38=5|"));
    fix.expect(&["35=8", "150=4", "39=4", "11=cancel", &format!("37={first}"), "14=0", "151=0"]);
    fix.send("G", "11=mine-2|41=mine|1=1|55=A|54=1|40=2|44=12|38=4|");
    fix.expect(&["35=8", "150=5", "11=mine-2", "41=mine", "38=4", "151=4"]);
    fix.send("q", "11=all|1=1|530=7|");
    let (mut counted, mut canceled) = (None, 0);
    while counted != Some(canceled) {
        let told = fix.next();
        if told.contains("|35=r|") {
            assert!(told.contains("|531=7|"), "{told}");
            counted = told.split('|').find_map(|field| field.strip_prefix("533=")?.parse().ok());
        } else {
            assert!(told.contains("|35=8|") && told.contains("|150=4|"), "{told}");
            canceled += 1;
        }
    }
    assert_eq!(counted, Some(shown.len() - 1));
    for open in &shown {
        let now = http.read(&format!("/api/v1/orders/{}?account=1", open["order_id"]));
        assert_eq!(now["status"], "canceled", "{now}");
    }
    server.stop();
}

/// A client that waits only for reports would wait for ever, so it is told at once that there will be none.
#[test]
fn a_stream_resumed_over_an_amendment_of_an_order_from_before_the_history_is_answered() {
    let folder = Folder::new("lost-amendment");
    let (_keys, server, http, shown) = begun_anew(&folder);
    let now = http.read("/api/v1/status")["sequence"].clone();
    let body = json!({"account": "1", "shares": "4"}).to_string();
    let path = format!("/api/v1/orders/{}?account=1", shown[0]["order_id"]);
    let amended = http.send("PATCH", &path, Some(&body), &[("content-type", "application/json")]);
    assert_eq!(amended.status, 200, "{}", amended.text);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": now}));
    let told = socket.next();
    assert_eq!(
        (&told["type"], &told["code"], &told["id"]),
        (&json!("error"), &json!("history-begins-later"), &json!(1))
    );
    server.stop();
}
