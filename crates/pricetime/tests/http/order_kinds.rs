//! Orders of every kind over REST and the compatible interface: what they do, what is told of them, and what is known
//! of them after a restart.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

fn order(account: &str, side: &str, kind: &str, limit: Option<&str>, shares: &str) -> Value {
    let mut order = json!({"account": account, "symbol": "SPY", "side": side, "kind": kind, "shares": shares});
    if let Some(limit) = limit {
        order["limit"] = limit.into();
    }
    order
}

/// Kind, limit, status, and the executed and canceled shares of an order.
fn shown(order: &Value) -> [Value; 5] {
    ["kind", "limit", "status", "executed", "canceled"].map(|field| order[field].clone())
}

#[test]
fn each_kind_does_what_it_says_and_is_shown_the_same_after_a_restart() {
    let folder = Folder::new("order-kinds");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    for (limit, shares) in [("10", "5"), ("11", "5")] {
        http.make("/api/v1/orders", &order("2", "sell", "limit", Some(limit), shares));
    }
    let expected = [
        (order("1", "buy", "post_only", Some("9.5"), "1"), json!(["post_only", "9.5", "open", "0", "0"])),
        (
            order("1", "buy", "immediate_or_cancel", Some("10"), "7"),
            json!(["immediate_or_cancel", "10", "canceled", "5", "2"]),
        ),
        (order("1", "buy", "fill_or_kill", Some("11"), "6"), json!(["fill_or_kill", "11", "canceled", "0", "6"])),
        (order("1", "buy", "fill_or_kill", Some("11"), "2"), json!(["fill_or_kill", "11", "executed", "2", "0"])),
        (order("1", "buy", "market", None, "50"), json!(["market", null, "canceled", "3", "47"])),
        (order("1", "buy", "limit", Some("9"), "1"), json!(["limit", "9", "open", "0", "0"])),
    ];
    let mut ids = Vec::new();
    for (asked, becomes) in &expected {
        let placed = http.make("/api/v1/orders", asked);
        assert_eq!((&placed["kind"], &placed["limit"]), (&becomes[0], &becomes[1]), "{placed}");
        let id = placed["order_id"].as_u64().unwrap();
        assert_eq!(json!(shown(&http.read(&format!("/api/v1/orders/{id}?account=1")))), *becomes, "{asked}");
        ids.push(id);
    }
    // The channel tells each order with its kind.
    let mut told = Vec::new();
    while told.len() < ids.len() {
        let update = socket.next();
        for report in update["reports"].as_array().into_iter().flatten() {
            if report["report"] == "placed" {
                told.push(json!([report["order_id"], report["kind"], report["limit"]]));
            }
        }
    }
    let placed: Vec<Value> = ids.iter().zip(&expected).map(|(id, (_, is))| json!([id, is[0], is[1]])).collect();
    assert_eq!(told, placed);

    // An order for money buys as many shares as the money pays for, and gets the same answer when it is sent again.
    http.make("/api/v1/orders", &order("2", "sell", "limit", Some("12"), "5"));
    let mut for_money = order("1", "buy", "market", None, "1");
    for_money.as_object_mut().unwrap().remove("shares");
    (for_money["funds"], for_money["client_order_id"]) = (json!("30"), json!("for-30"));
    let placed = http.make("/api/v1/orders", &for_money);
    assert_eq!([&placed["kind"], &placed["limit"], &placed["shares"]], [&json!("market"), &json!(null), &json!("2.5")]);
    let again = http.post("/api/v1/orders", &for_money);
    assert_eq!((again.status, again.body), (200, placed.clone()));
    (for_money["side"], for_money["client_order_id"]) = (json!("sell"), json!("too-little"));
    for_money["funds"] = json!("0.00000001");
    assert_eq!(http.post("/api/v1/orders", &for_money).body["code"], "funds-trade-nothing");

    // Of 1,000 dollars 50, 22, 33 and 30 are spent, and 18.5 are held.
    let account = |http: &Http| http.read("/api/v1/accounts/1");
    let has = ["balance", "held"].map(|field| account(&http)[field].clone());
    assert_eq!(has, [json!("846.5"), json!("18.5")]);
    for (asked, code) in [
        (order("1", "sell", "post_only", Some("9.5"), "1"), "would-take"),
        (order("1", "sell", "market", Some("9.5"), "1"), "malformed"),
        (order("1", "sell", "limit", None, "1"), "malformed"),
        (order("1", "sell", "stop", Some("9.5"), "1"), "malformed"),
        (order("1", "sell", "market", None, "1000"), "insufficient-shares"),
    ] {
        assert_eq!(http.post("/api/v1/orders", &asked).body["code"], code, "{asked}");
    }
    assert_eq!(["balance", "held"].map(|field| account(&http)[field].clone()), has, "a refused order takes nothing");
    server.stop();

    let server = launch.start();
    let http = Http::new(server.http);
    let list = |which: &str| http.read(&format!("/api/v1/accounts/1/orders?status={which}"))["orders"].clone();
    for (id, (_, is)) in ids.iter().zip(&expected) {
        let all = list("all").as_array().unwrap().iter().find(|order| order["order_id"] == *id).cloned().unwrap();
        assert_eq!(json!(shown(&all)), *is);
        assert_eq!(json!(shown(&http.read(&format!("/api/v1/orders/{id}?account=1")))), *is);
    }
    let open: Vec<Value> = list("open").as_array().unwrap().iter().map(|order| order["kind"].clone()).collect();
    assert_eq!(open, ["limit", "post_only"]);
    server.stop();
}

