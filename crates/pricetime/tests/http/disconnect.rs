//! Cancel on disconnect over XML and WebSockets: what happens to the orders of clients that disconnect, come back, or
//! leave properly, also when the server itself was stopped.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::members::{AccessFile, basic, secret};
use crate::common::raw;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const BUY: &str = r#"<order sym="SPY" amount="5" limit="10"/>"#;
const SOON: Duration = Duration::from_secs(10);

fn start(name: &str) -> (Folder, Launch, Server, Http) {
    let folder = Folder::new(name);
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    (folder, launch, server, http)
}

fn act(client: &mut Client, account: &str, children: &str) -> String {
    let reply = client.ask(&format!("<transactions id=\"{account}\">{children}</transactions>"));
    reply.trim_end().replace("<results>", "").replace("</results>", "")
}

/// A client whose connection protects account 1. Its request has been answered.
fn protected(server: &Server, grace: &str) -> Client {
    let mut client = server.client();
    let told = act(&mut client, "1", &format!("<protect grace=\"{grace}\"/>"));
    assert_eq!(told, format!("<protected grace=\"{grace}\"/>"));
    client
}

fn place(client: &mut Client, account: &str) {
    assert!(act(client, account, BUY).contains("<opened"));
}

fn open_orders(http: &Http, account: &str) -> u64 {
    http.read(&format!("/api/v1/accounts/{account}"))["open_orders"].as_u64().unwrap()
}

fn grace_of(http: &Http, account: &str) -> Value {
    http.read(&format!("/api/v1/accounts/{account}"))["cancel_on_disconnect"].clone()
}

fn are_lost(http: &Http) {
    wait_until("the orders are canceled", SOON, || open_orders(http, "1") == 0);
    assert_eq!(grace_of(http, "1"), Value::Null, "it is over with the orders");
}

/// Checks that nothing is canceled during this time.
fn stay(http: &Http, span: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < span {
        assert!(open_orders(http, "1") > 0, "after {:?}", begun.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn whoever_is_gone_loses_all_orders_of_the_account_and_nobody_else_does() {
    let (_folder, _, server, http) = start("disconnect-gone");
    let mut other = server.client();
    place(&mut other, "1");
    place(&mut other, "2");
    let mut client = protected(&server, "200ms");
    place(&mut client, "1");
    assert_eq!(grace_of(&http, "1"), "200ms");
    assert_eq!(http.read("/api/v1/status")["protected"], 1);
    stay(&http, Duration::from_millis(500));
    drop(client);
    are_lost(&http);
    assert_eq!((open_orders(&http, "2"), http.read("/api/v1/status").get("protected")), (1, None));
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "channel": "orders", "account": "1", "from": 0}));
    let told = socket.next_of("reports", "orders");
    let is_canceled = |report: &&Value| report["report"] == "canceled";
    let canceled: Vec<&Value> = told["reports"].as_array().unwrap().iter().filter(is_canceled).collect();
    let why: Vec<(&Value, &Value)> = canceled.iter().map(|report| (&report["order_id"], &report["why"])).collect();
    let disconnected = json!("disconnected");
    assert_eq!(why, [(&json!(1), &disconnected), (&json!(3), &disconnected)]);
    let text = http.get("/metrics").text;
    assert!(text.contains("pricetime_disconnected_orders_total 2") && text.contains("pricetime_protected_accounts 0"));
    // This client places its orders without protection.
    place(&mut other, "1");
    stay(&http, Duration::from_millis(500));
    server.stop();
}

/// A client whose machine or network fails does not end its connection properly.
#[test]
fn whoever_is_cut_off_loses_all_orders_as_who_leaves() {
    let (_folder, _, server, http) = start("disconnect-reset");
    let mut other = server.client();
    let mut client = protected(&server, "0s");
    place(&mut client, "1");
    assert_eq!(open_orders(&http, "1"), 1);
    raw::reset(client.stream);
    are_lost(&http);
    // The same while a part of a request, or of an earlier answer, is under way.
    let mut client = protected(&server, "0s");
    place(&mut client, "1");
    client.send(b"100\n<transactions id=\"1\">").unwrap();
    raw::reset(client.stream);
    are_lost(&http);
    place(&mut other, "1");
    let mut socket = http.listen();
    protect(&mut socket, "0s");
    assert_eq!(open_orders(&http, "1"), 1);
    socket.reset();
    are_lost(&http);
    server.stop();
}

