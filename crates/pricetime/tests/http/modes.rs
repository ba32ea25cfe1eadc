//! The venue's modes: what members and operators may do in each, over every protocol, and after a restart.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::client::Client as Xml;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, basic, hmac_hex, market, micros, secret};
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;

const READ_ONLY: &str = "the venue is read-only: nothing was changed; queries are answered";
const MAINTENANCE: &str = "the venue is under maintenance: nothing was changed; try again later";

fn xml(server: &Server, member: &str) -> Xml {
    let mut client = server.client();
    let reply = client.ask(&format!("<login key=\"{member}-key\" secret=\"{}\"/>", secret(member)));
    assert!(reply.contains("<logged-in "), "{reply}");
    client
}

fn set(http: &Http, mode: &str) {
    let answer = Client { http, member: "olga" }.send("PUT", "/api/v1/mode", Some(&json!({"mode": mode})));
    assert_eq!((answer.status, answer.body), (200, json!({"mode": mode})));
}

/// The statuses that alice, a trader, gets over REST for an order, for its cancel and for a look at her account.
fn told(http: &Http, order: u64) -> [u16; 3] {
    let alice = Client { http, member: "alice" };
    let placing = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
    let placed = alice.send("POST", "/api/v1/orders", Some(&placing)).status;
    let canceled = alice.send("DELETE", &format!("/api/v1/orders/{order}?account=1"), None).status;
    [placed, canceled, alice.get("/api/v1/accounts/1").status]
}

#[test]
fn members_look_in_a_read_only_venue_and_change_nothing_and_operators_go_on() {
    let folder = Folder::new("modes-read-only");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    let olga = Client { http: &http, member: "olga" };
    let alice = Client { http: &http, member: "alice" };
    let status = olga.get("/api/v1/status").body;
    assert!(status.get("mode").is_none() && olga.get("/api/v1/mode").body == json!({"mode": "normal"}), "{status}");
    assert_eq!(alice.send("PUT", "/api/v1/mode", Some(&json!({"mode": "maintenance"}))).code(), (403, "not-permitted"));
    let wrong = olga.send("PUT", "/api/v1/mode", Some(&json!({"mode": "closed"})));
    assert_eq!((wrong.code(), &wrong.body["field"]), ((400, "malformed"), &json!("mode")));
    let mut hers = xml(&server, "alice");
    set(&http, "read-only");
    wait_until("the seconds that are told say the mode", PATIENCE, || {
        let seconds = alice.get("/api/v1/status/seconds").body;
        seconds["seconds"].as_array().and_then(|all| all.last()).is_some_and(|last| last["mode"] == "read-only")
    });
    let sequence = olga.get("/api/v1/status").body["sequence"].clone();
    assert_eq!(told(&http, order), [503, 503, 200]);
    let refused = alice.send("DELETE", &format!("/api/v1/orders/{order}?account=1"), None);
    assert_eq!((refused.code(), &refused.body["detail"]), ((503, "read-only"), &json!(READ_ONLY)));
    let reply =
        hers.ask(&format!("<transactions id=\"1\"><cancel id=\"{order}\"/><query id=\"{order}\"/></transactions>"));
    assert_eq!(
        reply,
        format!(
            "<results><error id=\"{order}\">{READ_ONLY}</error><status id=\"{order}\"><open shares=\"1\"/></status></results>\n"
        )
    );
    let placing =
        format!("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9&timestamp={}", micros() / 1000);
    let signature = hmac_hex(&secret("alice"), &placing);
    let compatible = http.send(
        "POST",
        &format!("/binance/api/v3/order?{placing}&signature={signature}"),
        None,
        &[("x-mbx-apikey", "alice-key")],
    );
    assert_eq!((compatible.status, &compatible.body["code"]), (503, &json!(-1001)), "{}", compatible.text);
    let told_status = olga.get("/api/v1/status").body;
    assert_eq!((&told_status["sequence"], &told_status["mode"]), (&sequence, &json!("read-only")), "nothing was done");
    assert!(olga.get("/metrics").text.contains("\npricetime_mode 1\n"));
    assert_eq!(http.get("/ready").status, 200);
    let placing = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "8"});
    olga.make("/api/v1/orders", &placing);
    // The mode is kept over a restart.
    server.stop();
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(told(&http, order), [503, 503, 200]);
    set(&http, "normal");
    assert_eq!(told(&http, order), [201, 200, 200]);
    let log = std::fs::read_to_string(file.path.with_extension("toml.log")).unwrap();
    let lines: Vec<&str> = log.lines().filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
    assert_eq!(lines, ["user=olga from=127.0.0.1 mode read-only", "user=olga from=127.0.0.1 mode normal"]);
    server.stop();
}

