//! Signed requests that somebody recorded and sends again: as another request, or to a server that was restarted.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, SignedOrder, hmac_hex, market, micros, secret};
use crate::common::raw;
use crate::message_limits;

/// Replays that one connection may send, where no minute without one is between.
const REPLAYS_MAX: usize = 16;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";

/// Parameters with their time and alice's signature.
fn sign(parameters: &str) -> String {
    let timed = format!("{parameters}&recvWindow=60000&timestamp={}", now());
    format!("{timed}&signature={}", hmac_hex(&secret("alice"), &timed))
}

fn send(http: &Http, method: &str, path: &str, signed: &str) -> Answer {
    http.send(method, &format!("/binance/api/v3/{path}?{signed}"), None, &[("x-mbx-apikey", "alice-key")])
}

/// Signs a call over the WebSocket API.
fn sign_call(parameters: &[(&str, &str)]) -> Value {
    let timestamp = now().to_string();
    let mut all = [parameters, &[("apiKey", "alice-key"), ("recvWindow", "60000"), ("timestamp", &timestamp)]].concat();
    all.sort_unstable();
    let text: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let signature = hmac_hex(&secret("alice"), &text.join("&"));
    all.push(("signature", &signature));
    all.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect::<serde_json::Map<_, _>>().into()
}

fn call(socket: &mut Socket, method: &str, parameters: &Value) -> Value {
    socket.send(&json!({"id": 1, "method": method, "params": parameters}));
    socket.next()
}

fn open_orders(http: &Http) -> usize {
    let orders = Client { http, member: "alice" }.get("/api/v1/accounts/1/orders");
    orders.body["orders"].as_array().unwrap_or_else(|| panic!("{}", orders.text)).len()
}

#[test]
fn a_recorded_look_changes_nothing() {
    let folder = Folder::new("replayed-look");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    for (path, parameters) in
        [("openOrders", "symbol=SPYUSD".to_owned()), ("order", format!("symbol=SPYUSD&orderId={order}"))]
    {
        let look = sign(&parameters);
        for _ in 0..2 {
            assert_eq!(send(&http, "GET", path, &look).status, 200, "{path}");
        }
        let refused = send(&http, "DELETE", path, &look);
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!(-1022)), "{path}: {}", refused.text);
        assert!(refused.text.contains("sent before to look at something"), "{}", refused.text);
        assert!(refused.text.contains("sign it again, with another timestamp"), "{}", refused.text);
        assert_eq!(send(&http, "GET", path, &look).status, 200, "it may still look: {path}");
    }
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let order_id = order.to_string();
    let placed = [
        ("symbol", "SPYUSD"),
        ("side", "BUY"),
        ("type", "LIMIT"),
        ("timeInForce", "GTC"),
        ("quantity", "1"),
        ("price", "9"),
    ];
    for (looks, changes, parameters) in [
        ("openOrders.status", "openOrders.cancelAll", &[("symbol", "SPYUSD")][..]),
        ("order.status", "order.cancel", &[("symbol", "SPYUSD"), ("orderId", &order_id)]),
        ("order.test", "order.place", &placed),
    ] {
        let look = sign_call(parameters);
        assert_eq!(call(&mut socket, looks, &look)["status"], 200, "{looks}");
        let refused = call(&mut socket, changes, &look);
        assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(400), &json!(-1022)), "{refused}");
    }
    assert_eq!(open_orders(&http), 1);
    // A recorded logon cannot be used to log on, nor to listen to the account.
    for opens in ["session.logon", "userDataStream.subscribe.signature"] {
        // Two requests that are signed in the same millisecond are the same request.
        std::thread::sleep(Duration::from_millis(2));
        let signed = sign_call(&[]);
        assert_eq!(call(&mut socket, opens, &signed)["status"], 200, "{opens}");
        let mut other = http.listen_at("/binance/ws-api/v3");
        let refused = call(&mut other, opens, &signed);
        assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(400), &json!(-1022)), "{refused}");
    }
    // A request that was signed to change something is done once.
    assert_eq!(send(&http, "DELETE", "openOrders", &sign("symbol=SPYUSD")).status, 200);
    assert_eq!(open_orders(&http), 0);
    server.stop();
}

#[test]
fn what_was_signed_before_the_server_started_changes_nothing() {
    let folder = Folder::new("replayed-restart");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let (order, look) = (sign(ORDER), sign("symbol=SPYUSD"));
    assert_eq!(send(&http, "POST", "order", &order).status, 200);
    let ours = SignedOrder::at(micros());
    assert_eq!(ours.send(&http).status, 201);
    assert_eq!(open_orders(&http), 3);
    let called = sign_call(&[("symbol", "SPYUSD")]);
    server.stop();
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    // A member whose clock is behind signs such requests for a while: they are no replays, and end no connection.
    let mut socket = http.listen_at("/binance/ws-api/v3");
    for _ in 0..2 * REPLAYS_MAX {
        assert_eq!(call(&mut socket, "openOrders.cancelAll", &called)["error"]["code"], -1021);
    }
    let refused = send(&http, "POST", "order", &order);
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!(-1021)), "{}", refused.text);
    assert!(refused.text.contains("signed before this server started"), "{}", refused.text);
    // After a slow start the request is too old as well.
    assert_eq!(ours.send(&http).code(), (401, "unauthenticated"));
    assert_eq!(open_orders(&http), 3);
    // A request that only reads does no harm, and what is signed now is done.
    assert_eq!(send(&http, "GET", "openOrders", &look).status, 200);
    assert_eq!(send(&http, "POST", "order", &sign(ORDER)).status, 200);
    server.stop();
}