#[test]
fn whoever_comes_back_in_time_keeps_the_orders() {
    let (_folder, _, server, http) = start("disconnect-back");
    let mut client = protected(&server, "3s");
    place(&mut client, "1");
    drop(client);
    std::thread::sleep(Duration::from_millis(200));
    let before = http.read("/api/v1/status")["sequence"].clone();
    let client = protected(&server, "3s");
    let mut again = protected(&server, "3s");
    for _ in 0..20 {
        act(&mut again, "1", "<protect grace=\"3s\"/>");
    }
    assert_eq!(http.read("/api/v1/status")["sequence"], before, "what changes nothing leaves no trace");
    stay(&http, Duration::from_millis(3_500));
    // Two connections protect the account, and the last one to end counts.
    drop(client);
    stay(&http, Duration::from_millis(3_500));
    act(&mut again, "1", "<protect grace=\"0s\"/>");
    drop(again);
    are_lost(&http);
    server.stop();
}

#[test]
fn whoever_wants_no_protection_any_more_keeps_the_orders() {
    let (_folder, _, server, http) = start("disconnect-unprotect");
    let (mut one, mut two) = (protected(&server, "0s"), protected(&server, "0s"));
    place(&mut one, "1");
    assert_eq!(act(&mut one, "1", "<unprotect/>"), "<unprotected/>");
    assert_eq!(grace_of(&http, "1"), "0s", "the other one is there");
    assert_eq!(act(&mut two, "1", "<unprotect/>"), "<unprotected/>");
    assert_eq!(grace_of(&http, "1"), Value::Null);
    drop((one, two));
    stay(&http, Duration::from_millis(500));
    server.stop();
}

#[test]
fn a_client_that_ends_its_sending_is_answered_and_gone() {
    let (_folder, _, server, http) = start("disconnect-half");
    let mut other = server.client();
    place(&mut other, "1");
    let mut client = protected(&server, "0s");
    client.send_request(&format!("<transactions id=\"1\">{BUY}</transactions>")).unwrap();
    client.end_sending();
    assert!(client.reply().unwrap().contains("<opened"));
    are_lost(&http);
    server.stop();
}

/// A machine that vanished ends no connection: the server closes one of which no request comes for so long.
#[test]
fn whoever_is_silent_for_too_long_is_gone() {
    let folder = Folder::new("disconnect-silent");
    let server = Launch::new(&folder.data()).with("--idle-timeout 700ms").start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut client = server.client();
    let told = act(&mut client, "1", &format!("<protect grace=\"0s\"/>{BUY}"));
    assert!(told.contains("<protected") && told.contains("<opened"), "{told}");
    are_lost(&http);
    drop(client);
    server.stop();
}