/// Accounts and shares that an issuer makes are changes, too.
#[test]
fn issuers_make_nothing_in_a_read_only_venue() {
    let folder = Folder::new("modes-issuers");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let igor = Client { http: &http, member: "igor" };
    let mut his = xml(&server, "igor");
    set(&http, "read-only");
    let sequence = || Client { http: &http, member: "olga" }.get("/api/v1/status").body["sequence"].clone();
    let before = sequence();
    let (account, shares) = (json!({"account": "3", "balance": "1"}), json!({"account": "1", "shares": "1"}));
    for (path, body) in [("/api/v1/accounts", &account), ("/api/v1/symbols/SPY/shares", &shares)] {
        let refused = igor.send("POST", path, Some(body));
        assert_eq!((refused.code(), &refused.body["detail"]), ((503, "read-only"), &json!(READ_ONLY)), "{path}");
    }
    let reply = his.ask(
        "<create><account id=\"3\" balance=\"1\"/><symbol sym=\"SPY\"><account id=\"1\">1</account></symbol><symbol sym=\"NEW\"/></create>",
    );
    assert_eq!(
        reply,
        format!(
            "<results><error id=\"3\">{READ_ONLY}</error><error sym=\"SPY\" id=\"1\">{READ_ONLY}</error>\
             <error sym=\"NEW\">{READ_ONLY}</error></results>\n"
        )
    );
    assert_eq!(sequence(), before, "nothing was done");
    set(&http, "normal");
    assert_eq!(igor.send("POST", "/api/v1/accounts", Some(&account)).status, 201);
    server.stop();
}

#[test]
fn under_maintenance_there_are_none_but_operators() {
    let folder = Folder::new("modes-maintenance");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    let alice = Client { http: &http, member: "alice" };
    let token = alice.log_in();
    let bearer = format!("Bearer {token}");
    let proof = [("authorization", bearer.as_str())];
    let mut hers = xml(&server, "alice");
    // This is how somebody on the machine itself changes the mode.
    let ran = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .args(["access", "mode", file.path.to_str().unwrap(), "maintenance"])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    wait_until("the mode to be followed", PATIENCE, || http.get("/ready").status == 503);
    assert_eq!(http.get("/ready").body["status"], "maintenance");
    assert_eq!(http.get("/health").status, 200);
    assert_eq!(told(&http, order), [503, 503, 503]);
    let refused = http.send("GET", "/api/v1/accounts/1", None, &proof);
    assert_eq!((refused.code(), &refused.body["detail"]), ((503, "maintenance"), &json!(MAINTENANCE)));
    let query = format!("<transactions id=\"1\"><query id=\"{order}\"/></transactions>");
    assert_eq!(hers.ask(&query), format!("<results><error id=\"{order}\">{MAINTENANCE}</error></results>\n"));
    assert_eq!(http.get("/api/v1/accounts/1").status, 401, "who proves nothing is told that");
    let timed = format!("timestamp={}", micros() / 1000);
    let signature = hmac_hex(&secret("alice"), &timed);
    let path = format!("/binance/api/v3/account?{timed}&signature={signature}");
    assert_eq!(http.send("GET", &path, None, &[("x-mbx-apikey", "alice-key")]).body["code"], -1001);
    let olga = Client { http: &http, member: "olga" };
    assert_eq!(olga.get("/api/v1/accounts/1").status, 200);
    assert!(xml(&server, "olga").ask(&query).contains("<status "));
    assert!(olga.get("/metrics").text.contains("\npricetime_mode 2\n"));
    set(&http, "normal");
    assert_eq!(told(&http, order), [201, 200, 200]);
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &proof).status, 200, "a session has outlasted it");
    assert!(hers.ask(&query).contains("<status "), "and a connection");
    server.stop();
}