#[test]
fn clients_of_the_compatible_interface_find_their_kinds() {
    let folder = Folder::new("binance-kinds");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-5" limit="10"/><order sym="SPY" amount="-5" limit="11"/></transactions>"#);
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&side=BUY&{words}")).body;
    let told = |order: &Value| {
        let fields = ["type", "timeInForce", "status", "price", "executedQty"];
        fields.map(|field| order[field].as_str().unwrap_or("–").to_owned())
    };
    let mut ids = Vec::new();
    for (words, becomes) in [
        ("type=LIMIT_MAKER&quantity=1&price=9.5", ["LIMIT_MAKER", "GTC", "NEW", "9.50000000", "0.00000000"]),
        ("type=LIMIT&timeInForce=IOC&quantity=7&price=10", ["LIMIT", "IOC", "EXPIRED", "10.00000000", "5.00000000"]),
        ("type=LIMIT&timeInForce=FOK&quantity=6&price=11", ["LIMIT", "FOK", "EXPIRED", "11.00000000", "0.00000000"]),
        ("type=LIMIT&timeInForce=FOK&quantity=2&price=11", ["LIMIT", "FOK", "FILLED", "11.00000000", "2.00000000"]),
        ("type=MARKET&quantity=1", ["MARKET", "GTC", "FILLED", "0.00000000", "1.00000000"]),
        ("type=MARKET&quantity=50", ["MARKET", "GTC", "EXPIRED", "0.00000000", "2.00000000"]),
    ] {
        let order = place(words);
        assert_eq!(told(&order), becomes, "{words}: {order}");
        let again = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={}", order["orderId"])).body;
        assert_eq!(told(&again), becomes, "{words}: {again}");
        // The stream tells that the order is new, each execution, and how it ended.
        let executions = order["fills"].as_array().unwrap().len();
        let mut happened = Vec::new();
        while happened.len() < 1 + executions + usize::from(becomes[2] == "EXPIRED") {
            let event = socket.next();
            if event["e"] == "executionReport" {
                assert_eq!(
                    [&event["i"], &event["o"], &event["f"]],
                    [&order["orderId"], &order["type"], &order["timeInForce"]]
                );
                happened.push((event["x"].clone(), event["X"].clone()));
            }
        }
        let (first, last) = (&happened[0], &happened[happened.len() - 1]);
        assert_eq!((first.0.as_str(), last.1.as_str()), (Some("NEW"), Some(becomes[2])), "{words}: {happened:?}");
        ids.push(order["orderId"].clone());
    }
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-5" limit="12"/></transactions>"#);
    let for_money = place("type=MARKET&quoteOrderQty=30");
    let fields = ["status", "origQty", "executedQty", "origQuoteOrderQty", "cummulativeQuoteQty"];
    let told_of_money = fields.map(|field| for_money[field].as_str().unwrap());
    assert_eq!(told_of_money, ["FILLED", "2.50000000", "2.50000000", "30.00000000", "30.00000000"]);
    ids.push(for_money["orderId"].clone());
    for (words, code) in [
        ("type=LIMIT&timeInForce=GTC&quoteOrderQty=1&price=9.5", -1106),
        ("type=MARKET&quantity=1&quoteOrderQty=1", -1106),
        ("type=MARKET&quoteOrderQty=0", -1013),
        ("type=LIMIT_MAKER&quantity=1&price=9.5&timeInForce=GTC", -1106),
        ("type=MARKET&quantity=1&price=9.5", -1106),
        ("type=MARKET&quantity=1&timeInForce=IOC", -1106),
        ("type=MARKET", -1102),
        ("type=LIMIT&timeInForce=GTD&quantity=1&price=9.5", -1115),
        ("type=TRAILING_STOP&quantity=1", -1116),
    ] {
        assert_eq!(place(words)["code"], code, "{words}");
    }
    let taking =
        keys.send(&http, "POST", "order", "symbol=SPYUSD&side=SELL&type=LIMIT_MAKER&quantity=1&price=9.5").body;
    assert_eq!(taking, json!({"code": -2010, "msg": "Order would immediately match and take."}));
    let all = keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body;
    assert_eq!(all.as_array().unwrap().iter().map(|order| order["orderId"].clone()).collect::<Vec<_>>(), ids);
    server.stop();
}
