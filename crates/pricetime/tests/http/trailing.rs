//! Stops that follow the market, over REST, the WebSocket and the compatible interface: where they are, also after
//! restarts, and what triggers them.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, state_of};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

fn order(side: &str, kind: &str, shares: &str, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": side, "kind": kind, "shares": shares});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

/// An execution at this price, between orders of account 2.
fn trade(http: &Http, at: &str) {
    for side in ["buy", "sell"] {
        let order = json!({"account": "2", "symbol": "SPY", "side": side, "limit": at, "shares": "1"});
        http.make("/api/v1/orders", &order);
    }
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

#[test]
fn a_stop_follows_the_market_across_restarts_and_is_triggered() {
    let folder = Folder::new("trailing");
    let launch = Launch::new(&folder.data());
    let mut server = launch.start();
    server.ask(MARKET);
    let mut http = Http::new(server.http);
    let early = http.post("/api/v1/orders", &order("sell", "market", "3", json!({"trail": "5"})));
    assert_eq!((early.status, &early.body["code"]), (409, &json!("nothing-to-trail")), "{}", early.body);
    trade(&http, "100");
    let asked = [
        order("sell", "market", "3", json!({"trail": "5", "client_order_id": "dollars"})),
        order("sell", "limit", "4", json!({"trail_bips": 1000, "limit": "50"})),
        order("buy", "market", "5", json!({"trail": "10"})),
    ];
    let placed: Vec<Value> = asked.iter().map(|order| http.make("/api/v1/orders", order)).collect();
    assert_eq!(fields(&placed[0], ["stop", "trail", "trail_bips"]), json!([null, "5", null]));
    assert_eq!(fields(&placed[1], ["stop", "trail", "trail_bips"]), json!([null, null, 1000]));
    let shown = |http: &Http| -> Value {
        let one = |placed: &Value| {
            let order = http.read(&format!("/api/v1/orders/{}?account=1", placed["order_id"]));
            fields(&order, ["stop", "trail", "trail_bips", "waits", "status"])
        };
        placed.iter().map(one).collect()
    };
    let at = |dollars: &str, part: &str, buy: &str| {
        json!([[dollars, "5", null, true, "open"], [part, null, 1000, true, "open"], [buy, "10", null, true, "open"]])
    };
    assert_eq!(shown(&http), at("95", "90", "110"));
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    trade(&http, "108.5");
    let moved = at("103.5", "97.65", "110");
    assert_eq!(shown(&http), moved);
    let told = std::iter::repeat_with(|| socket.next()).find(|told| told.to_string().contains("103.5"));
    assert!(told.is_some_and(|told| told.to_string().contains("\"trail\":\"5\"")), "where it is now is told");
    let list = http.read("/api/v1/accounts/1/orders?status=open");
    assert_eq!(list["orders"].as_array().unwrap().iter().filter(|order| order["stop"] == "103.5").count(), 1, "{list}");
    // The server restarts from its journal first, and then from the snapshot of a stop. The same order sent again is
    // the same order.
    for stops in [false, true] {
        if stops {
            server.stop();
        } else {
            server.kill();
        }
        server = launch.start();
        http = Http::new(server.http);
        assert_eq!(shown(&http), moved);
        let again = http.post("/api/v1/orders", &asked[0]);
        assert_eq!((again.status, &again.body["order_id"]), (200, &placed[0]["order_id"]));
    }
    let mut other = asked[0].clone();
    other["trail"] = json!("6");
    assert_eq!(http.post("/api/v1/orders", &other).body["code"], "client-order-id-taken");
    // A new low moves the buy's trigger, and reaches neither sell.
    trade(&http, "104");
    assert_eq!(shown(&http), at("103.5", "97.65", "110"));
    http.make("/api/v1/orders", &json!({"account": "2", "symbol": "SPY", "side": "buy", "limit": "99", "shares": "9"}));
    http.make(
        "/api/v1/orders",
        &json!({"account": "2", "symbol": "SPY", "side": "sell", "limit": "99", "shares": "1"}),
    );
    let sold = http.read(&format!("/api/v1/orders/{}?account=1", placed[0]["order_id"]));
    assert_eq!(fields(&sold, ["status", "executed", "average_price", "trail"]), json!(["executed", "3", "99", null]));
    let left = http.read(&format!("/api/v1/orders/{}?account=1", placed[2]["order_id"]));
    assert_eq!(fields(&left, ["stop", "waits"]), json!(["109", true]));
    let state = state_of(&folder.data());
    let waits: Vec<&Value> = state["orders"].as_array().unwrap().iter().map(|order| &order["waits_for"]).collect();
    assert!(waits.contains(&&json!("stop 97.65")) && waits.contains(&&json!("stop 109")), "{waits:?}");
    let follows = |order: &&Value| order["trail"] == "10 behind the market";
    assert_eq!(state["orders"].as_array().unwrap().iter().filter(follows).count(), 1, "{state}");
    server.stop();
}

/// One account took all places of a symbol, and nobody else could place a trailing stop there.
#[test]
fn an_account_takes_a_part_of_the_places_of_a_symbol() {
    let folder = Folder::new("trailing-places");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    trade(&http, "100");
    let xml = "<order sym=\"SPY\" amount=\"1\" type=\"market\" trail=\"5\"/>";
    let told = server.ask(&format!("<transactions id=\"1\">{}</transactions>", xml.repeat(101)));
    assert_eq!(told.matches("<opened").count(), 100, "{told}");
    let words = "Too many stops of this account follow the price of this symbol: at most 100 may";
    assert!(told.contains(words), "{told}");
    let asked = order("buy", "market", "1", json!({"trail": "5"}));
    let refused = http.post("/api/v1/orders", &asked);
    assert_eq!((refused.status, &refused.body["code"]), (422, &json!("too-many-trails")), "{}", refused.body);
    assert!(refused.body["detail"].as_str().unwrap().contains(words), "{}", refused.body);
    let mut others = asked;
    others["account"] = json!("2");
    http.make("/api/v1/orders", &others);
    server.stop();
}

#[test]
fn a_trail_that_cannot_be_is_refused_and_names_its_field() {
    let folder = Folder::new("trailing-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    trade(&http, "10");
    for (more, code, field) in [
        (json!({"trail": "0"}), "malformed", json!("trail")),
        (json!({"trail": "1.123456789"}), "malformed", json!("trail")),
        (json!({"trail_bips": 0}), "malformed", json!("trail_bips")),
        (json!({"trail_bips": 10000}), "malformed", json!("trail_bips")),
        (json!({"trail_bips": 1.5}), "malformed", json!("trail_bips")),
        (json!({"trail_bips": "100"}), "malformed", json!("trail_bips")),
        (json!({"trail": "1", "trail_bips": 1}), "malformed", json!("trail_bips")),
        (json!({"trail": "1", "stop": "9"}), "malformed", json!("trail")),
        (json!({"trail_bips": 1, "take_profit": "9"}), "malformed", json!("trail_bips")),
        (json!({"trail": "1", "display": "1"}), "malformed", json!("display")),
        (json!({"trail": "10"}), "trail-too-far", Value::Null),
    ] {
        let mut asked = order("sell", "limit", "1", more.clone());
        asked["limit"] = json!("5");
        let refused = http.post("/api/v1/orders", &asked).body;
        assert_eq!([&refused["code"], &refused["field"]], [&json!(code), &field], "{more}: {refused}");
    }
    let funds = json!({"account": "1", "symbol": "SPY", "side": "sell", "kind": "market", "funds": "5", "trail": "1"});
    assert_eq!(http.post("/api/v1/orders", &funds).body["field"], "funds");
    server.stop();
}

#[test]
fn compatible_clients_give_a_trailing_delta() {
    let folder = Folder::new("binance-trailing");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    trade(&http, "100");
    let mut socket = keys.follow(&http);
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&{words}")).body;
    let stop = place("side=SELL&type=STOP_LOSS&quantity=3&trailingDelta=500");
    let told = |of: &Value| fields(of, ["type", "status", "trailingDelta"]);
    assert_eq!(told(&stop), json!(["STOP_LOSS", "NEW", 500]), "{stop}");
    let limit = place("side=BUY&type=STOP_LOSS_LIMIT&timeInForce=GTC&price=120&quantity=1&trailingDelta=2000");
    assert_eq!(told(&limit), json!(["STOP_LOSS_LIMIT", "NEW", 2000]), "{limit}");
    let report = std::iter::repeat_with(|| socket.next()).find(|event| event["e"] == "executionReport").unwrap();
    assert_eq!(fields(&report, ["i", "o", "x", "d"]), json!([stop["orderId"], "STOP_LOSS", "NEW", 500]));
    let open = |id: &Value| keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={id}")).body;
    let shown = |id: &Value| fields(&open(id), ["stopPrice", "trailingDelta", "isWorking"]);
    assert_eq!(shown(&stop["orderId"]), json!(["95.00000000", 500, false]));
    trade(&http, "110");
    assert_eq!(shown(&stop["orderId"]), json!(["104.50000000", 500, false]));
    assert_eq!(shown(&limit["orderId"]), json!(["120.00000000", 2000, false]));
    for (words, code) in [
        ("side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=9", -1013),
        ("side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=2001", -1013),
        ("side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=x", -1100),
        ("side=SELL&type=STOP_LOSS&quantity=1&trailingDelta=100&stopPrice=9", -1106),
        ("side=SELL&type=TAKE_PROFIT&quantity=1&trailingDelta=100", -1106),
        ("side=SELL&type=MARKET&quantity=1&trailingDelta=100", -1106),
        ("side=SELL&type=STOP_LOSS&quoteOrderQty=1&trailingDelta=100", -1106),
        ("side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&price=9&quantity=1&icebergQty=1&trailingDelta=100", -1106),
    ] {
        assert_eq!(place(words)["code"], code, "{words}");
    }
    let info = http.read("/binance/api/v3/exchangeInfo")["symbols"][0].clone();
    assert_eq!(info["allowTrailingStop"], true);
    let filter = info["filters"].as_array().unwrap().iter().find(|filter| filter["filterType"] == "TRAILING_DELTA");
    assert_eq!(filter.unwrap()["maxTrailingBelowDelta"], 2000);
    server.stop();
}
