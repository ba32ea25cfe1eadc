//! The kill switch over REST and XML, and cancels of all orders: what is canceled, what is refused, what is told of it,
//! and that a restart changes none of it.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Launch;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

fn put(http: &Http, path: &str, killed: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    let answer = http.send("PUT", &format!("/api/v1/{path}"), Some(&json!({"killed": killed}).to_string()), &json);
    (answer.status, answer.body)
}

fn place(http: &Http, account: &str) -> (u16, Value) {
    let body = json!({"account": account, "symbol": "SPY", "side": "buy", "limit": "10", "shares": "5"}).to_string();
    let answer = http.send("POST", "/api/v1/orders", Some(&body), &[("content-type", "application/json")]);
    (answer.status, answer.body)
}

#[test]
fn what_is_killed_takes_no_orders_until_it_is_released_also_after_a_restart() {
    let folder = Folder::new("kills-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for account in ["1", "1", "2"] {
        assert_eq!(place(&http, account).0, 201);
    }
    assert_eq!(http.read("/api/v1/accounts/1").get("killed"), None);
    assert_eq!(put(&http, "accounts/1/kill", &json!(true)), (200, json!({"killed": true, "canceled": 2})));
    assert_eq!(put(&http, "accounts/1/kill", &json!(true)), (200, json!({"killed": true, "canceled": 0})));
    let account = http.read("/api/v1/accounts/1");
    assert_eq!(
        (&account["killed"], &account["balance"], &account["open_orders"]),
        (&json!(true), &json!("1000"), &json!(0))
    );
    let (status, problem) = place(&http, "1");
    let why = "Kill switch: this account takes cancels and queries alone until it is released";
    assert_eq!((status, &problem["code"], &problem["detail"]), (409, &json!("killed"), &json!(why)));
    assert_eq!(place(&http, "2").0, 201);
    assert_eq!(put(&http, "accounts/9/kill", &json!(true)).1["code"], "unknown-account");
    assert_eq!(put(&http, "symbols/NOPE/kill", &json!(false)).1["code"], "unknown-symbol");
    assert_eq!(put(&http, "kill", &json!("yes")).0, 400);
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(place(&http, "1").1["code"], "killed");
    assert_eq!(put(&http, "accounts/1/kill", &json!(false)), (200, json!({"killed": false, "canceled": 0})));
    assert_eq!(place(&http, "1").0, 201);
    let told = server.ask(r#"<create><kill sym="SPY"/><kill/></create>"#);
    assert_eq!(told, "<results><killed sym=\"SPY\" orders=\"3\"/><killed orders=\"0\"/></results>\n");
    assert_eq!(http.read("/api/v1/symbols/SPY")["killed"], true);
    assert_eq!(http.read("/api/v1/kill"), json!({"killed": true, "symbols": ["SPY"]}));
    assert_eq!(
        place(&http, "2").1["detail"],
        "Kill switch: the exchange takes cancels and queries alone until it is released"
    );
    assert_eq!(http.read("/binance/api/v3/exchangeInfo")["symbols"][0]["status"], "HALT");
    assert_eq!(put(&http, "kill", &json!(false)).0, 200);
    assert_eq!(
        place(&http, "2").1["detail"],
        "Kill switch: this symbol takes cancels and queries alone until it is released"
    );
    assert_eq!(put(&http, "symbols/SPY/kill", &json!(false)).0, 200);
    assert_eq!(place(&http, "2").0, 201);
    server.stop();
}

#[test]
fn the_compatible_interface_says_whether_an_account_can_trade() {
    let folder = Folder::new("kills-can-trade");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let can_trade = || keys.send(&http, "GET", "account", "").body["canTrade"].clone();
    assert_eq!(can_trade(), true);
    for (path, killed) in [("kill", true), ("accounts/1/kill", true), ("accounts/2/kill", false)] {
        assert_eq!(put(&http, path, &json!(true)).0, 200);
        assert_eq!(can_trade(), !killed, "{path}");
        assert_eq!(put(&http, path, &json!(false)).0, 200);
        assert_eq!(can_trade(), true, "{path} is released");
    }
    server.stop();
}

/// Listeners of the status channel are told that everything is killed or released: their orders are gone, and the
/// channel says why.
#[test]
fn the_status_channel_tells_that_everything_is_killed() {
    let folder = Folder::new("kills-status");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "status"}));
    assert_eq!(socket.next_of("update", "status").get("killed"), None);
    for (killed, told) in [(true, Some(json!(true))), (false, None)] {
        assert_eq!(put(&http, "kill", &json!(killed)).0, 200);
        while socket.next_of("update", "status").get("killed").cloned() != told {}
    }
    server.stop();
}

/// The kill of an account or a symbol with nothing open is told as well, although nothing else changes.
#[test]
fn who_follows_an_account_or_a_symbol_is_told_that_it_is_killed() {
    let folder = Folder::new("kills-followed");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    assert_eq!(
        socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}))["account"]
            .get("killed"),
        None
    );
    socket.subscribe(json!({"op": "subscribe", "id": 2, "channel": "symbols"}));
    for (killed, told) in [(true, Some(json!(true))), (false, None)] {
        assert_eq!(put(&http, "accounts/1/kill", &json!(killed)).0, 200);
        while socket.next_of("update", "orders")["account"].get("killed").cloned() != told {}
        assert_eq!(put(&http, "symbols/SPY/kill", &json!(killed)).0, 200);
        // An earlier update may come first.
        while socket.next_of("update", "symbols")["symbols"][0].get("killed").cloned() != told {}
    }
    server.stop();
}

/// REST shows at once what a cancel of all orders over XML has done.
#[test]
fn a_cancel_of_all_orders_is_seen_everywhere() {
    let folder = Folder::new("cancel-all-rest");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for account in ["1", "2", "1"] {
        assert_eq!(place(&http, account).0, 201);
    }
    let told = server.ask(r#"<transactions id="1"><cancel-all sym="SPY"/><cancel-all/></transactions>"#);
    assert_eq!(told, "<results><canceled-all sym=\"SPY\" orders=\"2\"/><canceled-all orders=\"0\"/></results>\n");
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], "1000");
    for (order, status) in [("1?account=1", "canceled"), ("2?account=2", "open"), ("3?account=1", "canceled")] {
        assert_eq!(http.read(&format!("/api/v1/orders/{order}"))["status"], status);
    }
    server.stop();
}
