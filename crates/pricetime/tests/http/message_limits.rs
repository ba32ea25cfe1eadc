//! The number of messages that a member may send in a second is counted on each interface, including messages that
//! never reach the exchange.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, basic, hmac_hex, market, secret};
use crate::common::server::Server;

const PAST: &str = "this member may send 1 a second; try again";
/// The number of messages that are tried. A slow machine lets a few more through.
const TRIES: usize = 200;

/// Starts a server whose member alice may send one message a second.
pub fn start(folder: &Folder) -> (Server, Http) {
    let file = AccessFile::new(folder);
    let limits = "accounts = [\"1\"]\nlimits = { messages_per_second = 1 }\n";
    file.write(&AccessFile::text(&[]).replace("accounts = [\"1\"]\n", limits));
    let server = file.launch(folder).start();
    let http = Http::new(server.http);
    market(&http);
    (server, http)
}

#[test]
fn writes_that_do_not_come_to_the_exchange_count() {
    let folder = Folder::new("message-limits-writes");
    let (server, http) = start(&folder);
    let proof = basic("alice-key", &secret("alice"));
    let login = json!({"key": "alice-key", "secret": secret("alice")}).to_string();
    let signed: [(&str, &str); 1] = [("authorization", &proof)];
    for (method, path, body, headers) in [
        // No JSON, no order, another member's account, a missing permission, and a request that is not about orders.
        ("POST", "/api/v1/orders", Some("{"), &signed[..]),
        ("POST", "/api/v1/orders", Some("{}"), &signed),
        ("DELETE", "/api/v1/accounts/2/orders", None, &signed),
        ("DELETE", "/api/v1/orders/x?account=1", None, &signed),
        ("PUT", "/api/v1/mode", Some(r#"{"mode":"normal"}"#), &signed),
        ("POST", "/api/v1/accounts", Some("{}"), &signed),
        ("GET", "/api/v1/sessions", None, &signed),
        ("DELETE", "/api/v1/sessions", None, &signed),
        ("GET", "/api/v1/accounts/2", None, &signed),
        // The proof is in the body.
        ("POST", "/api/v1/sessions", Some(&login), &[]),
    ] {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        let refused = (0..TRIES).map(|_| http.send(method, path, body, &headers)).find(|answer| answer.status == 429);
        let refused = refused.unwrap_or_else(|| panic!("{method} {path} never is one too many"));
        assert!(refused.code().1 == "too-many-messages" && refused.text.contains(PAST), "{}", refused.text);
    }
    server.stop();
}

#[test]
fn signed_requests_of_the_compatible_interface_count() {
    let folder = Folder::new("message-limits-compatible");
    let (server, http) = start(&folder);
    let order = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";
    for (number, (method, path, parameters)) in [
        ("POST", "order/test", order),
        ("POST", "order", "symbol=SPYUSD&side=BUY"),
        ("DELETE", "order", "symbol=NONEUSD&orderId=1"),
        ("GET", "openOrders", "symbol=SPYUSD"),
        ("POST", "userDataStream", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let answers = (0..TRIES).map(|attempt| {
            // No two requests are the same, even within one millisecond.
            let timed = format!("{parameters}&recvWindow={}&timestamp={}", 50_000 + TRIES * number + attempt, now());
            let timed = timed.trim_start_matches('&');
            let path = format!("/binance/api/v3/{path}?{timed}&signature={}", hmac_hex(&secret("alice"), timed));
            http.send(method, &path, None, &[("x-mbx-apikey", "alice-key")])
        });
        let refused = answers.into_iter().find(|answer| answer.status == 429);
        let refused = refused.unwrap_or_else(|| panic!("{method} {path} never is one too many"));
        assert!(refused.body["code"] == json!(-1003) && refused.text.contains(PAST), "{}", refused.text);
        assert_eq!(refused.retry_after, "1", "{method} {path}");
    }
    server.stop();
}

/// A replacement takes several requests to the exchange, and each of them counted: a member at its limit could replace
/// no order.
#[test]
fn a_call_of_the_compatible_interface_is_one_message() {
    let folder = Folder::new("message-limits-replace");
    let (server, http) = start(&folder);
    let olga = Client { http: &http, member: "olga" };
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "2", "limit": "9"});
    let order = olga.make("/api/v1/orders", &order)["order_id"].clone();
    for (method, path, parameters) in [
        ("PUT", "order/amend/keepPriority", format!("symbol=SPYUSD&orderId={order}&newQty=1")),
        (
            "POST",
            "order/cancelReplace",
            format!(
                "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9&newClientOrderId=new\
                 &cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={order}"
            ),
        ),
    ] {
        std::thread::sleep(Duration::from_millis(1_100));
        let timed = format!("{parameters}&recvWindow=50000&timestamp={}", now());
        let path = format!("/binance/api/v3/{path}?{timed}&signature={}", hmac_hex(&secret("alice"), &timed));
        let answer = http.send(method, &path, None, &[("x-mbx-apikey", "alice-key")]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    server.stop();
}

/// Sends this until it is refused as one too many.
fn is_refused(socket: &mut Socket, text: &str) -> bool {
    (0..TRIES).any(|_| {
        socket.send_text(text);
        socket.next().to_string().contains(PAST)
    })
}

#[test]
fn messages_on_websockets_count_whatever_they_are() {
    let folder = Folder::new("message-limits-websockets");
    let (server, http) = start(&folder);
    let proof = basic("alice-key", &secret("alice"));
    let open = |path: &str| {
        let opened = (0..TRIES).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            // Opening a connection is a request, too.
            let asked = http.send("GET", "/api/v1/sessions", None, &[("authorization", &proof)]);
            (asked.status == 200).then(|| std::thread::sleep(std::time::Duration::from_millis(1100)))
        });
        assert!(opened.is_some());
        http.listen_with(path, &[("authorization", &proof)])
    };
    for (path, text) in [
        ("/ws/v1", "no JSON"),
        ("/ws/v1", r#"{"op":"ping"}"#),
        ("/binance/ws", "no JSON"),
        ("/binance/ws", r#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#),
        ("/binance/ws-api/v3", "no JSON"),
        ("/binance/ws-api/v3", r#"{"id":1,"method":"depth","params":{"symbol":"SPYUSD"}}"#),
        ("/binance/ws-api/v3", r#"{"id":1,"method":"ping"}"#),
        ("/binance/ws-api/v3", r#"{"id":1,"method":"session.status"}"#),
        ("/binance/ws-api/v3", r#"{"id":1,"method":"nothing"}"#),
    ] {
        assert!(is_refused(&mut open(path), text), "{path} {text}");
    }
    // The same for a session that has logged on, on a connection without a member.
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let logged_on = (0..TRIES).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let timestamp = now();
        let signature = hmac_hex(&secret("alice"), &format!("apiKey=alice-key&timestamp={timestamp}"));
        let logon: Value = json!({"apiKey": "alice-key", "timestamp": timestamp, "signature": signature});
        socket.send(&json!({"id": 1, "method": "session.logon", "params": logon}));
        socket.next()["status"] == 200
    });
    assert!(logged_on);
    for text in
        ["no JSON", r#"{"id":1,"method":"depth","params":{"symbol":"SPYUSD"}}"#, r#"{"id":1,"method":"order.place"}"#]
    {
        assert!(is_refused(&mut socket, text), "{text}");
    }
    server.stop();
}
