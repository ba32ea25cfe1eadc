//! Requests that clients make of the compatible interface before and beside trading, over the real wire.

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::{KeyFile, now};
use crate::common::server::{Launch, Server};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol>
    <symbol sym="QQQ"><account id="2">100</account></symbol></create>"#;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";

fn start(folder: &Folder) -> (Server, Http, KeyFile) {
    KeyFile::serve(folder, MARKET)
}

fn code(answer: &Answer) -> (u16, i64) {
    assert!(answer.status >= 400 && answer.body["msg"].is_string(), "{answer:?}");
    (answer.status, answer.body["code"].as_i64().unwrap())
}

/// Sends signed parameters to a path.
fn signed(http: &Http, keys: &KeyFile, path: &str, parameters: &str) -> Answer {
    let path = format!("{path}?{}", keys.sign(parameters));
    http.send("GET", &path, None, &[("x-mbx-apikey", &keys.key)])
}

#[test]
fn every_answer_says_how_much_was_asked_for_in_this_minute() {
    let folder = Folder::new("binance-weights");
    let (server, http, _) = start(&folder);
    let used = |path: &str, headers: &[(&str, &str)], expected: u16| {
        let (status, headers) = http.head(path, headers);
        assert_eq!(status, expected, "{path}");
        let [used, of_a_minute] =
            ["x-mbx-used-weight", "x-mbx-used-weight-1m"].map(|name| headers[name].to_str().unwrap().to_owned());
        assert_eq!(used, of_a_minute, "{path}");
        used.parse::<u64>().unwrap()
    };
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(used("/binance/api/v3/ping", &[], 200));
        told.push(used("/binance/api/v1/depth?symbol=SPYUSD", &[], 200));
        told.push(used("/binance/api/v3/depth", &[], 400));
        told.push(used("/binance/sapi/v1/nothing", &[], 404));
        told.push(used("/binance/api/v3/account", &[], 401));
        told.push(used("/binance/api/v3/ping", &[("host", "evil.example")], 403));
        let (_, opened) = tungstenite::connect(format!("ws://{}/binance/ws", server.http)).unwrap();
        told.push(opened.headers()["x-mbx-used-weight-1m"].to_str().unwrap().parse().unwrap());
        // Requests to other interfaces do not count.
        let (_, native) = http.head("/api/v1/symbols", &[]);
        assert!(!native.contains_key("x-mbx-used-weight"));
    }
    // At most one minute ends meanwhile, and then the count begins anew.
    let anew = told.iter().rposition(|used| *used == 1).unwrap();
    let expected: Vec<u64> = (1..=anew as u64).chain(1..=(told.len() - anew) as u64).collect();
    assert_eq!(told, expected);
    let limits = http.read("/binance/api/v3/exchangeInfo")["rateLimits"].clone();
    let kinds: Vec<&str> =
        limits.as_array().unwrap().iter().map(|limit| limit["rateLimitType"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["REQUEST_WEIGHT", "ORDERS", "ORDERS", "RAW_REQUESTS"]);
    assert!(limits.as_array().unwrap().iter().all(|limit| limit["limit"] == 1_000_000_000), "{limits}");
    server.stop();
}

