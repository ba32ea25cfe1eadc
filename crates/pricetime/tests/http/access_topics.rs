//! Permissions on WebSockets, and when they end; and the compatible interface with keys of the access file.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, basic, hmac_hex, market, secret};
use crate::common::server::Server;

fn start(folder: &Folder) -> (Server, Http, AccessFile) {
    let file = AccessFile::new(folder);
    let server = file.launch(folder).start();
    let http = Http::new(server.http);
    market(&http);
    (server, http, file)
}

fn listen(http: &Http, member: &str, path: &str) -> Socket {
    http.listen_with(path, &[("authorization", &basic(&format!("{member}-key"), &secret(member)))])
}

fn refused(socket: &mut Socket, request: Value) -> Value {
    socket.send(&request);
    let told = socket.next();
    assert_eq!(told["type"], "error", "{told}");
    told["code"].clone()
}

/// Waits until the server ends the connection, because its client may no longer get what it follows.
fn is_revoked(socket: Socket) {
    let (_, closed) = socket.read_to_end();
    assert_eq!(closed, Some((1008, "not-permitted".to_owned())));
}

#[test]
fn an_accounts_topics_are_for_those_who_may_look_at_it() {
    let folder = Folder::new("access-topics");
    let (server, http, _) = start(&folder);
    let mut bob = listen(&http, "bob", "/ws/v1");
    bob.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    bob.subscribe(json!({"op": "subscribe", "id": 2, "channel": "orders", "account": "2"}));
    for account in ["1", "99"] {
        for more in [json!({"op": "subscribe"}), json!({"op": "subscribe", "from": 0}), json!({"op": "unsubscribe"})] {
            let mut request = json!({"id": 3, "channel": "orders", "account": account});
            request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(refused(&mut bob, request), "unknown-account");
        }
    }
    let mut auditor = listen(&http, "otto", "/ws/v1");
    auditor.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    server.stop();
}

#[test]
fn whoever_is_revoked_is_told_nothing_more() {
    let folder = Folder::new("access-revoked");
    let (server, http, file) = start(&folder);
    let mut bob = listen(&http, "bob", "/ws/v1");
    bob.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "2"}));
    let mut vera = listen(&http, "vera", "/ws/v1");
    vera.subscribe(json!({"op": "subscribe", "id": 1, "channel": "trades", "symbol": "SPY"}));
    let token = Client { http: &http, member: "bob" }.log_in();
    let bearer = format!("Bearer {token}");
    let by_token = http.listen_with("/ws/v1", &[("authorization", &bearer)]);
    // The viewer stays in the file, and the trader is removed.
    file.write(&AccessFile::text(&["bob"]));
    [bob, by_token].into_iter().for_each(is_revoked);
    assert_eq!(http.send("GET", "/api/v1/accounts/2", None, &[("authorization", &bearer)]).status, 401);
    assert_eq!(Client { http: &http, member: "bob" }.get("/api/v1/accounts/2").status, 401);
    vera.send(&json!({"op": "ping", "id": 9}));
    assert_eq!(vera.next()["type"], "pong");
    // Logging out ends the WebSockets that were opened with this session, and no others.
    let alice = Client { http: &http, member: "alice" };
    let bearer = format!("Bearer {}", alice.log_in());
    let mut by_token = http.listen_with("/ws/v1", &[("authorization", &bearer)]);
    by_token.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    assert_eq!(http.send("DELETE", "/api/v1/sessions", None, &[("authorization", &bearer)]).status, 200);
    is_revoked(by_token);
    server.stop();
}

/// A member has 16 sessions. One more ends the session that was used least recently, also on its open connections.
#[test]
fn a_session_that_a_later_one_pushes_out_is_told_nothing_more() {
    let folder = Folder::new("access-pushed-out");
    let (server, http, _) = start(&folder);
    let alice = Client { http: &http, member: "alice" };
    let bearers: Vec<String> = (0..16).map(|_| format!("Bearer {}", alice.log_in())).collect();
    let mut sockets: Vec<Socket> =
        [0, 15].map(|at| http.listen_with("/ws/v1", &[("authorization", &bearers[at])])).into();
    for bearer in &bearers[1..] {
        assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("authorization", bearer)]).status, 200);
    }
    alice.log_in();
    let mut last = sockets.pop().unwrap();
    sockets.into_iter().for_each(is_revoked);
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("authorization", &bearers[0])]).status, 401);
    last.send(&json!({"op": "ping", "id": 9}));
    assert_eq!(last.next()["type"], "pong");
    server.stop();
}

