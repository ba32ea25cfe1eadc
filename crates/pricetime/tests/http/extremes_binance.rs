//! Pairs of extreme values in the numeric parameters of the compatible interface, over REST and WebSocket.

use serde_json::{Map, Value, json};

use super::extremes::{DECIMAL, WHOLE, goes_on, pairs, set_up};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::{KeyFile, now};
use crate::common::server::Server;
use crate::common::talk::order;

/// Requests of the compatible interface: method, path, other parameters, whether it is signed, and numeric parameters.
const COMPATIBLE: [(&str, &str, &str, bool, &[&str]); 25] = [
    ("GET", "depth", "symbol=SPYUSD", false, &["limit"]),
    ("GET", "trades", "symbol=SPYUSD", false, &["limit"]),
    ("GET", "historicalTrades", "symbol=SPYUSD", false, &["limit", "fromId"]),
    ("GET", "aggTrades", "symbol=SPYUSD", false, &["limit", "fromId", "startTime", "endTime"]),
    ("GET", "ticker", "symbol=SPYUSD", false, &["windowSize"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1s", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1m", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=3d", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1w&timeZone=-12", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1M&timeZone=14", false, &["limit", "startTime", "endTime"]),
    ("GET", "account", "recvWindow=1000", true, &["recvWindow"]),
    ("GET", "allOrders", "symbol=SPYUSD", true, &["orderId", "startTime", "endTime", "limit", "recvWindow"]),
    ("GET", "myTrades", "symbol=SPYUSD", true, &["orderId", "startTime", "endTime", "fromId", "limit", "recvWindow"]),
    ("GET", "order", "symbol=SPYUSD", true, &["orderId", "recvWindow"]),
    ("GET", "allOrderList", "", true, &["fromId", "startTime", "endTime", "limit"]),
    ("GET", "order/amendments", "symbol=SPYUSD", true, &["orderId", "fromExecutionId", "limit"]),
    ("PUT", "order/amend/keepPriority", "symbol=SPYUSD&orderId=1&newQty=1", true, &["orderId", "newQty"]),
    (
        "POST",
        "order",
        "symbol=SPYUSD&side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=5&price=4",
        true,
        &["price", "quantity", "stopPrice", "trailingDelta"],
    ),
    (
        "POST",
        "orderList/oco",
        "symbol=SPYUSD&side=SELL&quantity=5&aboveType=LIMIT_MAKER&abovePrice=92233720368&belowType=STOP_LOSS&belowStopPrice=0.00000001",
        true,
        &["quantity", "abovePrice", "belowStopPrice"],
    ),
    (
        "POST",
        "orderList/oto",
        "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=0.00000001&workingQuantity=1\
         &pendingType=MARKET&pendingSide=SELL&pendingQuantity=1",
        true,
        &["workingPrice", "workingQuantity", "pendingQuantity"],
    ),
    (
        "POST",
        "orderList/otoco",
        "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=0.00000001&workingQuantity=1\
         &pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=92233720368\
         &pendingBelowType=STOP_LOSS&pendingBelowStopPrice=0.00000001",
        true,
        &["workingPrice", "pendingQuantity", "pendingAbovePrice", "pendingBelowStopPrice"],
    ),
    (
        "POST",
        "order",
        "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=5&price=4",
        true,
        &[
            "price",
            "quantity",
            "icebergQty",
            "stopPrice",
            "trailingDelta",
            "strategyType",
            "strategyId",
            "quoteOrderQty",
        ],
    ),
    ("POST", "order", "symbol=SPYUSD&side=SELL&type=MARKET", true, &["quantity", "quoteOrderQty", "recvWindow"]),
    ("DELETE", "order", "symbol=SPYUSD", true, &["orderId", "recvWindow"]),
    (
        "POST",
        "order/cancelReplace",
        "symbol=SPYUSD&side=SELL&type=LIMIT&timeInForce=GTC&cancelReplaceMode=ALLOW_FAILURE&cancelOrderId=1&quantity=5&price=9",
        true,
        &["cancelOrderId", "price", "quantity", "icebergQty"],
    ),
];

/// The parameters of a request with values for one or two of them.
fn compatible_query(base: &str, given: &[(&str, &str)]) -> String {
    let is_given = |text: &&str| given.iter().any(|(name, _)| text.starts_with(&format!("{name}=")));
    let beside = base.split('&').filter(|text| !text.is_empty() && !is_given(text)).map(str::to_owned);
    let given = given.iter().map(|(name, value)| match *name {
        "windowSize" => format!("{name}={value}d"),
        _ => format!("{name}={value}"),
    });
    beside.chain(given).collect::<Vec<_>>().join("&")
}

/// Starts a server with a key, where a price can be followed, and order 1 rests.
fn with_key(folder: &Folder) -> (Server, KeyFile) {
    let keys = KeyFile::new(folder);
    let settings = "--max-balance 100000000000000000000 --max-issue 100000000000000000000";
    let server = keys.launch(folder).with(settings).start();
    set_up(&server);
    let resting = order("SPY", "-4294967296", "92233720368.54775807");
    let traded = format!("{resting}{}{}", order("SPY", "-1", "5"), order("SPY", "1", "5"));
    let told = server.ask(&format!("<transactions id=\"1\">{traded}</transactions>"));
    assert!(!told.contains("<error"), "{told}");
    (server, keys)
}

#[test]
fn the_compatible_interface_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-binance");
    let (server, keys) = with_key(&folder);
    let http = Http::new(server.http);
    let proof = [("x-mbx-apikey", keys.key.as_str())];
    for (method, path, base, is_signed, names) in COMPATIBLE {
        let mut accepted = 0;
        for (one, other) in pairs(names.len()) {
            for (first, second) in
                DECIMAL.iter().chain(&WHOLE).flat_map(|first| WHOLE.iter().map(move |second| (first, second)))
            {
                let both = [(names[one], *first), (names[other], *second)];
                let query = compatible_query(base, if one == other { &both[..1] } else { &both[..] });
                let query = if is_signed { keys.sign(&query) } else { query };
                let path = format!("/binance/api/v3/{path}?{query}");
                let answer = http.send(method, &path, None, &proof);
                let what = format!("{method} {path}: {} {}", answer.status, answer.text);
                assert!((200..500).contains(&answer.status), "{what:.500}");
                assert!(answer.status < 400 || answer.body["msg"].is_string(), "{what:.500}");
                // Of a cancel and an order one may be done alone.
                accepted += usize::from(answer.status == 200 || answer.body["code"] == -2021);
            }
        }
        assert!(accepted > 0, "no {method} {path} with {names:?} was accepted, so it was not tried");
    }
    // The time of the signature, and how long it lasts.
    for (time, lasts) in DECIMAL.iter().chain(&WHOLE).flat_map(|time| WHOLE.iter().map(move |lasts| (time, lasts))) {
        let text = format!("recvWindow={lasts}&timestamp={time}");
        let path = format!("/binance/api/v3/account?{text}&signature={}", keys.signature(&text));
        let answer = http.send("GET", &path, None, &proof);
        assert!(answer.status >= 400 && answer.body["msg"].is_string(), "{path}: {}", answer.text);
    }
    goes_on(&server, "the extremes of the compatible interface");
    server.stop();
}

/// The method of the compatible WebSocket API that is such a request of REST.
fn method_of(method: &str, path: &str) -> Option<&'static str> {
    Some(match (method, path) {
        ("GET", "depth") => "depth",
        ("GET", "trades") => "trades.recent",
        ("GET", "historicalTrades") => "trades.historical",
        ("GET", "aggTrades") => "trades.aggregate",
        ("GET", "ticker") => "ticker",
        ("GET", "klines") => "klines",
        ("GET", "account") => "account.status",
        ("GET", "allOrders") => "allOrders",
        ("GET", "myTrades") => "myTrades",
        ("GET", "order") => "order.status",
        ("GET", "allOrderList") => "allOrderLists",
        ("GET", "order/amendments") => "order.amendments",
        ("PUT", "order/amend/keepPriority") => "order.amend.keepPriority",
        ("DELETE", "order") => "order.cancel",
        ("POST", "order") => "order.place",
        ("POST", "order/cancelReplace") => "order.cancelReplace",
        ("POST", "orderList/oco") => "orderList.place.oco",
        ("POST", "orderList/oto") => "orderList.place.oto",
        ("POST", "orderList/otoco") => "orderList.place.otoco",
        _ => return None,
    })
}

