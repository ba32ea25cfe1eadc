//! Clients that are refused before they reach the exchange: each is counted by its reason. The log names some of them,
//! without anything that they sent, and stays short when there are many.

use serde_json::{Value, json};

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::{KeyFile, now};
use crate::common::members::{AccessFile, Client, PASSWORD, basic, hmac_hex, market, micros, secret};
use crate::common::raw;
use crate::common::server::{Launch, Server};

/// A text of a client that must not appear in the log.
const HOSTILE: &str = "h0stile\u{1b}[31m";

fn count(metrics: &str, gateway: &str, reason: &str) -> u64 {
    let name = format!("\npricetime_turned_away_total{{gateway=\"{gateway}\",reason=\"{reason}\"}} ");
    let (_, rest) = metrics.split_once(&name).unwrap_or_else(|| panic!("{name}: {metrics}"));
    rest.lines().next().unwrap().parse().unwrap()
}

fn metrics(http: &Http) -> String {
    Client { http, member: "olga" }.get("/metrics").text
}

/// Panics unless the count of each reason of a gateway grew by this much.
fn expect_more(before: &str, after: &str, gateway: &str, expected: &[(&str, u64)]) {
    for (reason, more) in expected {
        let found = count(after, gateway, reason) - count(before, gateway, reason);
        assert_eq!(found, *more, "{gateway} {reason}");
    }
}

fn call(socket: &mut Socket, method: &str, params: &Value) -> Value {
    socket.send(&json!({"id": 1, "method": method, "params": params}));
    socket.next()
}

fn stop(server: Server, told: &[&str]) {
    let log = server.stop().stderr;
    for told in told {
        assert!(log.contains(told), "{told}: {log}");
    }
    for hidden in [HOSTILE, "h0stile", "wrong-secret", &secret("alice"), PASSWORD] {
        assert!(!log.contains(hidden), "{log}");
    }
}

#[test]
fn wrong_proofs_are_counted_and_logged_at_each_door() {
    let folder = Folder::new("turned-away-proofs");
    let server = AccessFile::new(&folder).launch(&folder).with("--fix 127.0.0.1:0").start();
    let http = Http::new(server.http);
    market(&http);
    let mut fix = Fix::connect(server.fix.unwrap(), "A");
    fix.send("A", &format!("98=0|108=30|141=Y|553={HOSTILE}|554=wrong-secret|"));
    fix.expect_end("is not the secret of any key");
    let told = server.client().ask(&format!("<login key=\"{}\" secret=\"wrong-secret\"/>", "h0stile"));
    assert!(told.contains("login refused"), "{told}");
    let before = metrics(&http);
    assert_eq!((count(&before, "fix", "wrong_proof"), count(&before, "xml", "wrong_proof")), (1, 1));
    // A secret, a token, a password, a login with a secret, a signature, and a signature of the compatible interface.
    let wrong = basic("h0stile", "wrong-secret");
    let account = |headers: &[(&str, &str)]| http.send("GET", "/api/v1/accounts/1", None, headers).status;
    assert_eq!(account(&[("authorization", &wrong)]), 401);
    assert_eq!(account(&[("authorization", "Bearer h0stile")]), 401);
    for body in
        [json!({"member": HOSTILE, "password": "wrong-secret"}), json!({"key": HOSTILE, "secret": "wrong-secret"})]
    {
        assert_eq!(http.post("/api/v1/sessions", &body).status, 401);
    }
    let (time, zeros) = (micros().to_string(), "0".repeat(64));
    let signed = [("pricetime-key", "h0stile"), ("pricetime-time", &time), ("pricetime-signature", &zeros)];
    assert_eq!(account(&signed), 401);
    let asked = format!("/binance/api/v3/openOrders?symbol=SPYUSD&timestamp={}&signature={zeros}", now());
    assert_eq!(http.send("GET", &asked, None, &[("x-mbx-apikey", "h0stile")]).body["code"], json!(-1022));
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let logon = json!({"apiKey": HOSTILE, "timestamp": now(), "signature": zeros});
    for method in ["session.logon", "order.cancel"] {
        assert_eq!(call(&mut socket, method, &logon)["error"]["code"], json!(-1022), "{method}");
    }
    expect_more(&before, &metrics(&http), "rest", &[("wrong_proof", 8), ("unproven", 0), ("past_limit", 0)]);
    let line =
        |gateway| format!("a client was turned away gateway=\"{gateway}\" reason=\"wrong_proof\" address=127.0.0.1");
    stop(server, &[&line("fix"), &line("xml"), &line("rest")]);
}