/// Sends a request of the compatible interface that is signed with the member's key.
fn compatible(http: &Http, member: &str, (method, path): (&str, &str), text: &str) -> (u16, Value) {
    let signature = hmac_hex(&secret(member), text);
    let path = format!("/binance/api/v3/{path}?{text}&signature={signature}");
    let answer = http.send(method, &path, None, &[("x-mbx-apikey", &format!("{member}-key"))]);
    (answer.status, answer.body)
}

#[test]
fn keys_of_the_access_file_sign_for_the_compatible_interface() {
    let folder = Folder::new("access-binance");
    let (server, http, file) = start(&folder);
    let timed = |text: &str| format!("{text}&timestamp={}", now());
    let order = timed("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9");
    let (placed, sent) = compatible(&http, "alice", ("POST", "order"), &order);
    assert_eq!(placed, 200, "{sent}");
    let again = compatible(&http, "alice", ("POST", "order"), &order);
    assert_eq!((again.0, &again.1["code"]), (400, &json!(-1022)), "the same request again: {}", again.1);
    // A request that only reads may be repeated within a millisecond.
    let look = timed("omitZeroBalances=true");
    for _ in 0..2 {
        let (status, account) = compatible(&http, "alice", ("GET", "account"), &look);
        assert_eq!((status, &account["uid"]), (200, &json!(1)), "{account}");
    }
    // An unknown key gets the same answer as a wrong signature.
    let wrong = |key: &str| {
        http.send(
            "GET",
            &format!("/binance/api/v3/account?{look}&signature={}", "0".repeat(64)),
            None,
            &[("x-mbx-apikey", key)],
        )
        .text
    };
    assert_eq!(wrong("alice-key"), wrong("no-key"));
    // A viewer reads and does not trade, and an auditor has no account of its own.
    assert_eq!(compatible(&http, "vera", ("GET", "account"), &timed("omitZeroBalances=true")).0, 200);
    let order = timed("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=8");
    assert!(compatible(&http, "vera", ("POST", "order"), &order).0 >= 400);
    assert_eq!(compatible(&http, "otto", ("GET", "account"), &timed("omitZeroBalances=true")).1["code"], -2015);
    // The market's streams are for members; an account's stream is for any client that has its listen key.
    let (_, listen_key) = compatible(&http, "alice", ("POST", "userDataStream"), &format!("timestamp={}", now()));
    let path = format!("/binance/ws/{}", listen_key["listenKey"].as_str().unwrap_or_else(|| panic!("{listen_key}")));
    let stream = http.listen_at(&path);
    let mut nobodys = http.listen_at("/binance/ws-api/v3");
    nobodys.send(&json!({"id": 1, "method": "depth", "params": {"symbol": "SPYUSD"}}));
    assert_eq!(nobodys.next()["status"], 401);
    nobodys.send(&json!({"id": 2, "method": "time"}));
    assert_eq!(nobodys.next()["status"], 200);
    nobodys.send(&json!({"id": 3, "method": "session.logon", "params": logon("alice")}));
    assert_eq!(nobodys.next()["status"], 200);
    nobodys.send(&json!({"id": 4, "method": "depth", "params": {"symbol": "SPYUSD"}}));
    assert_eq!(nobodys.next()["status"], 200);
    nobodys.send(&json!({"id": 5, "method": "userDataStream.subscribe"}));
    assert_eq!(nobodys.next()["status"], 200);
    file.write(&AccessFile::text(&["alice"]));
    [stream, nobodys].into_iter().for_each(is_revoked);
    assert_eq!(http.get(&path).status, 400, "no upgrade");
    server.stop();
}

/// The interface's routes need the same permissions at the root of an address of its own.
#[test]
fn the_compatible_interface_at_the_root_asks_who_it_is() {
    let folder = Folder::new("access-root");
    let server = AccessFile::new(&folder).launch(&folder).with("--binance-at 127.0.0.1:0").start();
    market(&Http::new(server.http));
    let http = Http::new(server.compatible.unwrap());
    for path in
        ["/api/v3/depth?symbol=SPYUSD", "/api/v3/exchangeInfo", "/api/v3/account", "/stream", "/ws/spyusd@trade"]
    {
        assert!([400, 401].contains(&http.get(path).status), "{path}");
    }
    assert_eq!((http.get("/api/v3/depth?symbol=SPYUSD").status, http.get("/api/v3/ping").status), (401, 200));
    let by_key = [("authorization", basic("bob-key", &secret("bob")))];
    let by_key: Vec<(&str, &str)> = by_key.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(http.send("GET", "/api/v3/depth?symbol=SPYUSD", None, &by_key).status, 200);
    server.stop();
}

fn logon(member: &str) -> Value {
    let timestamp = now();
    let signature = hmac_hex(&secret(member), &format!("apiKey={member}-key&timestamp={timestamp}"));
    json!({"apiKey": format!("{member}-key"), "timestamp": timestamp, "signature": signature})
}