#[test]
fn under_maintenance_the_websocket_api_shows_nothing() {
    let folder = Folder::new("modes-websocket-api");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let mut call = |method: &str, parameters: serde_json::Value| {
        socket.send(&json!({"id": 1, "method": method, "params": parameters}));
        socket.next()["status"].clone()
    };
    let timestamp = micros() / 1000;
    let signature = hmac_hex(&secret("alice"), &format!("apiKey=alice-key&timestamp={timestamp}"));
    let logon = json!({"apiKey": "alice-key", "timestamp": timestamp, "signature": signature});
    assert_eq!(call("session.logon", logon), 200);
    let looks = [
        ("depth", json!({"symbol": "SPYUSD"})),
        ("exchangeInfo", json!({})),
        ("openOrders.status", json!({"symbol": "SPYUSD", "timestamp": micros() / 1000, "recvWindow": 60000})),
        ("account.status", json!({"timestamp": micros() / 1000, "recvWindow": 60000})),
        ("userDataStream.subscribe", json!({})),
    ];
    for (method, parameters) in &looks[..4] {
        assert_eq!(call(method, parameters.clone()), 200, "{method}");
    }
    set(&http, "maintenance");
    for (method, parameters) in looks {
        assert_eq!(call(method, parameters), 503, "{method}");
    }
    assert_eq!(call("time", json!({})), 200);
    server.stop();
}

/// Streams of members that are open end with the mode, whatever they follow. An operator's stays.
#[test]
fn maintenance_ends_the_open_streams_of_all_but_operators() {
    let folder = Folder::new("modes-streams");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let listen = |member: &str, path: &str| {
        http.listen_with(path, &[("authorization", &basic(&format!("{member}-key"), &secret(member)))])
    };
    let subscribed = |member: &str, request: Value| {
        let mut socket = listen(member, "/ws/v1");
        socket.subscribe(request);
        socket
    };
    let timed = format!("timestamp={}", micros() / 1000);
    let path = format!("/binance/api/v3/userDataStream?{timed}&signature={}", hmac_hex(&secret("alice"), &timed));
    let told = http.send("POST", &path, None, &[("x-mbx-apikey", "alice-key")]).body;
    let listen_key = told["listenKey"].as_str().unwrap_or_else(|| panic!("{told}"));
    let mut open = [
        ("a book", subscribed("alice", json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}))),
        ("own orders", subscribed("alice", json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}))),
        ("a viewer", subscribed("vera", json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "2"}))),
        ("an auditor", subscribed("otto", json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}))),
        ("compatible trades", listen("alice", "/binance/ws/spyusd@trade")),
        ("compatible orders", http.listen_at(&format!("/binance/ws/{listen_key}"))),
    ];
    let mut operators = subscribed("olga", json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    set(&http, "read-only");
    for (what, socket) in &mut open {
        let is_native = !what.starts_with("compatible");
        let (asked, answer) = match is_native {
            true => (json!({"op": "ping", "id": 9}), "pong"),
            false => (json!({"method": "LIST_SUBSCRIPTIONS", "id": 9}), ""),
        };
        socket.send(&asked);
        wait_until(&format!("{what} goes on while the venue is read-only"), PATIENCE, || {
            let told = socket.next();
            told["id"] == 9 && (!is_native || told["type"] == answer)
        });
    }
    set(&http, "maintenance");
    for (what, socket) in open {
        assert_eq!(socket.read_to_end().1, Some((1008, "not-permitted".to_owned())), "{what}");
    }
    operators.send(&json!({"op": "ping", "id": 9}));
    assert_eq!(operators.next()["type"], "pong");
    server.stop();
}

#[test]
fn only_who_may_look_at_the_market_is_told_how_far_it_is() {
    let folder = Folder::new("sequence-of-strangers");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let far = [("pricetime-at-least", "18446744073709551615")];
    for path in
        ["/api/v1/sessions", "/api/v1/nothing", "/binance/api/v3/account", "/binance/api/v3/depth?symbol=SPYUSD"]
    {
        for headers in [&[][..], &far] {
            let (_, told) = http.head(path, headers);
            assert!(!told.contains_key("pricetime-sequence"), "{path}: {told:?}");
            let body = http.send("GET", path, None, headers).text;
            assert!(!body.contains("at command"), "{path}: {body}");
        }
    }
    let proof = basic("alice-key", &secret("alice"));
    let (_, told) = http.head("/api/v1/sessions", &[("authorization", &proof)]);
    assert!(told.contains_key("pricetime-sequence"), "{told:?}");
    server.stop();
}
