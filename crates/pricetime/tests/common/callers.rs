//! Members that each make a request over another interface, and the callers of the resulting commands.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client as Xml;
use super::http::Http;
use super::keys::now;
use super::members::{Client, hmac_hex, secret};
use super::server::Server;
use super::wait::wait_until;

/// A command: its first words, its caller, and the interface.
pub type Asked = (&'static str, &'static str, &'static str);

/// The commands that [`ask_all`] causes, in order.
pub const ASKED: [Asked; 9] = [
    ("create account 1", "olga", "xml"),
    ("create account 2", "olga", "xml"),
    ("create symbol SPY", "olga", "xml"),
    ("issue 100 SPY to account 1", "olga", "xml"),
    ("order of account 1: sell 3 SPY at 10", "alice", "xml"),
    ("order of account 2: buy 1 SPY at 10", "bob", "rest"),
    ("cancel of account 2: order 2", "bob", "rest"),
    ("order of account 1: buy 1 SPY at 9", "alice", "binance"),
    ("order of account 2: buy 2 SPY at 8", "bob", "binance-websocket"),
];

/// Logs in over XML.
pub fn log_in(client: &mut Xml, member: &str) {
    let reply = client.ask(&format!("<login key=\"{member}-key\" secret=\"{}\"/>", secret(member)));
    assert!(reply.contains(&format!("<logged-in member=\"{member}\"/>")), "{reply}");
}

/// Has members of an access file make requests to an empty market, also some that are refused.
pub fn ask_all(server: &Server) {
    let mut xml = server.client();
    log_in(&mut xml, "olga");
    let created = xml.ask(
        "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000\"/>\
         <symbol sym=\"SPY\"><account id=\"1\">100</account></symbol></create>",
    );
    assert_eq!(created.matches("<created").count(), 3, "{created}");
    log_in(&mut xml, "alice");
    let placed = xml
        .ask("<transactions id=\"1\"><order sym=\"SPY\" amount=\"-3\" limit=\"10\"/><query id=\"1\"/></transactions>");
    assert!(placed.contains("<opened"), "{placed}");
    let others = xml.ask("<transactions id=\"2\"><order sym=\"SPY\" amount=\"1\" limit=\"10\"/></transactions>");
    assert!(others.contains("Unknown account"), "{others}");
    let http = Http::new(server.http);
    let bob = Client { http: &http, member: "bob" };
    bob.make("/api/v1/orders", &order("2", "buy", "1", "10"));
    let canceled = bob.send("DELETE", "/api/v1/orders/2?account=2", None);
    assert_eq!(canceled.status, 409, "it was executed: {}", canceled.text);
    assert_eq!(bob.send("POST", "/api/v1/orders", Some(&order("1", "buy", "1", "10"))).status, 404);
    let text = format!("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9&timestamp={}", now());
    let path = format!("/binance/api/v3/order?{text}&signature={}", hmac_hex(&secret("alice"), &text));
    let placed = http.send("POST", &path, None, &[("x-mbx-apikey", "alice-key")]);
    assert_eq!(placed.status, 200, "{}", placed.text);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let text = format!(
        "apiKey=bob-key&price=8&quantity=2&side=BUY&symbol=SPYUSD&timeInForce=GTC&timestamp={}&type=LIMIT",
        now()
    );
    let fields = text.split('&').filter_map(|field| field.split_once('='));
    let mut params: serde_json::Map<String, Value> =
        fields.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    params.insert("signature".to_owned(), hmac_hex(&secret("bob"), &text).into());
    socket.send(&json!({"id": 1, "method": "order.place", "params": params}));
    let placed = socket.next();
    assert_eq!(placed["status"], 200, "{placed}");
}

/// Has alice place orders behind those of [`ask_all`], more than one command cancels, and olga kill their symbol.
/// Order 7 is hers and has the worst price, so a later command of the server cancels it. Returns when it is canceled.
pub fn kill_in_steps(server: &Server) {
    let mut alice = server.client();
    log_in(&mut alice, "alice");
    let order = |limit| format!("<order sym=\"SPY\" amount=\"-0.01\" limit=\"{limit}\"/>");
    let placed = alice.ask(&format!("<transactions id=\"1\">{}{}{}</transactions>", order(20), order(20), order(30)));
    assert!(placed.contains("id=\"7\""), "{placed}");
    for _ in 0..21 {
        alice.ask(&format!("<transactions id=\"1\">{}</transactions>", order(20).repeat(100)));
    }
    let http = Http::new(server.http);
    let olga = Client { http: &http, member: "olga" };
    let killed = olga.send("PUT", "/api/v1/symbols/SPY/kill", Some(&json!({"killed": true})));
    assert_eq!((killed.status, &killed.body["goes_on"]), (200, &json!(true)), "{}", killed.text);
    wait_until("the kill is over", Duration::from_secs(60), || {
        olga.get("/api/v1/orders/7?account=1").body["status"] == "canceled"
    });
}

fn order(account: &str, side: &str, shares: &str, limit: &str) -> Value {
    json!({"account": account, "symbol": "SPY", "side": side, "shares": shares, "limit": limit})
}

/// The output of `pricetime journal dump` for a folder.
pub fn dump(folder: &Path, arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_pricetime");
    let ran = Command::new(program).args(["journal", "dump"]).arg(folder).args(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The output as objects.
pub fn dumped(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = dump(folder, &[&["--format", "json"], arguments].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