/// A value as the number that it is in JSON, where it is one.
fn as_number(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}

#[test]
fn the_compatible_websocket_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-binance-websocket");
    let (server, keys) = with_key(&folder);
    let http = Http::new(server.http);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let text = format!("apiKey={}&timestamp={}", keys.key, now());
    let (time, signature) = (as_number(text.rsplit('=').next().unwrap()), keys.signature(&text));
    let params = json!({"apiKey": keys.key, "timestamp": time, "signature": signature});
    socket.send(&json!({"id": 0, "method": "session.logon", "params": params}));
    assert_eq!(socket.next()["status"], 200);
    for (method, path, base, is_signed, names) in COMPATIBLE {
        let Some(called) = method_of(method, path) else { panic!("{method} {path} has no method") };
        for (one, other) in pairs(names.len()) {
            let both = DECIMAL.iter().chain(&WHOLE).flat_map(|first| WHOLE.iter().map(move |second| (first, second)));
            for (count, (first, second)) in both.enumerate() {
                let both = [(names[one], *first), (names[other], *second)];
                let query = compatible_query(base, if one == other { &both[..1] } else { &both[..] });
                // Numbers come as numbers and as text.
                let value = |text: &str| if count % 2 == 0 { as_number(text) } else { text.into() };
                let given = query.split('&').filter_map(|pair| pair.split_once('='));
                let mut params: Map<String, Value> = given.map(|(name, text)| (name.to_owned(), value(text))).collect();
                if is_signed {
                    params.insert("timestamp".to_owned(), now().into());
                }
                socket.send(&json!({"id": count, "method": called, "params": params}));
                let told = socket.next();
                let status = told["status"].as_u64().unwrap_or_default();
                assert!((200..500).contains(&status) && told["id"] == count, "{called} {params:?}: {told:.300}");
            }
        }
    }
    // Numbers of requests, and names of streams that have some.
    let mut streams = http.listen_at("/binance/ws");
    for (number, other) in WHOLE.iter().flat_map(|number| DECIMAL.iter().map(move |other| (number, other))) {
        let names = [format!("spyusd@depth{number}@{other}ms"), format!("spyusd@kline_{number}m")];
        for (method, params) in [("SUBSCRIBE", json!(names)), ("UNSUBSCRIBE", json!([number])), ("LIST", json!(other))]
        {
            streams.send(&json!({"id": as_number(number), "method": method, "params": params}));
        }
    }
    streams.send(&json!({"id": "last", "method": "LIST_SUBSCRIPTIONS"}));
    while streams.next()["id"] != "last" {}
    goes_on(&server, "the extremes of the compatible WebSocket");
    server.stop();
}