#[test]
fn what_executes_within_the_grace_is_executed_and_the_rest_is_lost() {
    let (_folder, _, server, http) = start("disconnect-executes");
    let mut client = protected(&server, "1s");
    place(&mut client, "1");
    drop(client);
    let mut other = server.client();
    let sold = act(&mut other, "2", r#"<order sym="SPY" amount="-2" limit="10"/>"#);
    assert!(sold.contains("<opened"), "{sold}");
    are_lost(&http);
    let order = http.read("/api/v1/orders/1?account=1");
    assert_eq!((&order["executed"], &order["canceled"]), (&json!("2"), &json!("3")), "{order}");
    server.stop();
}

#[test]
fn after_the_server_was_gone_each_has_its_grace_to_come_back() {
    let (folder, launch, server, _) = start("disconnect-restart");
    let mut client = protected(&server, "2s");
    place(&mut client, "1");
    let mut other = server.client();
    assert_eq!(act(&mut other, "2", "<protect grace=\"2s\"/>"), "<protected grace=\"2s\"/>");
    place(&mut other, "2");
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!((open_orders(&http, "1"), grace_of(&http, "1")), (1, json!("2s")));
    let mut other = server.client();
    assert_eq!(act(&mut other, "2", "<protect grace=\"2s\"/>"), "<protected grace=\"2s\"/>");
    are_lost(&http);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((open_orders(&http, "2"), grace_of(&http, "2")), (1, json!("2s")), "it came back");
    let hash = server.state()["state_hash"].clone();
    server.kill();
    let server = launch.start();
    assert_eq!(server.state()["state_hash"], hash, "a replay decides the same");
    drop((server, folder));
}

#[test]
fn a_login_protects_the_accounts_of_a_trader_until_its_key_is_revoked() {
    let folder = Folder::new("disconnect-login");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let log_in = |member: &str, more: &str| {
        let mut client = server.client();
        let login = format!("<login key=\"{member}-key\" secret=\"{}\"{more}/>", secret(member));
        let told = client.ask(&login).trim_end().to_owned();
        (client, told)
    };
    let on = " cancel-on-disconnect=\"500ms\"";
    let (mut olga, told) = log_in("olga", on);
    assert!(told.contains("<logged-in member=\"olga\"/><error>cancel-on-disconnect protects nothing: "), "{told}");
    let (_alice, told) = log_in("alice", on);
    let nobody = "<error account=\"1\" grace=\"500ms\">Unknown account</error>";
    assert_eq!(told, format!("<results><logged-in member=\"alice\"/>{nobody}</results>"));
    olga.ask(MARKET);
    let (mut alice, told) = log_in("alice", on);
    let done = "<protected account=\"1\" grace=\"500ms\"/>";
    assert_eq!(told, format!("<results><logged-in member=\"alice\"/>{done}</results>"));
    place(&mut alice, "1");
    assert!(act(&mut alice, "2", "<protect grace=\"1s\"/>").contains("Unknown account"));
    let (mut bob, _) = log_in("bob", "");
    assert!(act(&mut bob, "1", "<unprotect/>").contains("Unknown account"));
    let http = Http::new(server.http);
    let open = || {
        let answer =
            http.send("GET", "/api/v1/accounts/1", None, &[("authorization", &basic("otto-key", &secret("otto")))]);
        answer.body["open_orders"].as_u64().unwrap()
    };
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(open(), 1);
    file.write(&AccessFile::text(&["alice"]));
    wait_until("the orders of whoever is revoked are canceled", SOON, || open() == 0);
    for (more, why) in [
        (" cancel-on-disconnect=\"61s\"", "cancel-on-disconnect is not a time from 0s to 60s"),
        (" cancel-on-disconnect=\"\"", "cancel-on-disconnect is not a time from 0s to 60s"),
    ] {
        let (_, told) = log_in("bob", more);
        assert!(told.contains(why) && !told.contains("logged-in"), "{told}");
    }
    let told = server.client().ask("<login key=\"bob-key\" cancel-on-disconnect=\"5s\"/>");
    assert!(told.contains("stands in the login with the secret or the signature"), "{told}");
    server.stop();
}

fn protect(socket: &mut Socket, grace: &str) -> Value {
    socket.send(&json!({"op": "protect", "id": 1, "accounts": ["1"], "grace": grace}));
    socket.next()
}

#[test]
fn a_websocket_protects_accounts_while_it_is_open() {
    let (_folder, _, server, http) = start("disconnect-websocket");
    let mut client = server.client();
    place(&mut client, "1");
    let mut socket = http.listen();
    let told = protect(&mut socket, "500ms");
    assert_eq!(told, json!({"type": "protected", "id": 1, "accounts": ["1"], "grace": "500ms"}));
    stay(&http, Duration::from_millis(1_000));
    drop(socket);
    are_lost(&http);
    place(&mut client, "1");
    let mut socket = http.listen();
    protect(&mut socket, "0s");
    socket.send(&json!({"op": "unprotect", "accounts": ["1"]}));
    assert_eq!(socket.next(), json!({"type": "unprotected", "accounts": ["1"]}));
    socket.close();
    stay(&http, Duration::from_millis(500));
    let mut socket = http.listen();
    protect(&mut socket, "0s");
    socket.close();
    are_lost(&http);
    let mut socket = http.listen();
    for (request, code, detail) in [
        (json!({"op": "protect", "accounts": ["1", "9"], "grace": "1s"}), "unknown-account", "account 9: "),
        (json!({"op": "protect", "accounts": ["1"], "grace": "1"}), "malformed", "grace is not a time from 0s to 60s"),
        (json!({"op": "protect", "accounts": "1", "grace": "1s"}), "malformed", "accounts is missing, or no list"),
    ] {
        socket.send(&request);
        let told = socket.next();
        assert_eq!((&told["type"], &told["code"]), (&json!("error"), &json!(code)), "{told}");
        assert!(told["detail"].as_str().unwrap().contains(detail), "{told}");
    }
    assert_eq!(grace_of(&http, "1"), "1s", "what could be done is done");
    server.stop();
}
