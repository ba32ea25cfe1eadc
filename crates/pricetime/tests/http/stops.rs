//! Orders that wait for a price, over REST, XML and the compatible interface: what they hold, what triggers them, what
//! is told of them, and what is known of them after a restart.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, PATIENCE, state_of};
use crate::common::wait::wait_until;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

/// A client order id of the greatest length, with every kind of character.
const LONGEST: &str = "A-z_0.9:/abcdefghijklmnopqrstuvwxyzA";

/// An order with its further parameters.
fn order(account: &str, side: &str, kind: &str, shares: &str, more: Value) -> Value {
    let mut order = json!({"account": account, "symbol": "SPY", "side": side, "kind": kind, "shares": shares});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

fn has(http: &Http) -> [Value; 4] {
    let account = http.read("/api/v1/accounts/1");
    let position = &account["positions"][0];
    [&account["balance"], &account["held"], &position["shares"], &position["held"]].map(Value::clone)
}

#[test]
fn orders_wait_hold_and_are_triggered_across_restarts() {
    let folder = Folder::new("stops");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let asked = [
        order("1", "sell", "market", "3", json!({"stop": "9", "client_order_id": LONGEST})),
        order("1", "sell", "limit", "4", json!({"take_profit": "12", "limit": "11.5"})),
        order("1", "buy", "market", "5", json!({"stop": "15"})),
        order("1", "buy", "post_only", "6", json!({"take_profit": "8", "limit": "7", "client_order_id": "short"})),
    ];
    let ids: Vec<u64> =
        asked.iter().map(|order| http.make("/api/v1/orders", order)["order_id"].as_u64().unwrap()).collect();
    let again = http.post("/api/v1/orders", &asked[0]);
    assert_eq!((again.status, again.body["order_id"].as_u64()), (200, Some(ids[0])), "the same order once more");
    let mut other = asked[0].clone();
    other["stop"] = json!("8.5");
    let refused = http.post("/api/v1/orders", &other).body;
    assert!(refused["detail"].as_str().unwrap().contains("another stop"), "{refused}");
    let held = json!(["958", "42", "93", "7"]);
    let waiting = json!([
        ["market", null, "9", null, true, "open"],
        ["limit", "11.5", null, "12", true, "open"],
        ["market", null, "15", null, true, "open"],
        ["post_only", "7", null, "8", true, "open"],
    ]);
    let shown = |http: &Http| -> Value {
        let fields = ["kind", "limit", "stop", "take_profit", "waits", "status"];
        let one = |id: &u64| fields.map(|field| http.read(&format!("/api/v1/orders/{id}?account=1"))[field].clone());
        ids.iter().map(one).collect::<Vec<_>>().into()
    };
    assert_eq!((json!(has(&http)), shown(&http)), (held.clone(), waiting.clone()));
    let book = http.read("/api/v1/symbols/SPY/book");
    assert_eq!([&book["bids"], &book["asks"]], [&json!([]), &json!([])], "what waits stands in no book");
    // The server restarts from its journal first, and then from the snapshot of a stop.
    server.kill();

    launch.start().stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!((json!(has(&http)), shown(&http)), (held, waiting));
    let long = http.read(&format!("/api/v1/orders/by-client-id/{LONGEST}?account=1"));
    assert_eq!(long["order_id"].as_u64(), Some(ids[0]));
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    for (side, limit, shares) in [("buy", "9", "4"), ("sell", "9", "1")] {
        http.make("/api/v1/orders", &order("2", side, "limit", shares, json!({"limit": limit})));
    }
    let sold = http.read(&format!("/api/v1/orders/{}?account=1", ids[0]));
    let fields =
        ["status", "executed", "average_price", "stop", "waits", "client_order_id"].map(|field| sold[field].clone());
    assert_eq!(json!(fields), json!(["executed", "3", "9", "9", false, LONGEST]));
    // The order waits for this price or a lower one, and this is the last price.
    let late = http.post("/api/v1/orders", &order("1", "sell", "market", "1", json!({"stop": "9.5"}))).body;
    assert_eq!(late["code"], "triggers-at-once", "{late}");
    assert!(late["detail"].as_str().unwrap().contains("an execution at 9 reaches it, so choose a stop below that"));
    for (more, field) in [
        (json!({"stop": "9", "take_profit": "9", "limit": "1"}), "take_profit"),
        (json!({"stop": "0", "limit": "1"}), "stop"),
        (json!({"take_profit": "1.123456789", "limit": "1"}), "take_profit"),
    ] {
        let refused = http.post("/api/v1/orders", &order("1", "buy", "limit", "1", more)).body;
        assert_eq!([&refused["code"], &refused["field"]], [&json!("malformed"), &json!(field)], "{refused}");
    }
    let mut told = Vec::new();
    while told.last().is_none_or(|last: &Value| last["report"] != "executed") {
        told.extend(socket.next()["reports"].as_array().into_iter().flatten().cloned());
    }
    let placed: Vec<Value> =
        told.iter().take(4).map(|report| json!([report["kind"], report["stop"], report["take_profit"]])).collect();
    assert_eq!(
        json!(placed),
        json!([["market", "9", null], ["limit", null, "12"], ["market", "15", null], ["post_only", null, "8"]])
    );
    // At 12 the sell is triggered and joins the book. It sells at its own limit.
    for (side, limit) in [("sell", "12"), ("buy", "12")] {
        http.make("/api/v1/orders", &order("2", side, "limit", "1", json!({"limit": limit})));
    }
    assert_eq!(http.read("/api/v1/symbols/SPY/book")["asks"], json!([["11.5", "4", 1]]));
    server.stop();

    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(
        shown(&http),
        json!([
            ["market", null, "9", null, false, "executed"],
            ["limit", "11.5", null, "12", false, "open"],
            ["market", null, "15", null, true, "open"],
            ["post_only", "7", null, "8", true, "open"],
        ])
    );
    let triggered: Vec<bool> =
        ids.iter().map(|id| http.read(&format!("/api/v1/orders/{id}?account=1"))["triggered_time"].is_u64()).collect();
    assert_eq!(triggered, [true, true, false, false], "one is done, one rests, and two wait");
    let canceled = http.delete("/api/v1/accounts/1/orders?symbol=SPY").body;
    assert_eq!(canceled["canceled"].as_array().map(Vec::len), Some(3), "{canceled}");
    // 27 dollars were paid for the sold shares.
    assert_eq!(json!(has(&http)), json!(["1027", "0", "97", "0"]));
    server.stop();
}

#[test]
fn more_orders_than_one_command_activates_are_activated_by_the_server_alone() {
    const ORDERS: usize = 2_500;
    let folder = Folder::new("stops-many");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(&format!(
        r#"<create><account id="1" balance="0"/><account id="2" balance="100000"/>
        <symbol sym="SPY"><account id="1">{ORDERS}</account><account id="2">1</account></symbol></create>"#
    ));
    let stop = r#"<order sym="SPY" amount="-1" type="market" stop="9"/>"#;
    for half in [ORDERS / 2, ORDERS - ORDERS / 2] {
        server.ask(&format!(r#"<transactions id="1">{}</transactions>"#, stop.repeat(half)));
    }
    let bid = format!(r#"<order sym="SPY" amount="1" limit="9"/><order sym="SPY" amount="{ORDERS}" limit="8"/>"#);
    server.ask(&format!(r#"<transactions id="2">{bid}<order sym="SPY" amount="-1" limit="9"/></transactions>"#));
    let http = Http::new(server.http);
    wait_until("every order was activated", PATIENCE, || http.read("/api/v1/accounts/1")["open_orders"] == 0);
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], json!((8 * ORDERS).to_string()), "each sold its share at 8");
    server.stop();
    // Two accounts, a symbol, shares for both, the stops, three orders. A thousand stops were activated with the last
    // of these.
    let asked = 2 + 1 + 2 + ORDERS as u64 + 3;
    assert_eq!(state_of(&folder.data())["sequence"], asked + 2, "the server gave two commands by itself");
}

#[test]
fn clients_of_the_compatible_interface_find_their_stops() {
    let folder = Folder::new("binance-stops");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&{words}")).body;
    let told = |order: &Value| {
        let fields = ["type", "timeInForce", "status", "price", "stopPrice"];
        fields.map(|field| order[field].as_str().unwrap_or("–").to_owned())
    };
    let mut ids = Vec::new();
    for (words, becomes) in [
        ("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=9", ["STOP_LOSS", "GTC", "NEW", "0.00000000", "9.00000000"]),
        (
            "side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=2&price=8.5&stopPrice=9",
            ["STOP_LOSS_LIMIT", "GTC", "NEW", "8.50000000", "9.00000000"],
        ),
        ("side=BUY&type=TAKE_PROFIT&quantity=1&stopPrice=5", ["TAKE_PROFIT", "GTC", "NEW", "0.00000000", "5.00000000"]),
        (
            "side=SELL&type=TAKE_PROFIT_LIMIT&timeInForce=IOC&quantity=2&price=13&stopPrice=13",
            ["TAKE_PROFIT_LIMIT", "IOC", "NEW", "13.00000000", "13.00000000"],
        ),
    ] {
        let order = place(words);
        assert_eq!(told(&order), becomes, "{words}: {order}");
        assert_eq!([&order["fills"], &order["workingTime"]], [&json!([]), &json!(-1)]);
        let again = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={}", order["orderId"])).body;
        assert_eq!((told(&again), &again["isWorking"]), (becomes.map(str::to_owned), &json!(false)), "{again}");
        let event = std::iter::repeat_with(|| socket.next()).find(|event| event["e"] == "executionReport").unwrap();
        let fields = ["i", "o", "P", "x", "X", "w"].map(|field| event[field].clone());
        assert_eq!(json!(fields), json!([order["orderId"], becomes[0], becomes[4], "NEW", "NEW", false]));
        ids.push(order["orderId"].clone());
    }
    for (words, code) in [
        ("side=SELL&type=STOP_LOSS&quantity=1", -1102),
        ("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=0", -1013),
        ("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=9&price=9", -1106),
        ("side=SELL&type=STOP_LOSS&quoteOrderQty=1&stopPrice=9", -1106),
        ("side=SELL&type=STOP_LOSS_LIMIT&quantity=1&stopPrice=9&price=9", -1102),
        ("side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&stopPrice=9&price=9", -1106),
        ("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=9&trailingDelta=100", -1106),
    ] {
        assert_eq!(place(words)["code"], code, "{words}");
    }
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="2" limit="9"/><order sym="SPY" amount="-1" limit="9"/></transactions>"#);
    let mut happened = Vec::new();
    while happened.is_empty() {
        let event = socket.next();
        if event["e"] == "executionReport" {
            happened.push(json!([event["i"], event["o"], event["x"], event["X"], event["L"], event["m"]]));
            assert_eq!(event["W"], event["T"], "it works since it was triggered, which was when it executed: {event}");
        }
    }
    assert_eq!(happened, [json!([ids[0], "STOP_LOSS", "TRADE", "FILLED", "9.00000000", false])]);
    let sold = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={}", ids[0])).body;
    assert!(sold["workingTime"].as_u64() > sold["time"].as_u64(), "{sold}");
    assert_eq!(sold["workingTime"], sold["updateTime"], "{sold}");
    let working = |http: &Http| -> Vec<Value> {
        let open = keys.send(http, "GET", "openOrders", "symbol=SPYUSD").body;
        let one = |order: &Value| json!([order["orderId"], order["isWorking"], order["workingTime"]]);
        open.as_array().unwrap().iter().map(one).collect()
    };
    // The second order was triggered by the same command, and is in the book.
    let since = &sold["workingTime"];
    let expected = [json!([ids[1], true, since]), json!([ids[2], false, -1]), json!([ids[3], false, -1])];
    assert_eq!(working(&http), expected);
    // An order that finds nothing to execute with when it is triggered is not canceled by its owner.
    let lonely = place("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=8");
    let trade = r#"<order sym="SPY" amount="1" limit="8"/><order sym="SPY" amount="-1" limit="8"/>"#;
    server.ask(&format!(r#"<transactions id="2">{trade}</transactions>"#));
    let lonely = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={}", lonely["orderId"])).body;
    assert_eq!([&lonely["status"], &lonely["executedQty"]], [&json!("EXPIRED"), &json!("0.00000000")], "{lonely}");
    assert_eq!(lonely["workingTime"], lonely["updateTime"], "{lonely}");
    let late = place("side=SELL&type=STOP_LOSS&quantity=1&stopPrice=9.5");
    assert_eq!(late, json!({"code": -2010, "msg": "Stop price would trigger immediately."}));
    let canceled = keys.send(&http, "DELETE", "order", &format!("symbol=SPYUSD&orderId={}", ids[2])).body;
    assert_eq!([&canceled["status"], &canceled["stopPrice"]], [&json!("CANCELED"), &json!("5.00000000")], "{canceled}");
    server.kill();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(json!(working(&http)), json!([expected[0], expected[2]]), "also when another server has started");
    let all = keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body;
    assert_eq!(all[0]["workingTime"], *since, "{all}");
    server.stop();
}
