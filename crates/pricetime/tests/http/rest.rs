//! REST over the real wire: what it does is visible over XML and the other way round; refusals; pages of other origins;
//! restarts.
#![allow(clippy::wildcard_enum_match_arm)]

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use serde_json::{Value, json};

/// Two accounts, one symbol.
const MARKET: &str = r#"<create><account id="1" balance="10000"/><account id="2" balance="500"/>
    <symbol sym="SPY"><account id="2">100</account></symbol></create>"#;

fn order(account: &str, side: &str, limit: &str, shares: &str) -> Value {
    json!({"account": account, "symbol": "SPY", "side": side, "limit": limit, "shares": shares})
}

fn start(folder: &Folder) -> (Server, Http) {
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    (server, http)
}

#[test]
fn what_is_done_by_rest_is_what_everybody_sees() {
    let folder = Folder::new("rest");
    let (server, http) = start(&folder);
    assert_eq!(http.read("/api/v1/symbols"), json!({"symbols": [], "next": null}));
    for (account, balance) in [("1", "10000"), ("2", "500")] {
        let told = http.make("/api/v1/accounts", &json!({"account": account, "balance": balance}));
        assert_eq!(told, json!({"account": account, "balance": balance}));
    }
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "2", "shares": "100"}));
    let placed = http.make("/api/v1/orders", &order("2", "sell", "12.5", "40"));
    let expected = json!({"order_id": 1, "client_order_id": null, "account": "2", "symbol": "SPY", "side": "sell", "kind": "limit", "limit": "12.5", "stop": null, "take_profit": null, "self_trade": "allowed", "until": null, "shares": "40"});
    assert_eq!(placed, expected);
    // The other side is sent over XML to the same market.
    let bought = server.ask(r#"<transactions id="1"><order sym="SPY" amount="15" limit="13"/></transactions>"#);
    assert!(bought.contains(r#"<opened sym="SPY" amount="15" limit="13" id="2"/>"#), "{bought}");
    let status = server.ask(r#"<transactions id="2"><query id="1"/></transactions>"#);
    assert!(
        status.contains(r#"<open shares="25"/>"#) && status.contains(r#"<executed shares="15" price="12.5""#),
        "{status}"
    );

    let order = http.read("/api/v1/orders/1?account=2");
    let shown = ["open", "executed", "canceled", "status", "average_price"].map(|field| order[field].clone());
    assert_eq!(shown, [json!("25"), json!("15"), json!("0"), json!("open"), json!("12.5")]);
    let buyer = http.read("/api/v1/accounts/1");
    assert_eq!((&buyer["balance"], &buyer["held"]), (&json!("9812.5"), &json!("0")));
    assert_eq!(buyer["positions"], json!([{"symbol": "SPY", "shares": "15", "held": "0"}]));
    let seller = http.read("/api/v1/accounts/2");
    assert_eq!((&seller["balance"], &seller["open_orders"]), (&json!("687.5"), &json!(1)));
    assert_eq!(seller["positions"], json!([{"symbol": "SPY", "shares": "60", "held": "25"}]));
    let book = http.read("/api/v1/symbols/SPY/book");
    assert_eq!((&book["bids"], &book["asks"]), (&json!([]), &json!([["12.5", "25", 1]])));
    assert_eq!(book["checksum"], crc32("12.5:25"));
    let trades = http.read("/api/v1/symbols/SPY/trades");
    let trade = &trades["trades"][0];
    let shown =
        ["trade_id", "price", "shares", "aggressor", "buy_order", "sell_order"].map(|field| trade[field].clone());
    assert_eq!(shown, [json!(1), json!("12.5"), json!("15"), json!("buy"), json!(2), json!(1)]);
    let candles = http.read("/api/v1/symbols/SPY/candles?interval=1h");
    assert_eq!((&candles["candles"][0]["volume"], &candles["candles"][0]["money"]), (&json!("15"), &json!("187.5")));
    let symbol = http.read("/api/v1/symbols/SPY");
    let shown = ["last", "best_bid", "best_ask", "issued", "volume_24h"].map(|field| symbol[field].clone());
    assert_eq!(shown, [json!("12.5"), Value::Null, json!("12.5"), json!("100"), json!("15")]);
    let executions = http.read("/api/v1/accounts/2/executions");
    let execution = &executions["executions"][0];
    assert_eq!(
        (&execution["order_id"], &execution["role"], &execution["side"]),
        (&json!(1), &json!("maker"), &json!("sell"))
    );

    let canceled = http.delete("/api/v1/orders/1?account=2");
    assert_eq!(
        (canceled.status, &canceled.body["status"], &canceled.body["canceled"]),
        (200, &json!("canceled"), &json!("25"))
    );
    assert_eq!(canceled.body["canceled_why"], "asked");
    assert_eq!(http.read("/api/v1/orders/2?account=1").get("canceled_why"), None, "it was executed");
    assert_eq!(http.delete("/api/v1/orders/1?account=2").code(), (409, "nothing-open"));
    assert_eq!(http.read("/api/v1/accounts/2/orders"), json!({"orders": [], "next": null}));
    let history = http.read("/api/v1/accounts/2/orders?status=all");
    assert_eq!(history["orders"][0], canceled.body);
    server.stop();
}

/// The checksum as docs/API.md describes it.
fn crc32(text: &str) -> u32 {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

#[test]
fn the_checksum_is_of_the_ten_best_levels_a_side() {
    let folder = Folder::new("rest-checksum");
    let (server, http) = start(&folder);
    server.ask(MARKET);
    for level in 1..=12 {
        http.make("/api/v1/orders", &order("1", "buy", &level.to_string(), "1"));
        http.make("/api/v1/orders", &order("2", "sell", &(20 + level).to_string(), "2"));
        let book = http.read("/api/v1/symbols/SPY/book");
        let best = |side: &str| -> Vec<String> {
            let levels = book[side].as_array().unwrap().iter().take(10);
            levels.map(|level| format!("{}:{}", level[0].as_str().unwrap(), level[1].as_str().unwrap())).collect()
        };
        let both: Vec<String> = best("bids").into_iter().zip(best("asks")).flat_map(|(bid, ask)| [bid, ask]).collect();
        assert_eq!(both.len(), 2 * level.min(10));
        assert_eq!(book["checksum"], crc32(&both.join(":")), "{level} levels");
    }
    server.stop();
}

#[test]
fn refusals_have_a_code_and_name_the_field() {
    let folder = Folder::new("rest-refusals");
    let (server, http) = start(&folder);
    server.ask(MARKET);
    let orders = "/api/v1/orders";
    let refused = |body: Value| http.post(orders, &body);
    for (field, value, detail) in [
        ("account", json!("x1"), "account has characters other than the digits 0-9"),
        ("symbol", json!("S-Y"), "symbol has characters other than ASCII letters and digits"),
        ("side", json!("hold"), "unknown variant `hold`, expected `buy` or `sell`"),
        ("limit", json!("1.123456789"), "limit has 9 decimal places; at most 8"),
        ("limit", json!("0"), "limit is not above zero"),
        ("shares", json!("-5"), "shares is negative"),
        ("shares", json!(5), "invalid type: integer `5`, expected a string"),
        ("more", json!("5"), "unknown field `more`"),
    ] {
        let mut body = order("1", "buy", "10", "5");
        body[field] = value;
        let answer = refused(body);
        assert_eq!(answer.code(), (400, "malformed"), "{}", answer.text);
        let told = answer.body["detail"].as_str().unwrap();
        assert!(told.starts_with(detail), "{field}: {told}");
    }
    let mut missing = order("1", "buy", "10", "5");
    missing.as_object_mut().unwrap().remove("limit");
    let answer = refused(missing);
    assert_eq!((answer.code(), &answer.body["field"]), ((400, "malformed"), &json!("limit")));
    assert_eq!(refused(order("9", "buy", "10", "5")).code(), (404, "unknown-account"));
    assert_eq!(refused(order("1", "buy", "1000", "50")).code(), (422, "insufficient-funds"));
    assert_eq!(refused(order("1", "sell", "1", "5")).code(), (422, "insufficient-shares"));
    assert_eq!(http.post("/api/v1/accounts", &json!({"account": "1", "balance": "5"})).code(), (409, "account-exists"));
    assert_eq!(http.get("/api/v1/symbols/NONE").code(), (404, "unknown-symbol"));
    assert_eq!(http.get("/api/v1/accounts/77").code(), (404, "unknown-account"));
    assert_eq!(http.get("/api/v1/nothing").code(), (404, "not-found"));
    assert_eq!(http.delete("/api/v1/symbols").code(), (405, "method-not-allowed"));
    assert_eq!(http.get("/api/v1/symbols/SPY/book?depth=0").code(), (400, "malformed"));
    assert_eq!(http.get("/api/v1/symbols/SPY/trades?before=99").code(), (400, "malformed"));
    assert_eq!(http.get("/api/v1/symbols/SPY/candles?interval=2m").code(), (400, "malformed"));
    // Another account's order is answered as one that does not exist.
    http.make(orders, &order("2", "sell", "12.5", "40"));
    assert_eq!(http.get("/api/v1/orders/1?account=1").code(), (404, "unknown-order"));
    assert_eq!(http.delete("/api/v1/orders/1?account=1").code(), (404, "unknown-order"));
    assert_eq!(http.get("/api/v1/orders/2?account=1").code(), (404, "unknown-order"));
    let large = json!({"account": "1".repeat(100_000), "balance": "1"});
    assert_eq!(http.post("/api/v1/accounts", &large).code(), (413, "too-large"));
    server.stop();
}

#[test]
fn pages_of_accounts_and_orders_show_each_once() {
    const ACCOUNTS: usize = 25;
    let folder = Folder::new("rest-pages");
    let (server, http) = start(&folder);
    server.ask(MARKET);
    for number in 3..=ACCOUNTS {
        http.make("/api/v1/accounts", &json!({"account": number.to_string(), "balance": "1"}));
    }
    for _ in 0..ACCOUNTS {
        http.make("/api/v1/orders", &order("1", "buy", "1", "2"));
    }
    let pages = |path: &str, list: &str, field: &str, cursor: &str| -> Vec<String> {
        let (mut shown, mut behind) = (Vec::new(), String::new());
        loop {
            let page = http.read(&format!("{path}limit=4{behind}"));
            shown.extend(page[list].as_array().unwrap().iter().map(|one| one[field].to_string()));
            assert!(shown.len() <= 2 * ACCOUNTS, "pages without end: {shown:?}");
            match &page["next"] {
                Value::Null => return shown,
                next => behind = format!("&{cursor}={}", next.to_string().trim_matches('"')),
            }
        }
    };
    let accounts: Vec<String> = (1..=ACCOUNTS).map(|number| format!("\"{number}\"")).collect();
    assert_eq!(pages("/api/v1/accounts?", "accounts", "account", "after"), accounts);
    let orders: Vec<String> = (1..=ACCOUNTS).rev().map(|number| number.to_string()).collect();
    for path in ["/api/v1/accounts/1/orders?", "/api/v1/accounts/1/orders?status=all&"] {
        assert_eq!(pages(path, "orders", "order_id", "before"), orders, "{path}");
    }
    server.stop();
}

#[test]
fn a_client_order_id_stands_for_one_order() {
    let folder = Folder::new("rest-client-ids");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let named = |shares: &str| {
        let mut body = order("1", "buy", "10", shares);
        body["client_order_id"] = json!("mine/1");
        body
    };
    let first = http.make("/api/v1/orders", &named("5"));
    assert_eq!((&first["order_id"], &first["client_order_id"]), (&json!(1), &json!("mine/1")));
    let again = http.post("/api/v1/orders", &named("5"));
    assert_eq!((again.status, &again.body), (200, &first));
    assert_eq!(http.post("/api/v1/orders", &named("6")).code(), (409, "client-order-id-taken"));
    assert_eq!(http.read("/api/v1/status")["open_orders"], 1);
    let by_id = "/api/v1/orders/by-client-id/mine/1?account=1";
    assert_eq!(http.read(by_id), http.read("/api/v1/orders/1?account=1"));
    assert_eq!(http.get("/api/v1/orders/by-client-id/mine/1?account=2").code(), (404, "unknown-order"));
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(http.read(by_id)["client_order_id"], "mine/1");
    let canceled = http.delete(by_id);
    assert_eq!((canceled.status, &canceled.body["status"]), (200, &json!("canceled")));
    assert_eq!(http.delete(by_id).code(), (409, "nothing-open"));
    assert_eq!(http.read(by_id)["client_order_id"], "mine/1");
    let again = http.post("/api/v1/orders", &named("5"));
    assert_eq!((again.status, &again.body), (200, &first), "for a day after it is done");
    let mut bad = named("5");
    bad["client_order_id"] = json!("no blanks");
    let refused = http.post("/api/v1/orders", &bad);
    assert_eq!((refused.code(), &refused.body["field"]), ((400, "malformed"), &json!("client_order_id")));
    server.stop();
}

#[test]
fn a_foreign_page_gets_nowhere() {
    let folder = Folder::new("rest-foreign");
    let (server, http) = start(&folder);
    server.ask(MARKET);
    let body = order("1", "buy", "10", "5").to_string();
    let json = ("content-type", "application/json");
    let ours = format!("http://{}", server.http);
    let post = |headers: &[(&str, &str)]| http.send("POST", "/api/v1/orders", Some(&body), headers);
    assert_eq!(post(&[]).code(), (415, "not-json"));
    assert_eq!(post(&[("content-type", "text/plain")]).code(), (415, "not-json"));
    assert_eq!(post(&[json, ("origin", "http://evil.example")]).code(), (403, "foreign-origin"));
    assert_eq!(post(&[json, ("origin", "null")]).code(), (403, "foreign-origin"));
    let other_host = post(&[json, ("host", "evil.example")]);
    assert_eq!(other_host.code(), (403, "foreign-host"));
    assert!(other_host.text.contains("--http-hosts"), "it says what to do: {}", other_host.text);
    assert_eq!(
        http.send("GET", "/api/v1/accounts/1", None, &[("host", "evil.example:8080")]).code(),
        (403, "foreign-host")
    );
    assert_eq!(
        http.send("DELETE", "/api/v1/orders/1?account=1", None, &[("origin", "http://evil.example")]).code(),
        (403, "foreign-origin")
    );
    let mut upgrade =
        tungstenite::client::IntoClientRequest::into_client_request(format!("ws://{}/ws/v1", server.http)).unwrap();
    upgrade.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    let refused = tungstenite::connect(upgrade).err().unwrap().to_string();
    assert!(refused.contains("403"), "{refused}");
    let read = http.send("GET", "/api/v1/accounts/1", None, &[("origin", "http://evil.example")]);
    assert_eq!(read.status, 200, "a browser does not show it to the page: nothing says that it may");
    assert_eq!(http.read("/api/v1/status")["open_orders"], 0, "nothing of this was done");
    assert_eq!(post(&[json, ("origin", &ours)]).status, 201);
    server.stop();
}

#[test]
fn a_name_that_was_given_is_the_servers_own() {
    let folder = Folder::new("rest-hosts");
    let server = Launch::new(&folder.data()).with("--http-hosts exchange.example,other.example").start();
    let http = Http::new(server.http);
    let (host, json) = (("host", "exchange.example:8080"), ("content-type", "application/json"));
    let account = |number: u64| json!({"account": number.to_string(), "balance": "1"}).to_string();
    let post = |number: u64, headers: &[(&str, &str)]| {
        http.send("POST", "/api/v1/accounts", Some(&account(number)), &[&[host, json], headers].concat())
    };
    assert_eq!(post(1, &[]).status, 201);
    assert_eq!(post(2, &[("origin", "http://exchange.example:8080")]).status, 201);
    for foreign in ["http://exchange.example", "http://other.example:8080", "http://evil.example:8080"] {
        assert_eq!(post(3, &[("origin", foreign)]).code(), (403, "foreign-origin"), "{foreign}");
    }
    assert_eq!(http.send("GET", "/", None, &[("host", "evil.example")]).code(), (403, "foreign-host"));
    // A browser gets an answer that it can show.
    let shown = http.send("GET", "/", None, &[("host", "evil.example"), ("accept", "text/html,*/*;q=0.8")]);
    assert_eq!((shown.status, shown.kind.as_str()), (403, "application/json"));
    assert!(shown.text.contains("--http-hosts"), "it says what to do: {}", shown.text);
    server.stop();
}

#[test]
fn an_address_that_others_reach_is_warned_of() {
    let folder = Folder::new("rest-warning");
    let server = Launch::new(&folder.data()).start();
    assert!(!server.banner.contains("warning    "), "{}", server.banner);
    server.stop();
    let open = Launch::new(&folder.data()).on_http("0.0.0.0:0".parse().unwrap());
    let refused = open.try_start().err().unwrap();
    for way_out in ["--http is 0.0.0.0:0, which is not loopback", "pricetime access add", "--open-to-anyone"] {
        assert!(refused.stderr.contains(way_out), "{}", refused.stderr);
    }
    let server = open.with("--open-to-anyone").start();
    assert!(server.banner.contains("warning    HTTP is on 0.0.0.0:"), "{}", server.banner);
    server.stop();
}

#[test]
fn history_survives_stops_and_crashes() {
    let folder = Folder::new("rest-history");
    let launch = Launch::new(&folder.data()).with("--segment-size 64KiB --snapshot-every 300");
    let server = launch.start();
    server.ask(MARKET);
    let orders = |http: &Http| {
        for number in 0..200 {
            let price = 5 + number % 3;
            http.make("/api/v1/orders", &order("2", "sell", &price.to_string(), "0.1"));
            http.make("/api/v1/orders", &order("1", "buy", &price.to_string(), "0.07"));
            if number % 5 == 0 {
                http.delete(&format!(
                    "/api/v1/orders/{}?account=2",
                    http.read("/api/v1/accounts/2/orders")["orders"][0]["order_id"]
                ));
            }
        }
    };
    let http = Http::new(server.http);
    orders(&http);
    let told = everything(&http);
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(everything(&http), told, "after a crash");
    orders(&http);
    let told = everything(&http);
    assert!(told["orders 2"].as_array().unwrap().len() == 400 && told["trades"].as_array().unwrap().len() > 300);
    server.stop();
    let server = launch.start();
    assert_eq!(everything(&Http::new(server.http)), told, "after a stop");
    server.stop();
}

/// Everything that can be read, in all its pages.
fn everything(http: &Http) -> Value {
    let mut all = serde_json::Map::new();
    for (name, path, list) in [
        ("orders 1", "/api/v1/accounts/1/orders?status=all&limit=7", "orders"),
        ("orders 2", "/api/v1/accounts/2/orders?status=all&limit=70", "orders"),
        ("open", "/api/v1/accounts/2/orders?limit=9", "orders"),
        ("executions", "/api/v1/accounts/1/executions?limit=13", "executions"),
        ("trades", "/api/v1/symbols/SPY/trades?limit=11", "trades"),
    ] {
        let (mut found, mut before) = (Vec::new(), String::new());
        loop {
            let page = http.read(&format!("{path}{before}"));
            found.extend(page[list].as_array().unwrap().iter().cloned());
            match page["next"].as_u64() {
                Some(next) => before = format!("&before={next}"),
                None => break,
            }
        }
        all.insert(name.to_owned(), found.into());
    }
    for path in [
        "symbols/SPY/candles?interval=1s",
        "symbols/SPY/candles?interval=5m",
        "symbols/SPY/candles?interval=1d",
        "accounts/1",
        "accounts/2",
    ] {
        all.insert(path.to_owned(), http.read(&format!("/api/v1/{path}")));
    }
    let book = http.read("/api/v1/symbols/SPY/book");
    all.insert("book".to_owned(), json!([book["bids"], book["asks"]]));
    all.into()
}