/// A request of a client whose clock was ahead was signed later than the beginning of a server that was restarted at
/// once.
#[test]
fn what_a_clock_that_is_ahead_signed_is_not_done_again_after_a_restart() {
    let folder = Folder::new("replayed-ahead");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let ahead = micros() + 980_000;
    let ours = SignedOrder::at(ahead);
    let timed = format!("{ORDER}&recvWindow=60000&timestamp={}", ahead / 1000);
    let theirs = format!("{timed}&signature={}", hmac_hex(&secret("alice"), &timed));
    // On a slow machine the server begins later than the client's time. Then only the time of the last command counts.
    assert_eq!(ours.send(&http).status, 201);
    assert_eq!(send(&http, "POST", "order", &theirs).status, 200);
    server.kill();
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(ours.send(&http).code(), (401, "unauthenticated"));
    let refused = send(&http, "POST", "order", &theirs);
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!(-1021)), "{}", refused.text);
    assert!(refused.text.contains("signed before this server started"), "{}", refused.text);
    assert_eq!(open_orders(&http), 3);
    // A client with a right clock is served at once.
    assert_eq!(send(&http, "POST", "order", &sign(ORDER)).status, 200);
    server.stop();
}

/// Anybody who recorded a request used up its member's messages a second by sending it again.
#[test]
fn a_signed_request_that_comes_again_uses_up_none_of_its_members_messages() {
    let folder = Folder::new("replays-of-strangers");
    let (server, http) = message_limits::start(&folder);
    let (ours, theirs) = (SignedOrder::at(micros()), sign(ORDER));
    let called = sign_call(&[("symbol", "SPYUSD"), ("orderId", "1")]);
    // Each is taken once, whether or not its member may send as many in this second.
    let mut socket = http.listen_at("/binance/ws-api/v3");
    drop((ours.send(&http), send(&http, "POST", "order", &theirs), call(&mut socket, "order.cancel", &called)));
    for _ in 0..REPLAYS_MAX - 1 {
        // A signature covers no method and no path, and what was a change is no look.
        let look = send(&http, "GET", "account", &theirs);
        assert_eq!((look.status, &look.body["code"]), (400, &json!(-1022)), "{}", look.text);
        let again = ours.send(&http);
        assert_eq!(again.code(), (401, "unauthenticated"), "{}", again.text);
        let again = send(&http, "POST", "order", &theirs);
        assert_eq!((again.status, &again.body["code"]), (400, &json!(-1022)), "{}", again.text);
        assert_eq!(call(&mut socket, "order.cancel", &called)["error"]["code"], -1022);
    }
    server.stop();
}

/// A connection had the same request verified as often as it sent it.
#[test]
fn a_connection_ends_with_its_sixteenth_replay() {
    let folder = Folder::new("replays-end");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let called = sign_call(&[("symbol", "SPYUSD")]);
    assert_eq!(call(&mut socket, "openOrders.cancelAll", &called)["status"], 200);
    for _ in 0..REPLAYS_MAX {
        assert_eq!(call(&mut socket, "openOrders.cancelAll", &called)["error"]["code"], -1022);
    }
    assert_eq!(socket.read_to_end(), (Vec::new(), Some((1008, "too-many-wrong-proofs".to_owned()))));
    let theirs = sign(ORDER);
    assert_eq!(send(&http, "POST", "order", &theirs).status, 200);
    let mut stream = raw::connect_from([127, 0, 0, 8], server.http);
    let again = format!(
        "POST /binance/api/v3/order?{theirs} HTTP/1.1\r\nhost: localhost\r\nx-mbx-apikey: alice-key\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(again.repeat(REPLAYS_MAX).as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    assert_eq!(told.matches("HTTP/1.1 400").count(), REPLAYS_MAX, "{told}");
    assert_eq!(told.matches("connection: close").count(), 1, "{told}");
    server.stop();
}

/// The signature of any old request was verified before its time was looked at.
#[test]
fn a_request_of_another_time_is_refused_before_its_signature_is_verified() {
    let folder = Folder::new("replays-unverified");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let old = format!("timestamp=1&signature={}", "0".repeat(64));
    assert_eq!(send(&http, "GET", "account", &old).body["code"], -1021);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let old = json!({"apiKey": "alice-key", "timestamp": 1, "signature": "0".repeat(64)});
    assert_eq!(call(&mut socket, "session.logon", &old)["error"]["code"], -1021);
    server.stop();
}
