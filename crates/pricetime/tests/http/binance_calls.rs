//! The WebSocket API over the real wire: each method gets the same answer as REST gives, and a connection that has
//! logged on need not sign any more.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::{KeyFile, now};
use crate::common::server::Server;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">10000</account></symbol>
    <symbol sym="QQQ"><account id="2">10000</account></symbol></create>"#;
const PATH: &str = "/binance/ws-api/v3";

fn start(folder: &Folder) -> (Server, Http, KeyFile) {
    KeyFile::serve(folder, MARKET)
}

fn order() -> Value {
    json!({"symbol": "SPYUSD", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": 1, "price": 10})
}

/// The parameters, with further ones added.
fn with(parameters: &Value, more: Value) -> Value {
    let mut all = parameters.as_object().unwrap().clone();
    all.extend(more.as_object().unwrap().clone());
    Value::Object(all)
}

/// The parameters with a key, the time and the signature, as the documentation describes.
fn signed(keys: &KeyFile, parameters: &Value) -> Value {
    let all = with(parameters, json!({"apiKey": keys.key, "timestamp": now()}));
    let sorted: BTreeMap<&String, &Value> = all.as_object().unwrap().iter().collect();
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text: Vec<String> = sorted.into_iter().map(|(name, value)| format!("{name}={}", written(value))).collect();
    with(&all, json!({"signature": keys.signature(&text.join("&"))}))
}

fn call(socket: &mut Socket, method: &str, parameters: Value) -> Value {
    socket.send(&json!({"id": method, "method": method, "params": parameters}));
    loop {
        let answer = socket.next();
        if answer["id"] == method {
            return answer;
        }
    }
}

fn result(answer: &Value) -> &Value {
    assert_eq!(answer["status"], 200, "{answer}");
    &answer["result"]
}

/// The status and the code of a refusal. Panics unless the answer is one.
fn code(answer: &Value) -> (u64, i64) {
    assert!(answer["error"]["msg"].is_string() && answer.get("result").is_none(), "{answer}");
    (answer["status"].as_u64().unwrap(), answer["error"]["code"].as_i64().unwrap())
}

/// Removes what depends on the clock alone.
fn timeless(mut shown: Value) -> Value {
    for name in ["serverTime", "openTime", "closeTime"] {
        match &mut shown {
            Value::Array(all) => all.iter_mut().for_each(|one| *one = timeless(one.take())),
            Value::Object(fields) => drop(fields.remove(name)),
            _ => {}
        }
    }
    shown
}

#[test]
fn each_method_answers_what_rest_answers() {
    let folder = Folder::new("binance-calls");
    let (server, http, keys) = start(&folder);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-3" limit="10.5"/><order sym="SPY" amount="2" limit="9"/><order sym="QQQ" amount="-1" limit="7"/></transactions>"#);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1.25" limit="11"/><order sym="SPY" amount="1" limit="8"/><order sym="QQQ" amount="1" limit="7"/></transactions>"#);
    let mut socket = http.listen_at(PATH);
    let spy = json!({"symbol": "SPYUSD"});
    let both = json!({"symbols": ["SPYUSD", "QQQUSD"]});
    let listed = "symbols=%5B%22SPYUSD%22,%22QQQUSD%22%5D";
    let public = [
        ("ping", json!({}), "ping".to_owned()),
        ("time", json!({}), "time".to_owned()),
        (
            "exchangeInfo",
            json!({"permissions": ["SPOT"], "showPermissionSets": false}),
            "exchangeInfo?permissions=SPOT&showPermissionSets=false".to_owned(),
        ),
        ("exchangeInfo", both.clone(), format!("exchangeInfo?{listed}")),
        ("depth", with(&spy, json!({"limit": 1})), "depth?symbol=SPYUSD&limit=1".to_owned()),
        ("trades.recent", with(&spy, json!({"limit": "2"})), "trades?symbol=SPYUSD&limit=2".to_owned()),
        ("trades.historical", with(&spy, json!({"fromId": 1})), "historicalTrades?symbol=SPYUSD&fromId=1".to_owned()),
        ("trades.aggregate", spy.clone(), "aggTrades?symbol=SPYUSD".to_owned()),
        (
            "klines",
            with(&spy, json!({"interval": "1h", "limit": 5})),
            "klines?symbol=SPYUSD&interval=1h&limit=5".to_owned(),
        ),
        ("uiKlines", with(&spy, json!({"interval": "1M"})), "uiKlines?symbol=SPYUSD&interval=1M".to_owned()),
        ("avgPrice", spy.clone(), "avgPrice?symbol=SPYUSD".to_owned()),
        (
            "ticker",
            with(&both, json!({"windowSize": "1h", "type": "MINI"})),
            format!("ticker?{listed}&windowSize=1h&type=MINI"),
        ),
        ("ticker.24hr", both.clone(), format!("ticker/24hr?{listed}")),
        (
            "ticker.tradingDay",
            with(&spy, json!({"timeZone": "0"})),
            "ticker/tradingDay?symbol=SPYUSD&timeZone=0".to_owned(),
        ),
        ("ticker.price", json!({}), "ticker/price".to_owned()),
        ("ticker.book", both, format!("ticker/bookTicker?{listed}")),
    ];
    for (method, parameters, path) in public {
        let answer = call(&mut socket, method, parameters);
        let rest = http.read(&format!("/binance/api/v3/{path}"));
        assert_eq!(timeless(result(&answer).clone()), timeless(rest), "{method}");
    }
    let known = json!({"symbol": "SPYUSD", "orderId": 5});
    for (method, parameters, path, query) in [
        ("order.status", known, "order", "symbol=SPYUSD&orderId=5"),
        ("openOrders.status", json!({}), "openOrders", ""),
        ("openOrders.status", spy.clone(), "openOrders", "symbol=SPYUSD"),
        ("allOrders", with(&spy, json!({"limit": 1})), "allOrders", "symbol=SPYUSD&limit=1"),
        ("myTrades", with(&spy, json!({"orderId": "4", "recvWindow": 5000.5})), "myTrades", "symbol=SPYUSD&orderId=4"),
        ("account.status", json!({"omitZeroBalances": true}), "account", "omitZeroBalances=true"),
        ("account.commission", spy.clone(), "account/commission", "symbol=SPYUSD"),
    ] {
        let answer = call(&mut socket, method, signed(&keys, &parameters));
        let rest = keys.send(&http, "GET", path, query);
        assert_eq!((rest.status, result(&answer)), (200, &rest.body), "{method}");
        assert!(!rest.body.to_string().is_empty() && rest.body != json!([]), "{method} shows something");
    }
    // The same for refusals.
    for (method, parameters, path) in [
        ("depth", json!({}), "depth"),
        ("depth", json!({"symbol": "NONEUSD"}), "depth?symbol=NONEUSD"),
        ("depth", with(&spy, json!({"limit": 0})), "depth?symbol=SPYUSD&limit=0"),
        ("depth", with(&spy, json!({"limit": 1.5})), "depth?symbol=SPYUSD&limit=1.5"),
        ("depth", with(&spy, json!({"depth": 5})), "depth?symbol=SPYUSD&depth=5"),
        ("klines", with(&spy, json!({"interval": "7m"})), "klines?symbol=SPYUSD&interval=7m"),
        ("ticker.price", json!({"symbols": "SPYUSD"}), "ticker/price?symbols=SPYUSD"),
        ("account.status", json!({}), "account"),
    ] {
        let answer = call(&mut socket, method, parameters);
        let rest = http.get(&format!("/binance/api/v3/{path}"));
        code(&answer);
        assert_eq!((&answer["status"], &answer["error"]), (&json!(rest.status), &rest.body), "{method} {path}");
    }
    for (message, status, code_of) in [
        (json!({"id": 1, "method": "sor.order.place"}), 400, -1020),
        (json!({"id": 1, "method": "order.amend.keepPriority"}), 401, -2014),
        (json!({"id": 1}), 400, -1102),
        (json!({"id": 1, "method": "ping", "params": ["symbol"]}), 400, -1135),
        (json!({"id": 1, "method": "depth", "params": {"symbol": null}}), 400, -1130),
    ] {
        socket.send(&message);
        let answer = socket.next();
        assert_eq!((&answer["id"], code(&answer)), (&json!(1), (status, code_of)), "{message}");
    }
    socket.send_text(r#"{"id":1,"method":"ping""#);
    let answer = socket.next();
    assert_eq!((&answer["id"], code(&answer)), (&Value::Null, (400, -1135)));
    server.stop();
}

#[test]
fn orders_are_placed_looked_up_and_canceled_over_a_connection() {
    let folder = Folder::new("binance-calls-orders");
    let (server, http, keys) = start(&folder);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="9"/></transactions>"#);
    let mut socket = http.listen_at(PATH);
    assert_eq!(result(&call(&mut socket, "order.test", signed(&keys, &order()))), &json!({}));
    let bought = call(&mut socket, "order.place", signed(&keys, &order()));
    assert_eq!(
        (&bought["result"]["status"], &bought["result"]["fills"][0]["price"]),
        (&json!("FILLED"), &json!("9.00000000")),
        "{bought}"
    );
    let resting = call(&mut socket, "order.place", signed(&keys, &with(&order(), json!({"newClientOrderId": "mine"}))));
    let id = result(&resting)["orderId"].clone();
    for name in [json!({"orderId": id}), json!({"orderId": id.to_string()}), json!({"origClientOrderId": "mine"})] {
        let shown = call(&mut socket, "order.status", signed(&keys, &with(&name, json!({"symbol": "SPYUSD"}))));
        assert_eq!((&result(&shown)["orderId"], &shown["result"]["status"]), (&id, &json!("NEW")), "{name}");
    }
    let again = call(&mut socket, "order.place", signed(&keys, &with(&order(), json!({"newClientOrderId": "mine"}))));
    assert_eq!(again["error"], json!({"code": -2010, "msg": "Duplicate order sent."}));
    let poor = call(&mut socket, "order.place", signed(&keys, &with(&order(), json!({"quantity": 10_000}))));
    assert_eq!(code(&poor), (400, -2010));
    let by_name = json!({"symbol": "SPYUSD", "origClientOrderId": "mine"});
    let canceled = call(&mut socket, "order.cancel", signed(&keys, &by_name));
    assert_eq!((&result(&canceled)["orderId"], &canceled["result"]["status"]), (&id, &json!("CANCELED")));
    assert_eq!(code(&call(&mut socket, "order.cancel", signed(&keys, &by_name))), (400, -2011));
    let old = call(&mut socket, "order.place", signed(&keys, &order()))["result"]["orderId"].clone();
    let instead = with(&order(), json!({"cancelReplaceMode": "STOP_ON_FAILURE", "cancelOrderId": old}));
    let both = call(&mut socket, "order.cancelReplace", signed(&keys, &instead));
    assert_eq!(
        (&result(&both)["cancelResult"], &both["result"]["newOrderResult"]),
        (&json!("SUCCESS"), &json!("SUCCESS"))
    );
    let again = call(&mut socket, "order.cancelReplace", signed(&keys, &instead));
    let error = &again["error"];
    assert_eq!(
        (&again["status"], &error["code"], &error["data"]["newOrderResult"]),
        (&json!(400), &json!(-2022), &json!("NOT_ATTEMPTED"))
    );
    let new = json!({"symbol": "SPYUSD", "orderId": both["result"]["newOrderResponse"]["orderId"]});
    assert_eq!(result(&call(&mut socket, "order.cancel", signed(&keys, &new)))["status"], "CANCELED");
    // A number is read exactly as it is written, to its last digit.
    let exact = r#""symbol":"SPYUSD","side":"SELL","type":"LIMIT","timeInForce":"GTC","quantity":0.00000001,"price":12345678901.12345678"#;
    let text = format!(
        "apiKey={}&price=12345678901.12345678&quantity=0.00000001&side=SELL&symbol=SPYUSD&timeInForce=GTC&timestamp={}&type=LIMIT",
        keys.key,
        now()
    );
    let (at, signature) = (text.rsplit("timestamp=").next().unwrap().split('&').next().unwrap(), keys.signature(&text));
    socket.send_text(&format!(
        r#"{{"id":1,"method":"order.place","params":{{{exact},"timestamp":{at},"apiKey":"{}","signature":"{signature}"}}}}"#,
        keys.key
    ));
    let placed = socket.next();
    assert_eq!(
        (&result(&placed)["price"], &placed["result"]["origQty"]),
        (&json!("12345678901.12345678"), &json!("0.00000001"))
    );
    call(&mut socket, "order.place", signed(&keys, &order()));
    let all = call(&mut socket, "openOrders.cancelAll", signed(&keys, &json!({"symbol": "SPYUSD"})));
    assert_eq!(result(&all).as_array().unwrap().len(), 2);
    assert_eq!(
        code(&call(&mut socket, "openOrders.cancelAll", signed(&keys, &json!({"symbol": "SPYUSD"})))),
        (400, -2011)
    );
    // Some clients sign the text that they would send after a `?`.
    let text = format!("apiKey={}&origClientOrderId=a%2Fb%3Ac&symbol=SPYUSD&timestamp={}", keys.key, now());
    let at = text.rsplit('=').next().unwrap().parse::<u64>().unwrap();
    let own = json!({"apiKey": keys.key, "origClientOrderId": "a/b:c", "symbol": "SPYUSD", "timestamp": at});
    let own = with(&own, json!({"signature": keys.signature(&text)}));
    assert_eq!(code(&call(&mut socket, "order.status", own)), (400, -2013));
    // The signature covers all parameters.
    let moved = with(&signed(&keys, &order()), json!({"price": 11}));
    assert_eq!(code(&call(&mut socket, "order.place", moved)), (400, -1022));
    assert_eq!(http.read("/api/v1/status")["open_orders"], 0);
    server.stop();
}

#[test]
fn a_connection_that_has_logged_on_signs_no_more() {
    let folder = Folder::new("binance-calls-session");
    let (server, http, keys) = start(&folder);
    let mut socket = http.listen_at(PATH);
    let unsigned = || with(&order(), json!({"timestamp": now()}));
    assert_eq!(code(&call(&mut socket, "order.place", unsigned())), (401, -2014));
    assert_eq!(code(&call(&mut socket, "userDataStream.subscribe", json!({}))), (401, -2014));
    let nobody = call(&mut socket, "session.status", json!({}));
    assert_eq!((&result(&nobody)["apiKey"], &nobody["result"]["authorizedSince"]), (&Value::Null, &Value::Null));
    // A logon must be signed; one with another kind of key is refused, too.
    let good = signed(&keys, &json!({}));
    let base64 = format!("{}==", "A".repeat(86));
    for (wrong, refused) in [
        (json!({"apiKey": keys.key, "timestamp": now()}), (400, -1102)),
        (json!({"apiKey": keys.key, "signature": good["signature"]}), (400, -1102)),
        (with(&good, json!({"signature": base64})), (400, -1022)),
        (with(&good, json!({"timestamp": now() + 1})), (400, -1022)),
        (with(&good, json!({"apiKey": "nobody's"})), (401, -2015)),
        (with(&good, json!({"symbol": "SPYUSD"})), (400, -1022)),
        (signed(&keys, &json!({"symbol": "SPYUSD"})), (400, -1104)),
    ] {
        assert_eq!(code(&call(&mut socket, "session.logon", wrong.clone())), refused, "{wrong}");
        assert_eq!(code(&call(&mut socket, "order.place", unsigned())), (401, -2014), "{wrong}");
    }
    let began = now();
    let session = call(&mut socket, "session.logon", signed(&keys, &json!({})));
    let session = result(&session);
    assert_eq!((&session["apiKey"], &session["userDataStream"]), (&json!(keys.key), &json!(false)));
    assert!(
        session["authorizedSince"].as_u64().unwrap() >= began && session["connectedSince"].as_u64().unwrap() <= began
    );
    let names: Vec<&String> = session.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["apiKey", "authorizedSince", "connectedSince", "returnRateLimits", "serverTime", "userDataStream"]
    );
    let subscribed = call(&mut socket, "userDataStream.subscribe", json!({}));
    let number = result(&subscribed)["subscriptionId"].clone();
    socket.send(&json!({"id": 1, "method": "order.place", "params": unsigned()}));
    let told: Vec<Value> = (0..3).map(|_| socket.next()).collect();
    assert!(told.iter().any(|message| message["id"] == 1 && message["result"]["status"] == "NEW"), "{told:?}");
    let events: Vec<&Value> = told.iter().filter(|message| message["subscriptionId"] == number).collect();
    assert_eq!(
        events.iter().map(|told| told["event"]["e"].as_str().unwrap()).collect::<Vec<_>>(),
        ["executionReport", "outboundAccountPosition"]
    );
    assert_eq!(result(&call(&mut socket, "session.subscriptions", json!({}))), &json!([{"subscriptionId": number}]));
    // On a connection that has logged on, a request still says its time, and may still be signed by itself.
    assert_eq!(code(&call(&mut socket, "order.place", order())), (400, -1102));
    assert_eq!(
        code(&call(&mut socket, "order.place", with(&order(), json!({"timestamp": now() - 6_000})))),
        (400, -1021)
    );
    for own in [json!({"apiKey": "nobody's"}), json!({"apiKey": keys.key}), json!({"signature": "00"})] {
        code(&call(&mut socket, "account.status", with(&own, json!({"timestamp": now()}))));
    }
    result(&call(&mut socket, "account.status", signed(&keys, &json!({}))));
    result(&call(&mut socket, "account.status", json!({"timestamp": now(), "recvWindow": 6_000})));
    // This logs on no other connection.
    assert_eq!(code(&call(&mut http.listen_at(PATH), "account.status", json!({"timestamp": now()}))), (401, -2014));
    socket.send(&json!({"id": 2, "method": "session.logout"}));
    let ended = socket.next();
    assert_eq!((&ended["subscriptionId"], &ended["event"]["e"]), (&number, &json!("eventStreamTerminated")), "{ended}");
    let out = socket.next();
    assert_eq!(
        (&out["id"], &result(&out)["apiKey"], &out["result"]["userDataStream"]),
        (&json!(2), &Value::Null, &json!(false))
    );
    assert_eq!(code(&call(&mut socket, "order.place", unsigned())), (401, -2014));
    assert_eq!(keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").status, 200);
    socket.send(&json!({"id": 3, "method": "ping"}));
    assert_eq!(socket.next()["id"], 3, "nothing is told of the account any more");
    server.stop();
}

#[test]
fn a_stream_that_was_signed_for_outlives_the_session() {
    let folder = Folder::new("binance-calls-streams");
    let (server, http, keys) = start(&folder);
    let mut socket = http.listen_at(PATH);
    let first = call(&mut socket, "userDataStream.subscribe.signature", signed(&keys, &json!({})));
    result(&call(&mut socket, "session.logon", signed(&keys, &json!({}))));
    let second = call(&mut socket, "userDataStream.subscribe", json!({}));
    assert_eq!(result(&first), result(&second), "one account has one stream");
    assert_eq!(result(&call(&mut socket, "session.logout", json!({})))["userDataStream"], true);
    assert_eq!(
        keys.send(&http, "POST", "order", "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1")
            .status,
        200
    );
    assert_eq!(socket.next()["event"]["e"], "executionReport");
    assert_eq!(socket.next()["event"]["e"], "outboundAccountPosition");
    socket.send(&json!({"id": 1, "method": "userDataStream.unsubscribe", "params": {"subscriptionId": 99}}));
    assert_eq!(socket.next()["id"], 1, "there is none of this number");
    socket.send(&json!({"id": 2, "method": "userDataStream.unsubscribe"}));
    assert_eq!(socket.next()["event"]["e"], "eventStreamTerminated");
    assert_eq!(result(&socket.next()), &json!({}));
    assert_eq!(result(&call(&mut socket, "session.subscriptions", json!({}))), &json!([]));
    server.stop();
}

/// The account can pay for one of its orders at a time, so each is placed only if the one before it has been canceled.
#[test]
fn orders_and_cancels_of_a_connection_are_done_as_they_come() {
    let folder = Folder::new("binance-calls-turns");
    let (server, http, keys) = start(&folder);
    let mut socket = http.listen_at(PATH);
    result(&call(&mut socket, "session.logon", signed(&keys, &json!({}))));
    let all = with(&order(), json!({"quantity": 100, "timestamp": now()}));
    for round in 0..100 {
        socket.send(&json!({"id": 2 * round, "method": "order.place", "params": all}));
        let params = json!({"symbol": "SPYUSD", "timestamp": now()});
        socket.send(&json!({"id": 2 * round + 1, "method": "openOrders.cancelAll", "params": params}));
    }
    (0..200).for_each(|_| drop(result(&socket.next()).clone()));
    // Orders that are sent together get their numbers in the order in which they came.
    for id in 0..90 {
        let params = with(&order(), json!({"timestamp": now()}));
        socket.send(&json!({"id": id, "method": "order.place", "params": params}));
    }
    let mut placed: Vec<(u64, u64)> = (0..90)
        .map(|_| socket.next())
        .map(|answer| (answer["id"].as_u64().unwrap(), result(&answer)["orderId"].as_u64().unwrap()))
        .collect();
    placed.sort_unstable();
    assert!(placed.is_sorted_by_key(|(_, order)| *order), "{placed:?}");
    server.stop();
}

#[test]
fn an_answer_tells_what_its_address_used_unless_nobody_wants_to_know() {
    let folder = Folder::new("binance-calls-limits");
    let (server, http, _) = start(&folder);
    let mut socket = http.listen_at(PATH);
    let count = |answer: &Value| answer["rateLimits"][0]["count"].as_u64().unwrap();
    let first = call(&mut socket, "ping", json!({}));
    let expected = json!([{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 1_000_000_000, "count": count(&first)}]);
    assert_eq!(first["rateLimits"], expected);
    let second = call(&mut socket, "nonsense", json!({}));
    // A new minute may have begun in between.
    assert!([count(&first) + 1, 1].contains(&count(&second)), "{first} {second}");
    let hidden = call(&mut socket, "ping", json!({"returnRateLimits": false}));
    assert_eq!(hidden, json!({"id": "ping", "status": 200, "result": {}}));
    let mut silent = http.listen_at(&format!("{PATH}?returnRateLimits=false"));
    assert!(call(&mut silent, "nonsense", json!({})).get("rateLimits").is_none());
    assert!(count(&call(&mut silent, "ping", json!({"returnRateLimits": true}))) > 0);
    assert_eq!(result(&call(&mut silent, "session.status", json!({})))["returnRateLimits"], false);
    let refused = tungstenite::connect(format!("ws://{}{PATH}?returnRateLimits=2", server.http)).err().unwrap();
    assert!(refused.to_string().contains("400"), "{refused}");
    server.stop();
}

#[test]
fn a_long_answer_is_one_message_and_none_is_too_long() {
    let folder = Folder::new("binance-calls-long");
    let (server, http, _) = start(&folder);
    for thousand in 0..9 {
        let symbol = |n| format!("<symbol sym=\"S{n}\"><account id=\"2\">1</account></symbol>");
        let some: String = (0..1_000).map(|n| symbol(1_000 * thousand + n)).collect();
        assert!(!server.ask(&format!("<create>{some}</create>")).contains("<error"));
    }
    let mut socket = http.listen_at(PATH);
    let prices = call(&mut socket, "ticker.price", json!({}));
    assert_eq!(result(&prices).as_array().unwrap().len(), 9_002);
    assert_eq!(result(&prices), &http.read("/binance/api/v3/ticker/price"));
    let all = call(&mut socket, "exchangeInfo", json!({}));
    assert_eq!(code(&all), (400, -1130));
    assert!(all["error"]["msg"].as_str().unwrap().contains("8388608 bytes"), "{all}");
    result(&call(&mut socket, "ping", json!({})));
    server.stop();
}
