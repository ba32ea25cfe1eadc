//! Groups of accounts over REST, XML and the compatible interface: how accounts join one, how orders of one group that
//! meet end, what clients read about that, and that groups survive a restart.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Launch;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/><account id="3" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account><account id="3">100</account></symbol></create>"#;

fn put(http: &Http, account: &str, group: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    let body = json!({"group": group}).to_string();
    let answer = http.send("PUT", &format!("/api/v1/accounts/{account}/group"), Some(&body), &json);
    (answer.status, answer.body)
}

/// An order of account 1 that cancels the orders of its own group which it meets: here a bid of account 2.
const MEETS: &str =
    r#"<transactions id="1"><order sym="SPY" amount="-3" limit="10" self-trade="cancel-oldest"/></transactions>"#;
const BIDS: &str = r#"<transactions id="2"><order sym="SPY" amount="5" limit="10"/></transactions>"#;

#[test]
fn accounts_of_one_group_do_not_trade_also_after_a_restart() {
    let folder = Folder::new("groups-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    assert_eq!(http.read("/api/v1/accounts/1").get("group"), None);
    assert_eq!(put(&http, "1", &json!(7)), (200, json!({"group": 7})));
    let told = server.ask(r#"<create><group id="2" group="7"/></create>"#);
    assert_eq!(told, "<results><changed id=\"2\" group=\"7\"/></results>\n");
    assert_eq!(http.read("/api/v1/accounts/1")["group"], 7);
    for refused in [json!(1_000_000_000), json!(5_000_000_000_u64)] {
        let (status, problem) = put(&http, "1", &refused);
        let why = "group is not a whole number from 0 to 999999999";
        assert_eq!((status, &problem["field"], &problem["detail"]), (400, &json!("group"), &json!(why)), "{problem}");
    }
    assert_eq!(put(&http, "9", &json!(1)).1["code"], "unknown-account");
    server.ask(BIDS);
    server.ask(MEETS);
    assert_eq!(http.read("/api/v1/orders/1?account=2")["status"], "canceled");
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(http.read("/api/v1/accounts/2")["group"], 7);
    server.ask(BIDS);
    server.ask(MEETS);
    assert_eq!(http.read("/api/v1/accounts/2/orders?status=open")["orders"].as_array().unwrap().len(), 0);
    // In different groups, or in none, they are treated like any two accounts.
    for other in [8, 0] {
        assert_eq!(put(&http, "2", &json!(other)).0, 200);
        server.ask(r#"<transactions id="2"><order sym="SPY" amount="6" limit="10"/></transactions>"#);
        let before = http.read("/api/v1/accounts/2/executions")["executions"].as_array().unwrap().len();
        server.ask(MEETS);
        assert!(http.read("/api/v1/accounts/2/executions")["executions"].as_array().unwrap().len() > before);
    }
    server.stop();
}

#[test]
fn the_compatible_stream_tells_the_group_of_what_was_prevented() {
    let folder = Folder::new("groups-binance");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let prevented = |socket: &mut crate::common::http::Socket| {
        server.ask(r#"<transactions id="1"><order sym="SPY" amount="5" limit="10"/></transactions>"#);
        server.ask(r#"<transactions id="3"><order sym="SPY" amount="-5" limit="10" self-trade="cancel-oldest"/></transactions>"#);
        server.ask(r#"<transactions id="1"><order sym="SPY" amount="5" limit="10" self-trade="cancel-newest"/></transactions>"#);
        loop {
            let event = socket.next();
            if event["x"] == "TRADE_PREVENTION" {
                return json!([event["X"], event["B"], event["u"]]);
            }
        }
    };
    server.ask(r#"<create><group id="1" group="42"/><group id="3" group="42"/></create>"#);
    assert_eq!(prevented(&mut socket), json!(["EXPIRED_IN_MATCH", "5.00000000", 42]));
    server.stop();
}

#[test]
fn the_tools_print_groups() {
    let folder = Folder::new("groups-tools");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    server.ask(r#"<create><group id="1" group="42"/><group id="2" group="0"/></create>"#);
    server.kill();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(words).arg(folder.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dump = run(&["journal", "dump"]);
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    assert_eq!(commands[commands.len() - 2..], ["group of account 1: 42", "group of account 2: 0"]);
    assert!(run(&["journal", "stats"]).contains("groups              2"));
    assert!(run(&["state"]).contains("account 1: balance 1000 (held 0), group 42\n"));
}
