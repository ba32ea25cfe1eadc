//! Limits of accounts over REST and the compatible interface: what is refused with which code, what is told of them,
//! and that a restart changes none of it. Also the limits of a member's messages and connections over HTTP.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, hmac_hex, market, secret};
use crate::common::server::Launch;

use super::listen_keys::{listen_key, signed};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn put(http: &Http, account: &str, limits: &Value) -> (u16, Value) {
    let answer = http.send("PUT", &format!("/api/v1/accounts/{account}/limits"), Some(&limits.to_string()), &JSON);
    (answer.status, answer.body)
}

fn place(http: &Http, account: &str, order: Value) -> (u16, Value) {
    let mut body = json!({"account": account, "symbol": "SPY", "side": "buy"});
    body.as_object_mut().unwrap().extend(order.as_object().unwrap().clone());
    let answer = http.send("POST", "/api/v1/orders", Some(&body.to_string()), &JSON);
    (answer.status, answer.body)
}

#[test]
fn an_order_past_a_limit_of_its_account_is_refused_with_its_code_also_after_a_restart() {
    let folder = Folder::new("limits-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    assert_eq!(http.read("/api/v1/accounts/1/limits"), json!({}));
    assert_eq!(http.read("/api/v1/accounts/1").get("limits"), None);
    let limits =
        json!({"open_orders": 2, "order_shares": "50", "order_value": "400", "position": "150", "collar": "10"});
    assert_eq!(put(&http, "1", &limits), (200, limits.clone()));
    assert_eq!(http.read("/api/v1/accounts/1")["limits"], limits);
    for (account, wrong, field) in [
        ("1", json!({"open_orders": 0}), "open_orders"),
        ("1", json!({"position": "-1"}), "position"),
        ("1", json!({"collar": "0.001"}), "collar"),
    ] {
        let (status, problem) = put(&http, account, &wrong);
        assert_eq!((status, &problem["code"], &problem["field"]), (400, &json!("malformed"), &json!(field)));
    }
    assert_eq!(put(&http, "1", &json!({"shares": "1"})).0, 400);
    assert_eq!(put(&http, "9", &json!({})).1["code"], "unknown-account");
    assert_eq!(http.send("GET", "/api/v1/accounts/9/limits", None, &[]).status, 404);
    assert_eq!(place(&http, "2", json!({"side": "sell", "limit": "10", "shares": "20"})).0, 201);
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(http.read("/api/v1/accounts/1/limits"), limits);
    for (order, code) in [
        (json!({"limit": "1", "shares": "51"}), "past-order-shares"),
        (json!({"limit": "8.01", "shares": "50"}), "past-order-value"),
        (json!({"funds": "400.01", "kind": "market"}), "past-order-value"),
        (json!({"limit": "11.01", "shares": "1"}), "past-collar"),
    ] {
        let (status, problem) = place(&http, "1", order.clone());
        assert_eq!((status, &problem["code"]), (422, &json!(code)), "{order}: {problem}");
    }
    assert_eq!(place(&http, "1", json!({"limit": "8", "shares": "50"})).0, 201);
    let (status, problem) = place(&http, "1", json!({"limit": "1", "shares": "1"}));
    assert_eq!((status, &problem["code"]), (422, &json!("past-position")));
    assert_eq!(place(&http, "1", json!({"side": "sell", "limit": "20", "shares": "1"})).0, 201);
    let (_, problem) = place(&http, "1", json!({"side": "sell", "limit": "20", "shares": "1"}));
    assert_eq!(problem["code"], "past-open-orders");
    assert_eq!(problem["detail"], "Too many open orders: this account may have 2");
    let told = http.send("GET", "/metrics", None, &[]);
    let expected = "pricetime_limit_refusals_total{gateway=\"rest\",limit=\"account_order_value\"} 2";
    assert!(told.text.contains(expected), "{}", told.text);
    assert_eq!(put(&http, "1", &json!({})), (200, json!({})));
    assert_eq!(place(&http, "1", json!({"limit": "15", "shares": "1"})).0, 201);
    server.stop();
}

/// An access file with a viewer that has these limits, beside the other members.
fn with_limits(folder: &Folder, limits: &str) -> AccessFile {
    let file = AccessFile::new(folder);
    let text = AccessFile::text(&[]);
    let of_bob = "name = \"bob\"\n";
    assert!(text.contains(of_bob), "{text}");
    file.write(&text.replace(of_bob, &format!("{of_bob}limits = {{ {limits} }}\n")));
    file
}

#[test]
fn a_member_sends_so_many_requests_a_second_and_ends_its_orders_all_the_same() {
    let folder = Folder::new("messages-rest");
    let server = with_limits(&folder, "messages_per_second = 3").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let bob = Client { http: &http, member: "bob" };
    let answers: Vec<_> = (0..20).map(|_| bob.get("/api/v1/accounts/2")).collect();
    let read = answers.iter().filter(|answer| answer.status == 200).count();
    // A slow machine lets a few more through.
    assert!((3..20).contains(&read), "{read}");
    let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
    assert_eq!(refused.code(), (429, "too-many-messages"));
    assert_eq!(refused.body["detail"], "too many messages: this member may send 3 a second; try again");
    let order = json!({"account": "2", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
    let placed: Vec<_> = (0..20).map(|_| bob.send("POST", "/api/v1/orders", Some(&order))).collect();
    // A slow machine takes the first ones, too.
    let refused = placed.iter().find(|answer| answer.status == 429).expect("orders count, too");
    assert_eq!(refused.code(), (429, "too-many-messages"));
    let canceled = bob.send("DELETE", "/api/v1/accounts/2/orders", None);
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    // Other members do not wait for that.
    let alice = Client { http: &http, member: "alice" };
    assert!((0..20).all(|_| alice.get("/api/v1/accounts/1").status == 200));
    server.stop();
}

/// Each step of a cancel of all orders counted, and a query of an order counted twice: a member was refused what it
/// sent next.
#[test]
fn a_request_is_one_message_whatever_it_takes() {
    let folder = Folder::new("messages-steps");
    let server = with_limits(&folder, "messages_per_second = 2").launch(&folder).start();
    let http = Http::new(server.http);
    let [_, order] = market(&http);
    let mut operator = server.client();
    operator.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    let orders = r#"<order sym="SPY" amount="1" limit="0.01"/>"#.repeat(2_500);
    let placed = operator.ask(&format!("<transactions id=\"2\">{orders}</transactions>"));
    assert_eq!(placed.matches("<opened").count(), 2_500);
    let bob = Client { http: &http, member: "bob" };
    let path = format!("/api/v1/orders/{order}?account=2");
    let told: Vec<u16> = (0..2).map(|_| bob.get(&path).status).collect();
    assert_eq!(told, [200; 2]);
    // All of the member's messages of a second are free again.
    std::thread::sleep(Duration::from_millis(1_100));
    let canceled = bob.send("DELETE", "/api/v1/accounts/2/orders", None);
    assert_eq!(canceled.body["canceled"].as_array().unwrap().len(), 2_501);
    assert_eq!(bob.get("/api/v1/accounts/2").status, 200);
    server.stop();
}

#[test]
fn a_member_has_so_many_websockets() {
    let folder = Folder::new("connections-rest");
    let server = with_limits(&folder, "connections = 2").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let proof = |member| format!("Bearer {}", Client { http: &http, member }.log_in());
    let (bob, alice) = (proof("bob"), proof("alice"));
    let of = |proof| http.listen_with("/ws/v1", &[("authorization", proof)]);
    let (first, second) = (of(&bob), of(&bob));
    let asks = [
        ("authorization", bob.as_str()),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let refused = http.send("GET", "/ws/v1", None, &asks);
    assert_eq!(refused.code(), (429, "too-many-connections-of-member"), "{}", refused.text);
    assert_eq!(refused.body["detail"], "too many connections: this member may have 2 open; close one");
    drop(of(&alice));
    drop(first);
    // The server notices the end of the connection a little later.
    let again = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        http.send("GET", "/ws/v1", None, &asks).status == 101
    });
    assert!(again);
    drop(second);
    server.stop();
}

/// A refusal for a member's limits once named the first order of a list, whichever one exceeded them.
#[test]
fn a_list_past_a_members_limit_is_refused_with_the_order_at_fault_and_leaves_none() {
    let folder = Folder::new("member-limits-lists");
    let server = with_limits(&folder, "order_shares = \"20\"").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let bob = Client { http: &http, member: "bob" };
    let order = |side: &str, shares: &str, terms: Value| {
        let mut order = json!({"account": "2", "symbol": "SPY", "side": side, "shares": shares});
        order.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
        order
    };
    let buy = |shares: &str| order("buy", shares, json!({"limit": "5"}));
    let above = |shares: &str| order("sell", shares, json!({"kind": "post_only", "limit": "30"}));
    let below = |shares: &str| order("sell", shares, json!({"kind": "market", "stop": "2"}));
    let open = || Client { http: &http, member: "olga" }.get("/api/v1/accounts/2/orders").body["orders"].clone();
    let before = open();
    for (kind, orders, field) in [
        ("oto", vec![buy("21"), below("1")], "orders.0"),
        ("oto", vec![buy("1"), below("21")], "orders.1"),
        ("otoco", vec![buy("1"), above("21"), below("21")], "orders.1"),
        ("otoco", vec![buy("21"), above("21"), below("21")], "orders.0"),
        ("oco", vec![above("21"), below("21")], "orders.0"),
    ] {
        let refused = bob.send("POST", "/api/v1/order-lists", Some(&json!({"kind": kind, "orders": orders})));
        assert_eq!(refused.code(), (422, "order-too-large"), "{}", refused.text);
        assert_eq!(refused.body["field"], field, "{kind} {}", refused.text);
        let why = "too many shares: an order of this member may have 20";
        assert_eq!(refused.body["detail"], why, "{kind} {field}");
        assert_eq!(open(), before, "{kind} {field} leaves no order");
    }
    server.stop();
}

/// The orders that a member may place in a second may run out within a list.
#[test]
fn a_list_past_the_orders_of_a_second_leaves_none() {
    let folder = Folder::new("member-limits-pace");
    let server = with_limits(&folder, "orders_per_second = 1").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let bob = Client { http: &http, member: "bob" };
    let open = || Client { http: &http, member: "olga" }.get("/api/v1/accounts/2/orders").body["orders"].clone();
    let before = open();
    let order =
        |side: &str, limit: &str| json!({"account": "2", "symbol": "SPY", "side": side, "shares": "1", "limit": limit});
    let list = json!({"kind": "oto", "orders": [order("buy", "5"), order("sell", "30")]});
    for _ in 0..3 {
        let refused = bob.send("POST", "/api/v1/order-lists", Some(&list));
        assert_eq!(refused.code(), (429, "too-many-orders"), "{}", refused.text);
        assert_eq!(open(), before);
    }
    server.stop();
}

/// A call that bob signs, whose parameters contain only the proof.
fn call_of_bob(socket: &mut Socket, method: &str) -> Value {
    // Two requests that are signed in the same millisecond are the same request.
    std::thread::sleep(Duration::from_millis(2));
    let timestamp = now();
    let signature = hmac_hex(&secret("bob"), &format!("apiKey=bob-key&timestamp={timestamp}"));
    let params = json!({"apiKey": "bob-key", "timestamp": timestamp, "signature": signature});
    socket.send(&json!({"id": 1, "method": method, "params": params}));
    socket.next()
}

fn is_one_too_many(answer: &Value) -> bool {
    answer["error"]["code"] == json!(-1003) && answer.to_string().contains("this member may have 2 open; close one")
}

/// A connection that was refused a stream of orders once counted among the member's connections all the same, and was
/// told nothing more.
#[test]
fn a_connection_that_is_refused_a_stream_counts_among_nobodys() {
    let folder = Folder::new("connections-refused");
    let server = with_limits(&folder, "connections = 2").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let listen_key = listen_key(&signed(&http, "POST", ("bob-key", &secret("bob")), ""));
    let mut sockets = [(); 4].map(|()| http.listen_at("/binance/ws"));
    let mut ask = |number: usize, method: &str, params: Value| {
        sockets[number].send(&json!({"method": method, "params": params, "id": 1}));
        sockets[number].next()
    };
    for number in 0..4 {
        // This is a stream of the market, which needs a proof here.
        let refused = ask(number, "SUBSCRIBE", json!([listen_key, "spyusd@trade"]));
        assert!(refused.to_string().contains("who asks is not known"), "{number}: {refused}");
        assert_eq!(ask(number, "UNSUBSCRIBE", json!([listen_key]))["result"], Value::Null, "{number}");
    }
    assert_eq!(
        [2, 3].map(|number| ask(number, "SUBSCRIBE", json!([listen_key]))["error"].take()),
        [(); 2].map(|()| Value::Null)
    );
    let refused = ask(0, "SUBSCRIBE", json!([listen_key]));
    assert!(refused.to_string().contains("this member may have 2 open; close one"), "{refused}");
    server.stop();
}

/// A member with `connections = 2` once could log on over any number of connections, and follow its orders on any
/// number more.
#[test]
fn a_logon_and_a_stream_of_orders_count_among_a_members_connections() {
    let folder = Folder::new("connections-logon");
    let server = with_limits(&folder, "connections = 2").launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let listen_key = listen_key(&signed(&http, "POST", ("bob-key", &secret("bob")), ""));
    let [mut first, mut second, mut third] = [(); 3].map(|()| http.listen_at("/binance/ws-api/v3"));
    for _ in 0..3 {
        assert_eq!(call_of_bob(&mut first, "session.logon")["status"], 200, "it counts once");
    }
    assert_eq!(call_of_bob(&mut first, "userDataStream.subscribe.signature")["status"], 200, "it counts already");
    assert_eq!(call_of_bob(&mut second, "userDataStream.subscribe.signature")["status"], 200);
    for method in ["session.logon", "userDataStream.subscribe.signature"] {
        let refused = call_of_bob(&mut third, method);
        assert!(is_one_too_many(&refused), "{method}: {refused}");
    }
    third.send(&json!({"id": 1, "method": "session.status"}));
    assert_eq!(third.next()["result"]["apiKey"], Value::Null);
    // The stream of a listen key, in the path and subscribed to later.
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let refused = http.send("GET", &format!("/binance/ws/{listen_key}"), None, &upgrade);
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!(-1003)), "{}", refused.text);
    let mut streams = http.listen_at("/binance/ws");
    streams.send(&json!({"method": "SUBSCRIBE", "params": [listen_key], "id": 1}));
    let refused = streams.next();
    assert!(refused.to_string().contains("this member may have 2 open; close one"), "{refused}");
    // A connection that has logged out no longer counts, unless it still follows orders by another proof.
    first.send(&json!({"id": 1, "method": "userDataStream.unsubscribe"}));
    while first.next()["id"] != json!(1) {}
    first.send(&json!({"id": 2, "method": "session.logout"}));
    assert_eq!(first.next()["status"], 200);
    let logs_on = (0..100).any(|_| call_of_bob(&mut third, "session.logon")["status"] == 200);
    assert!(logs_on);
    assert!(is_one_too_many(&call_of_bob(&mut first, "session.logon")));
    // When a connection ends, there is one less.
    drop(second);
    let logs_on = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        call_of_bob(&mut first, "session.logon")["status"] == 200
    });
    assert!(logs_on);
    server.stop();
}