#[test]
fn times_come_in_the_unit_that_is_asked_for() {
    let folder = Folder::new("binance-units");
    let (server, http, keys) = start(&folder);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    let micros = |unit: &str, parameters: &str, method: &str, path: &str| {
        let path = match parameters {
            "" => format!("/binance/api/v3/{path}"),
            parameters => format!("/binance/api/v3/{path}?{}", keys.sign(parameters)),
        };
        http.send(method, &path, None, &[("x-mbx-apikey", &keys.key), ("x-mbx-time-unit", unit)])
    };
    assert_eq!(code(&micros("SECOND", "", "GET", "time")), (400, -1100));
    let is_micros = |time: &Value| {
        let time = time.as_u64().unwrap();
        (now() - 60_000) * 1000 < time && time < (now() + 60_000) * 1000
    };
    let placed = micros("MICROSECOND", ORDER, "POST", "order").body;
    assert!(is_micros(&placed["transactTime"]) && is_micros(&placed["workingTime"]), "{placed}");
    let resting = micros("microsecond", &ORDER.replace("=10", "=9"), "POST", "order").body;
    let shown = micros("MICROSECOND", &format!("symbol=SPYUSD&orderId={}", resting["orderId"]), "GET", "order").body;
    assert!(["time", "updateTime", "workingTime"].iter().all(|name| is_micros(&shown[name])), "{shown}");
    let get = |path: &str| micros("MICROSECOND", "", "GET", path).body;
    assert!(is_micros(&get("time")["serverTime"]) && is_micros(&get("exchangeInfo")["serverTime"]));
    let trade = get("trades?symbol=SPYUSD")[0].clone();
    assert!(is_micros(&trade["time"]), "{trade}");
    assert_eq!(get("aggTrades?symbol=SPYUSD")[0]["T"], trade["time"]);
    let kline = get("klines?symbol=SPYUSD&interval=1m")[0].clone();
    assert_eq!(kline[6].as_u64().unwrap() - kline[0].as_u64().unwrap(), 59_999_999);
    for ticker in ["ticker", "ticker/24hr"] {
        let ticker = get(&format!("{ticker}?symbol=SPYUSD"));
        assert!(is_micros(&ticker["closeTime"]), "{ticker}");
    }
    assert_eq!(get("avgPrice?symbol=SPYUSD")["closeTime"], trade["time"]);
    let mine = micros("MICROSECOND", "symbol=SPYUSD", "GET", "myTrades").body;
    assert_eq!(mine[0]["time"], trade["time"]);
    let canceled = micros("MICROSECOND", "symbol=SPYUSD", "DELETE", "openOrders").body;
    assert!(is_micros(&canceled[0]["transactTime"]), "{canceled}");
    let usual = micros("MILLISECOND", "", "GET", "trades?symbol=SPYUSD").body;
    assert_eq!(usual, http.read("/binance/api/v3/trades?symbol=SPYUSD"));
    let time = trade["time"].as_u64().unwrap();
    assert_eq!(usual[0]["time"], time / 1000);
    // Times are understood in either unit.
    let count = |from: u64, to: u64| {
        let path = format!("/binance/api/v3/aggTrades?symbol=SPYUSD&startTime={from}&endTime={to}");
        http.read(&path).as_array().unwrap().len()
    };
    assert_eq!([count(time, time), count(time + 1, time + 1), count(time - 1, time - 1)], [1, 0, 0]);
    assert_eq!([count(time / 1000, time / 1000), count(time / 1000 + 1, time / 1000 + 1)], [1, 0]);
    // So is the time of a signed request, and its window may have decimals.
    let account = |parameters: String| http.send("GET", &parameters, None, &[("x-mbx-apikey", &keys.key)]);
    let at = |window: &str, time: u64| account(format!("/binance/api/v3/account?{}", keys.sign_at(window, time)));
    assert_eq!(at("", now() * 1000).status, 200);
    assert_eq!(at("recvWindow=30000.125", (now() - 20_000) * 1000).status, 200);
    assert_eq!(code(&at("recvWindow=9999.999", (now() - 20_000) * 1000)), (400, -1021));
    assert_eq!(code(&at("recvWindow=60000.001", now())), (400, -1131));
    assert_eq!(code(&at("recvWindow=5.0001", now())), (400, -1100));
    server.stop();
}

