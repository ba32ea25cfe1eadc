//! Deposits, withdrawals and closings of accounts over REST and XML: sent again, with and without members, and as
//! tools and streams tell them.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::members::{AccessFile, Client, market};
use crate::common::server::Launch;
use crate::common::transfers::check_transfers;
use crate::common::wait::wait_for;

/// An operator whose answer was lost would have paid out twice.
#[test]
fn a_transfer_with_a_number_is_made_once_and_survives_a_crash() {
    let folder = Folder::new("transfers-rest");
    check_transfers(&Launch::new(&folder.data()));
}

#[test]
fn operators_alone_withdraw_and_issuers_deposit() {
    let folder = Folder::new("transfers-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let send = |member: &str, what: &str| {
        let client = Client { http: &http, member };
        client.send("POST", &format!("/api/v1/accounts/2/{what}"), Some(&json!({"dollars": "1"}))).status
    };
    for (member, deposits, withdraws) in
        [("olga", 201, 201), ("igor", 201, 403), ("bob", 403, 403), ("vera", 403, 403), ("", 401, 401)]
    {
        assert_eq!((send(member, "deposits"), send(member, "withdrawals")), (deposits, withdraws), "{member}");
    }
    server.stop();
}

#[test]
fn operators_alone_close_accounts() {
    let folder = Folder::new("closing-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let olga = Client { http: &http, member: "olga" };
    assert_eq!(olga.send("POST", "/api/v1/accounts", Some(&json!({"account": "3", "balance": "0"}))).status, 201);
    for (member, status) in [("igor", 403), ("bob", 403), ("vera", 403), ("", 401), ("olga", 200)] {
        let client = Client { http: &http, member };
        assert_eq!(client.send("DELETE", "/api/v1/accounts/3", None).status, status, "{member}");
    }
    server.stop();
}

#[test]
fn a_closed_account_stays_closed_over_a_crash_and_says_so() {
    let folder = Folder::new("closing");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(
        r#"<create><account id="1" balance="7"/><account id="2" balance="9"/>
        <symbol sym="SPY"><account id="1">2</account><account id="2">2</account></symbol></create>"#,
    );
    let http = Http::new(server.http);
    let close = |http: &Http| {
        let answer = http.delete("/api/v1/accounts/1");
        (answer.status, answer.body)
    };
    let (status, told) = close(&http);
    assert_eq!((status, &told["code"]), (409, &json!("account-in-use")), "{told}");
    assert!(told["detail"].as_str().unwrap().contains("it has dollars, so withdraw them first"), "{told}");
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="1"/><cancel id="1"/></transactions>"#);
    server.ask(r#"<create><withdraw id="1" dollars="7"/><withdraw id="1" sym="SPY" shares="2"/></create>"#);
    assert_eq!(close(&http), (200, json!({"account": "1", "closed": true})));
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(close(&http), (200, json!({"account": "1", "closed": true})));
    assert_eq!(http.read("/api/v1/accounts/1")["closed"], true);
    assert_eq!(http.read("/api/v1/accounts/2").get("closed"), None);
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "1"});
    let answer = http.post("/api/v1/orders", &order);
    assert_eq!((answer.status, &answer.body["code"]), (409, &json!("account-closed")));
    // Its past is told, and others trade on.
    assert_eq!(http.read("/api/v1/orders/1?account=1")["status"], "canceled");
    let told = server.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    assert!(told.contains("<canceled shares=\"1\""), "{told}");
    let told = server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
    assert!(told.contains("<opened"), "{told}");
    server.kill();
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("state").arg(folder.data()).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    assert!(state.contains("account 1: balance 0 (held 0), 2 transfers, closed\n"), "{state}");
}

#[test]
fn the_compatible_interface_says_that_a_closed_account_cannot_trade() {
    let folder = Folder::new("closing-binance");
    let market = r#"<create><account id="1" balance="0"/><account id="2" balance="9"/>
        <symbol sym="SPY"><account id="2">1</account></symbol></create>"#;
    let (server, http, keys) = KeyFile::serve(&folder, market);
    let can_trade = || keys.send(&http, "GET", "account", "").body["canTrade"].clone();
    assert_eq!(can_trade(), true);
    let told = server.ask(r#"<create><close id="1"/></create>"#);
    assert!(told.contains("<closed id=\"1\"/>"), "{told}");
    wait_for("the feed to tell it", Duration::from_secs(60), || (can_trade() == false).then_some(()));
    let order = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1";
    let refused = keys.send(&http, "POST", "order", order).body;
    assert_eq!(refused["code"], -2010, "{refused}");
    assert!(refused["msg"].as_str().unwrap().starts_with("Account is closed"), "{refused}");
    server.stop();
}

#[test]
fn tools_tell_transfers() {
    let folder = Folder::new("transfers-tools");
    let server = Launch::new(&folder.data()).start();
    server.ask(
        r#"<create><account id="1" balance="7"/><symbol sym="SPY"/><deposit id="1" dollars="3" transfer="1"/>
        <deposit id="1" sym="SPY" shares="5"/><withdraw id="1" sym="SPY" shares="4.5"/></create>"#,
    );
    server.kill();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(words).arg(folder.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dump = run(&["journal", "dump"]);
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let expected = [
        "deposit 3 dollars to account 1 as its transfer 1",
        "deposit 5 SPY to account 1",
        "withdraw 4.5 SPY from account 1",
    ];
    assert_eq!(commands[commands.len() - 3..], expected);
    assert!(run(&["journal", "stats"]).contains("transfers           3"));
    let state = run(&["state"]);
    assert!(state.contains("account 1: balance 10 (held 0), 3 transfers\n"), "{state}");
    assert!(state.contains("SPY: 0.5 shares issued"), "{state}");
    run(&["verify"]);
}

#[test]
fn the_compatible_stream_reports_transfers_and_nothing_else_as_such() {
    let folder = Folder::new("transfers-binance");
    let market = r#"<create><account id="1" balance="100"/><account id="2" balance="100"/>
        <symbol sym="SPY"><account id="1">10</account></symbol></create>"#;
    let (server, http, keys) = KeyFile::serve(&folder, market);
    let mut socket = keys.follow(&http);
    server.ask(
        r#"<create><deposit id="1" dollars="1.5"/><withdraw id="2" dollars="1"/>
        <withdraw id="1" sym="SPY" shares="2"/><symbol sym="SPY"><account id="1">3</account></symbol></create>"#,
    );
    let (mut updates, mut shares) = (Vec::new(), Value::Null);
    while shares != json!("11.00000000") {
        let event = socket.next();
        match event["e"].as_str().unwrap() {
            "balanceUpdate" => updates.push((event["a"].clone(), event["d"].clone())),
            "outboundAccountPosition" => {
                let all = event["B"].as_array().unwrap();
                shares = all.iter().find(|one| one["a"] == "SPY").map_or(shares, |one| one["f"].clone());
            }
            other => panic!("{other}"),
        }
    }
    let expected = [(json!("USD"), json!("1.50000000")), (json!("SPY"), json!("-2.00000000"))];
    assert_eq!(updates, expected);
    server.stop();
}
