//! The rules of symbols over REST, the WebSocket and the compatible interface: how they are set and shown, what is
//! refused, and what is known of them after a restart.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Launch;

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol>
    <symbol sym="FREE"><account id="2">10</account></symbol></create>"#;

fn all() -> Value {
    json!({"tick": "0.05", "lot": "0.5", "min_shares": "1", "max_shares": "100", "min_value": "20", "max_value": "2000",
        "band_up": "10", "band_down": "20.5", "band_size": "0.5", "static_up": "50", "static_down": "60.25",
        "auction_ties": "pressure", "trading": true})
}

fn put(http: &Http, symbol: &str, rules: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    let answer = http.send("PUT", &format!("/api/v1/symbols/{symbol}/rules"), Some(&rules.to_string()), &json);
    (answer.status, answer.body)
}

fn order(side: &str, kind: &str, limit: &str, shares: &str) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": side, "kind": kind, "shares": shares});
    if kind != "market" {
        order["limit"] = limit.into();
    }
    order
}

/// An execution at 10, from which the price band is computed.
fn trade_at_ten(ask: impl Fn(&str) -> String) {
    ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="10"/></transactions>"#);
}

#[test]
fn rules_are_given_shown_and_obeyed_over_rest_and_after_a_restart() {
    let folder = Folder::new("rules-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    trade_at_ten(|body| server.ask(body));
    let http = Http::new(server.http);
    let symbol = |http: &Http, name: &str| http.read(&format!("/api/v1/symbols/{name}"));
    assert_eq!(symbol(&http, "SPY").get("rules"), None, "without rules a symbol is shown as ever");
    let with_reference = put(&http, "SPY", &json!({"static_up": "50", "reference": "10"}));
    assert_eq!(with_reference, (200, json!({"static_up": "50", "trading": true})), "an auction may move it meanwhile");
    assert_eq!(put(&http, "SPY", &all()), (200, all()));
    assert_eq!(symbol(&http, "SPY")["rules"], all());
    assert_eq!(symbol(&http, "FREE").get("rules"), None);

    for (asked, status, code) in [
        (order("buy", "limit", "10.02", "10"), 422, "off-tick"),
        (order("buy", "post_only", "9.99", "10"), 422, "off-tick"),
        (order("buy", "limit", "10", "2.25"), 422, "off-lot"),
        (order("buy", "limit", "30", "0.5"), 422, "shares-out-of-range"),
        (order("buy", "limit", "10", "100.5"), 422, "shares-out-of-range"),
        (order("buy", "limit", "10", "1.5"), 422, "value-out-of-range"),
        (order("sell", "market", "", "1"), 422, "value-out-of-range"),
        (order("sell", "limit", "11.05", "10"), 422, "outside-band"),
        (order("buy", "limit", "7.9", "10"), 422, "outside-band"),
    ] {
        let refused = http.post("/api/v1/orders", &asked);
        assert_eq!((refused.status, &refused.body["code"]), (status, &json!(code)), "{asked}: {}", refused.body);
    }
    let refused = http.post("/api/v1/orders", &order("buy", "limit", "10.02", "10")).body;
    assert_eq!(refused["detail"], "Limit 10.02 is not a multiple of the tick size 0.05");
    http.make("/api/v1/orders", &order("buy", "limit", "7.95", "10"));
    http.make("/api/v1/orders", &order("sell", "limit", "11", "2"));
    let state = server.state();
    assert_eq!(state["totals"]["symbols"][0]["rules"]["band-down"], "20.5");
    assert_eq!(state["totals"]["symbols"][1].get("rules"), None);
    server.kill();

    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(symbol(&http, "SPY")["rules"], all(), "read from the journal");
    assert_eq!(http.post("/api/v1/orders", &order("buy", "limit", "10.02", "10")).body["code"], "off-tick");
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(symbol(&http, "SPY")["rules"], all(), "read from the snapshot");
    // A rule that the body leaves out is removed.
    assert_eq!(put(&http, "SPY", &json!({"trading": false})), (200, json!({"trading": false})));
    assert_eq!(http.post("/api/v1/orders", &order("buy", "limit", "10", "10")).code(), (409, "halted"));
    assert_eq!(http.delete("/api/v1/orders/3?account=1").status, 200, "orders can be canceled");
    assert_eq!(put(&http, "SPY", &json!({})), (200, json!({"trading": true})));
    http.make("/api/v1/orders", &order("buy", "limit", "10.02", "0.1"));
    assert_eq!(symbol(&http, "SPY").get("rules"), None);
    server.stop();
}

#[test]
fn rules_that_cannot_be_are_refused_with_the_field() {
    let folder = Folder::new("rules-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for (rules, field, detail) in [
        (json!({"tick": "0"}), "tick", "tick is not above zero"),
        (json!({"lot": "-1"}), "lot", "lot is negative; at least 0"),
        (json!({"min_shares": "0"}), "min_shares", "min_shares is not above zero"),
        (json!({"band_up": "1.005"}), "band_up", "band_up has more than 2 decimal places"),
        (json!({"band_up": "10001"}), "band_up", "band_up is out of range; at most 10000"),
        (json!({"step": "1"}), "step", "unknown field"),
    ] {
        let (status, told) = put(&http, "SPY", &rules);
        assert_eq!((status, &told["code"], &told["field"]), (400, &json!("malformed"), &json!(field)), "{told}");
        assert!(told["detail"].as_str().unwrap().contains(detail), "{told}");
    }
    let (status, told) = put(&http, "SPY", &json!({"min_shares": "2", "max_shares": "1"}));
    assert_eq!((status, &told["detail"]), (400, &json!("the fewest shares, 2, are above the most, 1")));
    assert_eq!(put(&http, "NONE", &json!({})).1["code"], "unknown-symbol");
    assert_eq!(put(&http, "N-E", &json!({})).1["code"], "unknown-symbol");
    let page = [("content-type", "application/json"), ("origin", "http://elsewhere.example")];
    let foreign = http.send("PUT", "/api/v1/symbols/SPY/rules", Some("{}"), &page);
    assert_eq!(foreign.code(), (403, "foreign-origin"));
    server.stop();
}

#[test]
fn whoever_follows_symbols_is_told_their_rules() {
    let folder = Folder::new("rules-websocket");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    let changed = server.ask(r#"<create><rules sym="SPY" tick="0.01" trading="off"/></create>"#);
    assert_eq!(changed, "<results><changed sym=\"SPY\" tick=\"0.01\" trading=\"off\"/></results>\n");
    let told = loop {
        let update = socket.next_of("update", "symbols");
        let spy = update["symbols"].as_array().unwrap().iter().find(|symbol| symbol["symbol"] == "SPY").cloned();
        if let Some(spy) = spy.filter(|spy| spy.get("rules").is_some()) {
            break spy;
        }
    };
    assert_eq!(told["rules"], json!({"tick": "0.01", "trading": false}));
    server.stop();
}

/// The filter of this type of a pair.
fn filter(pair: &Value, name: &str) -> Value {
    let filters = pair["filters"].as_array().unwrap().iter();
    filters.into_iter().find(|filter| filter["filterType"] == name).cloned().unwrap_or(Value::Null)
}

#[test]
fn the_compatible_interface_shows_rules_as_filters_and_refuses_by_their_names() {
    let folder = Folder::new("rules-binance");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    trade_at_ten(|body| server.ask(body));
    let pairs = |query: &str| http.read(&format!("/binance/api/v3/exchangeInfo{query}"))["symbols"].clone();
    let free = pairs("?symbol=FREEUSD")[0].clone();
    let names: Vec<&Value> = free["filters"].as_array().unwrap().iter().map(|filter| &filter["filterType"]).collect();
    assert_eq!(
        names,
        ["PRICE_FILTER", "LOT_SIZE", "MARKET_LOT_SIZE", "MIN_NOTIONAL", "ICEBERG_PARTS", "TRAILING_DELTA"]
    );
    assert_eq!(filter(&free, "LOT_SIZE")["stepSize"], "0.00000001");
    let least = json!({"filterType": "MIN_NOTIONAL", "minNotional": "0.0000000000000001", "applyToMarket": false, "avgPriceMins": 0});
    assert_eq!(filter(&free, "MIN_NOTIONAL"), least);
    put(&http, "SPY", &all());
    let spy = pairs("?symbol=SPYUSD")[0].clone();
    assert_eq!((&spy["symbol"], &spy["status"]), (&json!("SPYUSD"), &json!("TRADING")));
    assert_eq!(filter(&spy, "PRICE_FILTER")["tickSize"], "0.05000000");
    for name in ["LOT_SIZE", "MARKET_LOT_SIZE"] {
        let lots =
            json!({"filterType": name, "minQty": "1.00000000", "maxQty": "100.00000000", "stepSize": "0.50000000"});
        assert_eq!(filter(&spy, name), lots);
    }
    let notional = json!({"filterType": "NOTIONAL", "minNotional": "20.00000000", "applyMinToMarket": true,
        "maxNotional": "2000.00000000", "applyMaxToMarket": true, "avgPriceMins": 0});
    assert_eq!(filter(&spy, "NOTIONAL"), notional);
    let percent =
        json!({"filterType": "PERCENT_PRICE", "multiplierUp": "1.1", "multiplierDown": "0.795", "avgPriceMins": 0});
    assert_eq!(filter(&spy, "PERCENT_PRICE"), percent);

    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&side=BUY&{words}")).body;
    let limit =
        |price: &str, quantity: &str| place(&format!("type=LIMIT&timeInForce=GTC&price={price}&quantity={quantity}"));
    for (told, name) in [
        (limit("10.02", "10"), "PRICE_FILTER"),
        (place("type=STOP_LOSS&stopPrice=10.52&quantity=10"), "PRICE_FILTER"),
        (limit("10", "2.25"), "LOT_SIZE"),
        (limit("30", "0.5"), "LOT_SIZE"),
        (limit("10", "100.5"), "LOT_SIZE"),
        (limit("10", "1.5"), "NOTIONAL"),
        (place("type=MARKET&quantity=1"), "NOTIONAL"),
        (limit("11.05", "10"), "PERCENT_PRICE"),
    ] {
        assert_eq!(told, json!({"code": -1013, "msg": format!("Filter failure: {name}")}));
    }
    assert_eq!(limit("11", "10")["status"], "NEW");
    put(&http, "SPY", &json!({"trading": false}));
    assert_eq!(limit("10", "10"), json!({"code": -1013, "msg": "Market is closed."}));
    let names = |query: &str| -> Vec<Value> {
        let pairs = pairs(query);
        pairs.as_array().unwrap().iter().map(|pair| pair["symbol"].clone()).collect()
    };
    assert_eq!(pairs("?symbol=SPYUSD")[0]["status"], "HALT");
    assert_eq!(
        (names("?symbolStatus=HALT"), names("?symbolStatus=TRADING")),
        (vec![json!("SPYUSD")], vec![json!("FREEUSD")])
    );
    assert_eq!(names("").len(), 2);
    server.stop();
}

#[test]
fn the_tools_print_rules() {
    let folder = Folder::new("rules-tools");
    let server = Launch::new(&folder.data()).start();
    server.ask(r#"<create><symbol sym="SPY"/><rules sym="SPY" tick="0.01" band-up="5" trading="off"/></create>"#);
    server.ask(r#"<create><rules sym="SPY" lot="1"/><rules sym="NONE"/></create>"#);
    server.kill();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(words).arg(folder.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dump = run(&["journal", "dump"]);
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let rules = ["rules of SPY: tick 0.01, band-up 5, halted", "rules of SPY: lot 1", "rules of NONE: no rules"];
    assert_eq!(commands[1..], rules);
    assert!(run(&["journal", "stats"]).contains("rules               3"));
    assert!(run(&["state"]).contains("  SPY: 0 shares issued (0 held by sells), lot 1\n"));
}