#[test]
fn no_parameter_is_passed_over_in_silence() {
    let folder = Folder::new("binance-parameters");
    let (server, http, keys) = start(&folder);
    for path in [
        "ping",
        "time",
        "exchangeInfo",
        "depth",
        "trades",
        "historicalTrades",
        "aggTrades",
        "klines",
        "uiKlines",
        "avgPrice",
        "ticker",
        "ticker/tradingDay",
        "ticker/24hr",
        "ticker/price",
        "ticker/bookTicker",
    ] {
        let answer = http.get(&format!("/binance/api/v3/{path}?symbol=SPYUSD&interval=1m&nonsense=1"));
        assert_eq!(code(&answer), (400, -1104), "{path}");
    }
    for (method, path) in [
        ("GET", "account"),
        ("GET", "account/commission"),
        ("GET", "myTrades"),
        ("GET", "order"),
        ("DELETE", "order"),
        ("GET", "openOrders"),
        ("DELETE", "openOrders"),
        ("GET", "allOrders"),
    ] {
        let answer = keys.send(&http, method, path, "symbol=SPYUSD&nonsense=1");
        assert_eq!(code(&answer), (400, -1104), "{method} {path}");
    }
    for path in
        ["asset/tradeFee", "asset/assetDetail", "capital/config/getall", "margin/allPairs", "spot/delist-schedule"]
    {
        let answer = signed(&http, &keys, &format!("/binance/sapi/v1/{path}"), "nonsense=1");
        assert_eq!(code(&answer), (400, -1104), "{path}");
    }
    let refused = http.get("/binance/api/v3/depth?symbol=SPYUSD&limt=5");
    assert_eq!(
        refused.body["msg"],
        "Not all sent parameters were read; read '1' parameter(s) but was sent '2': there is no 'limt' here."
    );
    let listen = |method: &str, query: &str| {
        let path = format!("/binance/api/v3/userDataStream{query}");
        http.send(method, &path, None, &[("x-mbx-apikey", &keys.key)])
    };
    assert_eq!(code(&listen("POST", "?symbol=SPYUSD")), (400, -1104));
    assert_eq!(code(&listen("PUT", "?listenKey=x&symbol=SPYUSD")), (400, -1104));
    // These parameters are known, and ask for something that this server does not do.
    let get = |path: &str| code(&http.get(&format!("/binance/api/v3/{path}")));
    assert_eq!(get("klines?symbol=SPYUSD&interval=1m&timeZone=15"), (400, -1130));
    assert_eq!(get("klines?symbol=SPYUSD&interval=1m&timeZone=5:40"), (400, -1130));
    assert_eq!(get("ticker/24hr?symbol=SPYUSD&type=LARGE"), (400, -1130));
    assert_eq!(get("ticker?symbol=SPYUSD&windowSize=8d"), (400, -1130));
    assert_eq!(get("ticker?windowSize=1d"), (400, -1102));
    assert_eq!(get("ticker/tradingDay?symbol=SPYUSD&timeZone=15"), (400, -1130));
    assert_eq!(get("exchangeInfo?symbolStatus=OPEN"), (400, -1130));
    let many = vec![r#""SPYUSD""#; 101].join(",");
    assert_eq!(get(&format!("ticker?symbols=[{many}]").replace('"', "%22")), (400, -1130));
    let mut calls = http.listen_at("/binance/ws-api/v3?returnRateLimits=false");
    calls.send(&json!({"id": 1, "method": "time", "params": {"zone": "UTC"}}));
    assert_eq!(calls.next()["error"]["code"], -1104);
    for path in ["/binance/ws?streams=a", "/binance/ws/spyusd@trade?x=1", "/binance/stream?timeUnit=NANOSECOND"] {
        let refused = tungstenite::connect(format!("ws://{}{path}", server.http)).err().unwrap().to_string();
        assert!(refused.contains("400"), "{path}: {refused}");
    }
    let pairs = |query: &str| http.read(&format!("/binance/api/v3/exchangeInfo{query}"))["symbols"].clone();
    assert_eq!(pairs("").as_array().unwrap().len(), 2);
    assert_eq!(pairs("?permissions=SPOT&symbolStatus=TRADING").as_array().unwrap().len(), 2);
    assert_eq!(pairs("?permissions=%5B%22MARGIN%22%5D"), json!([]));
    assert_eq!(pairs("?symbolStatus=HALT"), json!([]));
    assert_eq!(pairs("?showPermissionSets=false")[0]["permissionSets"], json!([]));
    server.stop();
}

#[test]
fn an_order_is_canceled_only_as_it_may_be() {
    let folder = Folder::new("binance-restrictions");
    let (server, http, keys) = start(&folder);
    let place = || keys.send(&http, "POST", "order", ORDER).body["orderId"].clone();
    let (fresh, partly) = (place(), place());
    let cancel = |order: &Value, restriction: &str| {
        keys.send(&http, "DELETE", "order", &format!("symbol=SPYUSD&orderId={order}&cancelRestrictions={restriction}"))
    };
    // Of the two orders, the first one is in front.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1.5" limit="10"/></transactions>"#);
    let (fresh, gone) = (place(), fresh);
    assert_eq!(code(&cancel(&fresh, "ALWAYS")), (400, -1145));
    let restricted = json!({"code": -2011, "msg": "Order was not canceled due to cancel restrictions."});
    assert_eq!(cancel(&partly, "ONLY_NEW").body, restricted);
    assert_eq!(cancel(&fresh, "ONLY_PARTIALLY_FILLED").body, restricted);
    let status = |order: &Value| {
        let shown = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={order}")).body;
        shown["status"].as_str().unwrap().to_owned()
    };
    assert_eq!([&fresh, &partly, &gone].map(status), ["NEW", "PARTIALLY_FILLED", "FILLED"]);
    assert_eq!(cancel(&gone, "ONLY_NEW").body["msg"], "Unknown order sent.");
    let canceled = [cancel(&partly, "ONLY_PARTIALLY_FILLED"), cancel(&fresh, "ONLY_NEW")];
    assert_eq!(canceled.map(|answer| answer.body["executedQty"].clone()), ["0.50000000", "0.00000000"]);
    assert_eq!([&fresh, &partly].map(status), ["CANCELED"; 2]);
    server.stop();
}

#[test]
fn wallets_fees_and_the_system_are_shown_as_they_are() {
    let folder = Folder::new("binance-wallet");
    let (server, http, keys) = start(&folder);
    server.ask(r#"<create><symbol sym="USD"><account id="1">5</account></symbol></create>"#);
    assert_eq!(keys.send(&http, "POST", "order", ORDER).status, 200);
    let sapi = |path: &str, parameters: &str| signed(&http, &keys, &format!("/binance/sapi/v1/{path}"), parameters);
    assert_eq!(http.read("/binance/sapi/v1/system/status"), json!({"status": 0, "msg": "normal"}));
    let fee = |pair: &str| json!({"symbol": pair, "makerCommission": "0", "takerCommission": "0"});
    assert_eq!(sapi("asset/tradeFee", "").body, json!([fee("SPYUSD"), fee("QQQUSD")]));
    assert_eq!(sapi("asset/tradeFee", "symbol=QQQUSD").body, json!([fee("QQQUSD")]));
    assert_eq!(code(&sapi("asset/tradeFee", "symbol=USDUSD")), (400, -1121));
    let details = sapi("asset/assetDetail", "").body;
    let names: Vec<&String> = details.as_object().unwrap().keys().collect();
    assert_eq!(names, ["QQQ", "SPY", "USD"]);
    assert!(details.as_object().unwrap().values().all(|detail| detail["withdrawStatus"] == false), "{details}");
    assert_eq!(sapi("asset/assetDetail", "asset=SPY").body, json!({"SPY": details["SPY"]}));
    assert_eq!(code(&sapi("asset/assetDetail", "asset=NONE")), (400, -1130));
    let coins = sapi("capital/config/getall", "").body;
    let held: Vec<_> = coins
        .as_array()
        .unwrap()
        .iter()
        .map(|coin| ["coin", "free", "locked"].map(|name| coin[name].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ["USD", "990.00000000", "10.00000000"],
        ["SPY", "100.00000000", "0.00000000"],
        ["QQQ", "0.00000000", "0.00000000"],
    ];
    assert_eq!(held, expected);
    for none in ["margin/allPairs", "margin/isolated/allPairs", "spot/delist-schedule"] {
        assert_eq!(sapi(none, "").body, json!([]), "{none}");
    }
    let commission = keys.send(&http, "GET", "account/commission", "symbol=SPYUSD").body;
    assert_eq!(commission["symbol"], "SPYUSD");
    for kind in ["standardCommission", "specialCommission", "taxCommission"] {
        assert!(commission[kind].as_object().unwrap().values().all(|rate| rate == "0.00000000"), "{commission}");
    }
    for path in ["asset/tradeFee", "asset/assetDetail", "capital/config/getall"] {
        assert_eq!(code(&http.get(&format!("/binance/sapi/v1/{path}"))), (401, -2014), "{path}");
        let unsigned = http.send("GET", &format!("/binance/sapi/v1/{path}"), None, &[("x-mbx-apikey", &keys.key)]);
        assert_eq!(code(&unsigned), (400, -1102), "{path}");
    }
    assert_eq!(code(&http.post("/binance/sapi/v1/asset/tradeFee", &json!({}))), (405, -1020));
    server.stop();
}

#[test]
fn the_first_version_answers_what_it_had() {
    let folder = Folder::new("binance-v1");
    let (server, http, keys) = start(&folder);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    keys.send(&http, "POST", "order", ORDER);
    for path in [
        "ping",
        "depth?symbol=SPYUSD",
        "trades?symbol=SPYUSD",
        "historicalTrades?symbol=SPYUSD",
        "aggTrades?symbol=SPYUSD",
        "klines?symbol=SPYUSD&interval=1h",
        "ticker/price",
        "ticker/bookTicker",
    ] {
        let both = ["v1", "v3"].map(|version| http.read(&format!("/binance/api/{version}/{path}")));
        assert_eq!(both[0], both[1], "{path}");
    }
    assert!(http.read("/binance/api/v1/time")["serverTime"].is_u64());
    assert_eq!(http.read("/binance/api/v1/ticker/24hr?symbol=SPYUSD")["count"], 1);
    assert_eq!(code(&http.get("/binance/api/v1/account")), (404, -1020), "the first version never had it");
    let key = [("x-mbx-apikey", keys.key.as_str())];
    let listen = http.send("POST", "/binance/api/v1/userDataStream", None, &key);
    assert!(listen.body["listenKey"].is_string(), "{listen:?}");
    server.stop();
}

#[test]
fn the_interface_is_at_the_root_of_an_address_of_its_own() {
    let folder = Folder::new("binance-at-root");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).with("--binance-at 127.0.0.1:0").start();
    server.ask(MARKET);
    let at = server.compatible.unwrap();
    let (http, root) = (Http::new(server.http), Http::new(at));
    let same = ["/api/v3/depth?symbol=SPYUSD&limit=5", "/api/v1/ticker/price", "/sapi/v1/system/status"];
    for path in same {
        assert_eq!(root.read(path), http.read(&format!("/binance{path}")), "{path}");
    }
    let (status, headers) = root.head("/api/v3/ping", &[]);
    assert!(status == 200 && headers.contains_key("x-mbx-used-weight-1m"), "{headers:?}");
    assert_eq!(code(&root.get("/api/v3/depth?symbol=NONEUSD")), (400, -1121));
    // The address serves this interface alone, and has the same guards as the other address.
    for path in
        ["/", "/health", "/metrics", "/api/v1/accounts/1", "/api/v1/symbols", "/ws/v1/x", "/binance/api/v3/ping"]
    {
        let answer = root.get(path);
        assert!(answer.status >= 400 && answer.body["code"].is_i64(), "{path}: {answer:?}");
    }
    let foreign = root.send("GET", "/api/v3/ping", None, &[("host", "evil.example")]);
    assert_eq!(code(&foreign), (403, -1002));
    let large = root.send("POST", "/api/v3/order", Some(&"x".repeat(70_000)), &[("x-mbx-apikey", &keys.key)]);
    assert_eq!(code(&large), (413, -1130));
    // Orders that are placed here are in the same market, and the streams here tell of the whole market.
    let mut trades = root.listen_at("/ws/spyusd@trade");
    let mut combined = root.listen_at("/stream?streams=spyusd@trade");
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    let path = format!("/api/v3/order?{}", keys.sign(ORDER));
    let placed = root.send("POST", &path, None, &[("x-mbx-apikey", &keys.key)]);
    assert_eq!(placed.body["status"], "FILLED", "{placed:?}");
    assert_eq!(trades.next()["e"], "trade");
    assert_eq!(combined.next()["stream"], "spyusd@trade");
    let mut calls = root.listen_at("/ws-api/v3");
    calls.send(&json!({"id": 1, "method": "ping"}));
    assert_eq!(calls.next()["status"], 200);
    // A second server cannot use the same address, and says which setting names it.
    let other = Folder::new("binance-at-root-other");
    let ended = Launch::new(&other.data()).with(&format!("--binance-at {at}")).try_start().err().unwrap();
    assert!(ended.stderr.contains("--binance-at"), "{ended:?}");
    let ended = Launch::new(&other.data()).with("--binance-at here").try_start().err().unwrap();
    assert!(ended.stderr.contains("binance-at is \"here\""), "{ended:?}");
    server.stop();
}