#[test]
fn refusals_at_the_gate_are_counted_by_their_reason() {
    let folder = Folder::new("turned-away-gate");
    let file = AccessFile::new(&folder);
    let limited = "accounts = [\"2\"]\nlimits = { messages_per_second = 1, connections = 1 }\n";
    file.write(&AccessFile::text(&[]).replace("accounts = [\"2\"]\n", limited));
    let server = file.launch(&folder).with("--fix 127.0.0.1:0").start();
    let http = Http::new(server.http);
    market(&http);
    let before = metrics(&http);
    let alice = Client { http: &http, member: "alice" };
    assert_eq!(alice.send("PUT", "/api/v1/mode", Some(&json!({"mode": "normal"}))).status, 403);
    assert_eq!(alice.get("/api/v1/accounts/2").status, 404);
    assert_eq!(http.get("/api/v1/accounts/1").status, 401);
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &[("pricetime-key", "x")]).status, 401);
    let foreign = raw::ask(server.http, "GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert_eq!(raw::status(&foreign), 403);
    // A signed request is done once, and sent again it counts as a replay.
    let timed = format!("symbol=SPYUSD&timestamp={}", now());
    let signed = format!("/binance/api/v3/openOrders?{timed}&signature={}", hmac_hex(&secret("alice"), &timed));
    let delete = || http.send("DELETE", &signed, None, &[("x-mbx-apikey", "alice-key")]);
    assert_eq!((delete().status, delete().body["code"].clone()), (200, json!(-1022)));
    // This is a channel that the member may not follow on a WebSocket.
    let mut socket = http.listen_with("/ws/v1", &[("authorization", &basic("alice-key", &secret("alice")))]);
    socket.send(&json!({"op": "subscribe", "channel": "orders", "account": "2"}));
    assert_eq!(socket.next()["code"], "unknown-account");
    expect_more(
        &before,
        &metrics(&http),
        "rest",
        &[
            ("not_permitted", 1),
            ("not_theirs", 2),
            ("unproven", 2),
            ("foreign", 1),
            ("replayed", 1),
            ("wrong_proof", 0),
        ],
    );
    let bob = Client { http: &http, member: "bob" };
    let past = (0..200).filter(|_| bob.get("/api/v1/accounts/2").status == 429).count();
    assert!(past > 0 && count(&metrics(&http), "rest", "past_limit") == past as u64);
    let olga = Client { http: &http, member: "olga" };
    assert_eq!(olga.send("PUT", "/api/v1/mode", Some(&json!({"mode": "maintenance"}))).status, 200);
    assert_eq!(alice.get("/api/v1/accounts/1").status, 503);
    assert_eq!(count(&metrics(&http), "rest", "closed"), 1);
    let mut fix = Fix::connect(server.fix.unwrap(), "A");
    fix.send("A", &format!("98=0|108=30|141=Y|553=alice-key|554={}|", secret("alice")));
    fix.expect_end("maintenance");
    assert_eq!(count(&metrics(&http), "fix", "closed"), 1);
    stop(server, &["reason=\"not_theirs\"", "reason=\"replayed\"", "reason=\"foreign\"", "reason=\"past_limit\""]);
}

/// The signatures of a key file are the only proofs on a server without members.
#[test]
fn a_wrong_signature_of_the_key_file_is_counted() {
    let folder = Folder::new("turned-away-key-file");
    let keys = KeyFile::new(&folder);
    let server = Launch::new(&folder.data()).with(&format!("--keys {}", keys.path.display())).start();
    let http = Http::new(server.http);
    let asked = format!("/binance/api/v3/openOrders?symbol=SPYUSD&timestamp={}&signature={}", now(), "0".repeat(64));
    assert_eq!(http.send("GET", &asked, None, &[("x-mbx-apikey", &keys.key)]).body["code"], json!(-1022));
    assert_eq!(count(&http.get("/metrics").text, "rest", "wrong_proof"), 1);
    stop(server, &["reason=\"wrong_proof\""]);
}

#[test]
fn a_flood_of_wrong_proofs_has_a_few_lines_in_the_log_that_say_how_many_they_are() {
    let folder = Folder::new("turned-away-flood");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let mut client = server.client();
    const FLOOD: usize = 2_000;
    for number in 0..FLOOD {
        let told = client.ask(&format!("<login key=\"h0stile-{number}\" secret=\"wrong-secret\"/>"));
        assert!(told.contains("login refused"), "{told}");
    }
    let http = Http::new(server.http);
    assert_eq!(count(&metrics(&http), "xml", "wrong_proof"), FLOOD as u64);
    let lines = server.process.log().lines().filter(|line| line.contains("a client was turned away")).count();
    assert!((1..FLOOD / 10).contains(&lines), "{lines}");
    stop(server, &[]);
}
