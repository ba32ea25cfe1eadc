//! Self-trade prevention over the compatible interface: what happens to both orders, what answers and the account's
//! stream tell of it, and what is known after a restart.

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

/// The next `count` reports. Each has the order, what happened, the order's status, its quantity, its executed
/// quantity, and its prevented quantity.
fn reports(socket: &mut Socket, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    while found.len() < count {
        let event = socket.next();
        if event["e"] == "executionReport" {
            found.push(json!([event["i"], event["x"], event["X"], event["q"], event["z"], event["B"]]));
        }
    }
    found
}

fn shown(keys: &KeyFile, http: &Http, order: &Value) -> Value {
    let order = keys.send(http, "GET", "order", &format!("symbol=SPYUSD&orderId={order}")).body;
    // If the prevention ended an order, the prevented quantity is all that was not executed.
    let amount = |field: &str| order[field].as_str().unwrap().parse::<f64>().unwrap();
    let prevented = (order["status"] == ENDED).then(|| amount("origQty") - amount("executedQty"));
    assert_eq!(order["preventedQuantity"].as_str().map(|text| text.parse::<f64>().unwrap()), prevented, "{order}");
    json!([order["status"], order["origQty"], order["executedQty"], order["selfTradePreventionMode"]])
}

/// A mode, and what happens to an order that meets an own bid for five shares: its answer, the reports of both orders
/// after the report that the second one is new, and what is shown of both.
struct Scenario {
    mode: &'static str,
    arriving: &'static str,
    answered: [&'static str; 2],
    reports: fn(&Value, &Value) -> Value,
    maker: Value,
    taker: Value,
}

const ZERO: &str = "0.00000000";
const TWO: &str = "2.00000000";
const THREE: &str = "3.00000000";
const FIVE: &str = "5.00000000";
const SEVEN: &str = "7.00000000";
const PREVENTED: &str = "TRADE_PREVENTION";
const ENDED: &str = "EXPIRED_IN_MATCH";
const LIMIT: &str = "type=LIMIT&timeInForce=GTC&price=10";

fn scenarios() -> Vec<Scenario> {
    let of =
        |mode, arriving, answered, reports, maker, taker| Scenario { mode, arriving, answered, reports, maker, taker };
    vec![
        of(
            "NONE",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=3",
            ["FILLED", THREE],
            |maker, taker| {
                json!([
                    [maker, "TRADE", "PARTIALLY_FILLED", FIVE, THREE, null],
                    [taker, "TRADE", "FILLED", THREE, THREE, null]
                ])
            },
            json!(["PARTIALLY_FILLED", FIVE, THREE, "NONE"]),
            json!(["FILLED", THREE, THREE, "NONE"]),
        ),
        of(
            "EXPIRE_TAKER",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=3",
            [ENDED, ZERO],
            |_, taker| json!([[taker, PREVENTED, ENDED, THREE, ZERO, THREE]]),
            json!(["NEW", FIVE, ZERO, "NONE"]),
            json!([ENDED, THREE, ZERO, "EXPIRE_TAKER"]),
        ),
        of(
            "EXPIRE_MAKER",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=3",
            ["NEW", ZERO],
            |maker, _| json!([[maker, PREVENTED, ENDED, FIVE, ZERO, FIVE]]),
            json!([ENDED, FIVE, ZERO, "NONE"]),
            json!(["NEW", THREE, ZERO, "EXPIRE_MAKER"]),
        ),
        of(
            "EXPIRE_BOTH",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=3",
            [ENDED, ZERO],
            |maker, taker| {
                json!([[maker, PREVENTED, ENDED, FIVE, ZERO, FIVE], [taker, PREVENTED, ENDED, THREE, ZERO, THREE]])
            },
            json!([ENDED, FIVE, ZERO, "NONE"]),
            json!([ENDED, THREE, ZERO, "EXPIRE_BOTH"]),
        ),
        of(
            "DECREMENT",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=3",
            [ENDED, ZERO],
            |maker, taker| {
                json!([[maker, PREVENTED, "NEW", TWO, ZERO, THREE], [taker, PREVENTED, ENDED, THREE, ZERO, THREE]])
            },
            json!(["NEW", TWO, ZERO, "NONE"]),
            json!([ENDED, THREE, ZERO, "DECREMENT"]),
        ),
        of(
            "DECREMENT",
            "type=LIMIT&timeInForce=GTC&price=10&quantity=7",
            ["NEW", ZERO],
            |maker, taker| {
                json!([[maker, PREVENTED, ENDED, FIVE, ZERO, FIVE], [taker, PREVENTED, "NEW", TWO, ZERO, FIVE]])
            },
            json!([ENDED, FIVE, ZERO, "NONE"]),
            json!(["NEW", TWO, ZERO, "DECREMENT"]),
        ),
        of(
            "EXPIRE_MAKER",
            "type=MARKET&quantity=7",
            ["EXPIRED", ZERO],
            |maker, taker| {
                json!([[maker, PREVENTED, ENDED, FIVE, ZERO, FIVE], [taker, "EXPIRED", "EXPIRED", SEVEN, ZERO, null]])
            },
            json!([ENDED, FIVE, ZERO, "NONE"]),
            json!(["EXPIRED", SEVEN, ZERO, "EXPIRE_MAKER"]),
        ),
    ]
}

#[test]
fn each_mode_does_to_both_orders_what_it_says() {
    let folder = Folder::new("binance-self-trade");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&{words}")).body;
    for Scenario { mode, arriving, answered, reports: expected, maker: maker_shown, taker: taker_shown } in scenarios()
    {
        let maker = place(&format!("side=BUY&{LIMIT}&quantity=5"))["orderId"].clone();
        let taker = place(&format!("side=SELL&{arriving}&selfTradePreventionMode={mode}"));
        let told = json!([taker["status"], taker["executedQty"], taker["selfTradePreventionMode"]]);
        assert_eq!(told, json!([answered[0], answered[1], mode]), "{taker}");
        let (taker, quantity) = (&taker["orderId"], &taker["origQty"]);
        let expected = expected(&maker, taker);
        let seen = reports(&mut socket, 2 + expected.as_array().unwrap().len());
        assert_eq!(seen[0], json!([maker, "NEW", "NEW", FIVE, ZERO, null]), "{mode}");
        assert_eq!(seen[1], json!([taker, "NEW", "NEW", quantity, ZERO, null]), "{mode}");
        assert_eq!(json!(seen[2..]), expected, "{mode}");
        assert_eq!((shown(&keys, &http, &maker), shown(&keys, &http, taker)), (maker_shown, taker_shown), "{mode}");
        let open = keys.send(&http, "GET", "openOrders", "symbol=SPYUSD").body.as_array().unwrap().len();
        if open > 0 {
            let canceled = keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").body;
            assert!(canceled.as_array().unwrap().iter().all(|order| order["status"] == "CANCELED"), "{canceled}");
        }
        assert!(reports(&mut socket, open).iter().all(|report| report[2] == "CANCELED"));
    }
    server.stop();
}

#[test]
fn every_request_that_places_an_order_takes_the_mode_and_no_other_one() {
    let folder = Folder::new("binance-self-trade-requests");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let place = |path: &str, words: &str| keys.send(&http, "POST", path, &format!("symbol=SPYUSD&{words}")).body;
    let buy = format!("side=BUY&{LIMIT}&quantity=5");
    let first = place("order", &format!("{buy}&selfTradePreventionMode=EXPIRE_BOTH"))["orderId"].clone();
    let sell = format!("side=SELL&{LIMIT}&quantity=3");
    assert_eq!(place("order/test", &format!("{sell}&selfTradePreventionMode=DECREMENT")), json!({}));
    for path in ["order", "order/test"] {
        for (wrong, code) in [("TRANSFER", -1013), ("none", -1130), ("EXPIRE", -1130)] {
            let refused = place(path, &format!("{sell}&selfTradePreventionMode={wrong}"));
            assert_eq!(refused["code"], code, "{path} {wrong}: {refused}");
        }
    }
    let sided = place("order", "side=SELL&type=LIMIT_MAKER&quantity=1&price=20")["orderId"].clone();
    let replaced = format!("{sell}&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={sided}");
    let both = place("order/cancelReplace", &format!("{replaced}&selfTradePreventionMode=EXPIRE_TAKER"));
    let new = &both["newOrderResponse"];
    assert_eq!([&new["status"], &new["selfTradePreventionMode"]], ["EXPIRED_IN_MATCH", "EXPIRE_TAKER"], "{both}");
    assert_eq!(both["cancelResponse"]["selfTradePreventionMode"], "NONE", "{both}");
    // An order for money: there is nobody else to trade with.
    let funds = place("order", "side=SELL&type=MARKET&quoteOrderQty=20&selfTradePreventionMode=EXPIRE_TAKER");
    assert_eq!(funds["code"], -2010, "{funds}");
    // Another account's bid is in front of the own one: the order executes with it, and its rest expires.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="2" limit="11"/></transactions>"#);
    let part = place("order", &format!("{sell}&selfTradePreventionMode=EXPIRE_TAKER"));
    let told = ["status", "executedQty", "origQty"].map(|field| part[field].clone());
    assert_eq!(told, ["EXPIRED_IN_MATCH", TWO, THREE], "{part}");
    let info = http.read("/binance/api/v3/exchangeInfo?symbol=SPYUSD")["symbols"][0].clone();
    let modes = ["NONE", "EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT"];
    assert_eq!(info["allowedSelfTradePreventionModes"], json!(modes));
    assert_eq!(info["defaultSelfTradePreventionMode"], "NONE");
    server.stop();
    // The modes of open and done orders are known when the server starts again.
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(shown(&keys, &http, &first), json!(["NEW", FIVE, ZERO, "EXPIRE_BOTH"]));
    let open = keys.send(&http, "GET", "openOrders", "").body;
    assert_eq!(open[0]["selfTradePreventionMode"], "EXPIRE_BOTH", "{open}");
    assert_eq!(shown(&keys, &http, &part["orderId"]), json!(["EXPIRED_IN_MATCH", THREE, TWO, "EXPIRE_TAKER"]));
    server.stop();
}

/// An order that triggered the one that takes its rest was answered as filled, with fewer shares executed than it has.
#[test]
fn an_answer_tells_the_status_behind_the_executions_that_it_has() {
    let folder = Folder::new("binance-self-trade-triggered");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    server.ask(concat!(
        r#"<transactions id="2"><order sym="SPY" amount="-3" limit="10"/>"#,
        r#"<order sym="SPY" amount="-1" limit="9" stop="10"/></transactions>"#
    ));
    let buy = format!("symbol=SPYUSD&side=BUY&{LIMIT}&quantity=4&selfTradePreventionMode=EXPIRE_MAKER");
    let told = keys.send(&http, "POST", "order", &buy).body;
    assert_eq!([&told["status"], &told["executedQty"]], ["PARTIALLY_FILLED", THREE], "{told}");
    let (four, now) = ("4.00000000", shown(&keys, &http, &told["orderId"]));
    assert_eq!(now, json!(["FILLED", four, four, "EXPIRE_MAKER"]), "the stop has taken the rest");
    server.stop();
}
