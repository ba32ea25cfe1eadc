//! The compatible interface over the real wire: who may sign, refusals and their codes, guards, and REST.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::{KeyFile, now};
use crate::common::server::{Launch, Server};
use serde_json::json;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";

fn start(folder: &Folder) -> (Server, Http, KeyFile) {
    KeyFile::serve(folder, MARKET)
}

/// The status and the code of a refusal. Panics unless the answer has the form of refusals.
fn code(answer: &Answer) -> (u16, i64) {
    assert!(answer.status >= 400 && answer.kind == "application/json", "{answer:?}");
    assert!(answer.body["msg"].is_string() && answer.body.as_object().unwrap().len() == 2, "{answer:?}");
    (answer.status, answer.body["code"].as_i64().unwrap())
}

#[test]
fn signed_requests_need_a_key_a_time_and_the_right_signature() {
    let folder = Folder::new("binance-signed");
    let (server, http, keys) = start(&folder);
    let account = |query: &str, headers: &[(&str, &str)]| {
        http.send("GET", &format!("/binance/api/v3/account?{query}"), None, headers)
    };
    let (key, right) = ([("x-mbx-apikey", keys.key.as_str())], keys.sign(""));
    assert_eq!(account(&right, &key).status, 200);
    assert_eq!(
        account(&right.to_uppercase().replace("TIMESTAMP", "timestamp").replace("SIGNATURE", "signature"), &key).status,
        200
    );
    assert_eq!(code(&account(&right, &[])), (401, -2014));
    assert_eq!(code(&account(&right, &[("x-mbx-apikey", "")])), (401, -2014));
    assert_eq!(code(&account(&right, &[("x-mbx-apikey", "nobody's")])), (401, -2015));
    assert_eq!(code(&account(&right, &[("x-mbx-apikey", &keys.secret)])), (401, -2015));
    assert_eq!(code(&account("", &key)), (400, -1102));
    assert_eq!(code(&account(&format!("timestamp={}", now()), &key)), (400, -1102));
    assert_eq!(code(&account("timestamp=now&signature=00", &key)), (400, -1100));
    for wrong in [
        format!("{right}0"),
        right[..right.len() - 1].to_owned(),
        format!("timestamp={}&signature=", now()) + &"0".repeat(64),
        format!("timestamp={}&signature=none", now()),
        format!("omitZeroBalances=true&{right}"),
        format!("{right}&omitZeroBalances=true"),
    ] {
        assert_eq!(code(&account(&wrong, &key)), (400, -1022), "{wrong}");
    }
    for (time, window) in [(now() - 6_000, ""), (now() + 60_000, ""), (now() - 20_000, "recvWindow=10000"), (0, "")] {
        assert_eq!(code(&account(&keys.sign_at(window, time), &key)), (400, -1021));
    }
    assert_eq!(account(&keys.sign_at("recvWindow=60000", now() - 20_000), &key).status, 200);
    assert_eq!(code(&account(&keys.sign("recvWindow=60001"), &key)), (400, -1131));
    // The signature covers the text after the `?` and the body together, as they are written.
    let text = format!("side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1&timestamp={}", now());
    let body = format!("{text}&signature={}", keys.signature(&format!("symbol=SPY%55SD{text}")));
    let form = [key[0], ("content-type", "application/x-www-form-urlencoded")];
    let placed = http.send("POST", "/binance/api/v3/order?symbol=SPY%55SD", Some(&body), &form);
    assert_eq!((placed.status, &placed.body["status"]), (200, &json!("NEW")), "{placed:?}");
    let moved = http.send("POST", "/binance/api/v3/order?symbol=SPYUSD", Some(&body), &form);
    assert_eq!(code(&moved), (400, -1022));
    server.stop();
}

#[test]
fn without_a_key_file_it_is_said_how_to_make_one() {
    let folder = Folder::new("binance-no-keys");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let keys = KeyFile::new(&folder);
    let refused = keys.send(&http, "GET", "account", "");
    assert_eq!(code(&refused), (401, -2015));
    let msg = refused.body["msg"].as_str().unwrap();
    assert!(msg.contains("pricetime keys add") && msg.contains("--keys"), "{msg}");
    assert_eq!(http.read("/binance/api/v3/exchangeInfo")["symbols"], json!([]), "what is public needs none");
    server.stop();
    std::fs::set_permissions(&keys.path, PermissionsExt::from_mode(0o644)).unwrap();
    let ended = keys.launch(&folder).try_start().err().expect("a file that others may read is refused");
    assert!(ended.status.code() == Some(2) && ended.stderr.contains("its mode is 644"), "{ended:?}");
    // The key's account does not exist yet.
    std::fs::set_permissions(&keys.path, PermissionsExt::from_mode(0o600)).unwrap();
    let server = keys.launch(&folder).start();
    assert_eq!(code(&keys.send(&Http::new(server.http), "GET", "account", "")), (401, -2015));
    server.stop();
}

#[test]
fn refusals_have_the_codes_that_clients_know() {
    let folder = Folder::new("binance-refusals");
    let (server, http, keys) = start(&folder);
    let order = |from: &str, to: &str| {
        assert!(ORDER.contains(from), "{from}");
        code(&keys.send(&http, "POST", "order", &ORDER.replace(from, to))).1
    };
    for (from, to, expected) in [
        ("symbol=SPYUSD&", "", -1102),
        ("side=BUY&", "side=&", -1102),
        ("&price=10", "", -1102),
        ("&timeInForce=GTC", "", -1102),
        ("SPYUSD", "SPY", -1121),
        ("SPYUSD", "QQQUSD", -1121),
        ("SPYUSD", "spyusd", -1121),
        ("BUY", "HOLD", -1117),
        ("LIMIT", "TRAILING_STOP", -1116),
        ("GTC", "GTD", -1115),
        ("price=10", "price=1e1", -1100),
        ("price=10", "price=10.123456789", -1111),
        ("price=10", "price=0", -1013),
        ("price=10", "price=-1", -1013),
        ("price=10", "price=92233720369", -1013),
        ("quantity=1", "quantity=0", -1013),
        ("quantity=1", "quantity=-1", -1013),
        ("quantity=1", "quantity=92233720369", -1013),
        ("price=10", "price=1001", -2010),
        ("BUY", "SELL&newOrderRespType=MUCH", -1136),
        ("BUY", "SELL&icebergQty=2", -2010),
        ("BUY", "SELL&selfTradePreventionMode=expire_taker", -1130),
        ("BUY", "SELL&selfTradePreventionMode=TRANSFER", -1013),
        ("BUY", "SELL&strategyId=1", -1106),
        ("BUY", "SELL&strategyType=1000000", -1106),
        ("BUY", "SELL&trailingDelta=10", -1106),
        ("BUY", "SELL&computeCommissionRates=true", -1106),
        ("BUY", "SELL&nothing=1", -1106),
        ("BUY", "SELL&newClientOrderId=with%20blank", -1100),
    ] {
        assert_eq!(order(from, to), expected, "{from} → {to}");
    }
    let poor = keys.send(&http, "POST", "order", &ORDER.replace("quantity=1", "quantity=101").replace("BUY", "SELL"));
    assert_eq!(poor.body, json!({"code": -2010, "msg": "Account has insufficient balance for requested action."}));
    assert_eq!(http.read("/api/v1/status")["open_orders"], 0);
    let named = format!("{ORDER}&newClientOrderId=mine");
    let placed = keys.send(&http, "POST", "order", &named);
    assert_eq!(placed.status, 200, "{placed:?}");
    for again in [named.clone(), named.replace("price=10", "price=11")] {
        let twice = keys.send(&http, "POST", "order", &again);
        assert_eq!(twice.body, json!({"code": -2010, "msg": "Duplicate order sent."}));
    }
    // The name is free as soon as the order has nothing open, and then leads to the newest order of that name.
    let named = |order: &str| keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&{order}"));
    for _ in 0..3 {
        let canceled = keys.send(&http, "DELETE", "order", "symbol=SPYUSD&origClientOrderId=mine");
        assert_eq!(canceled.body["status"], "CANCELED", "{canceled:?}");
        let again = keys.send(&http, "POST", "order", &format!("{ORDER}&newClientOrderId=mine"));
        assert_eq!((again.status, &again.body["clientOrderId"]), (200, &json!("mine")), "{again:?}");
        assert_eq!(named("origClientOrderId=mine").body["orderId"], again.body["orderId"]);
        let before = named(&format!("orderId={}", canceled.body["orderId"]));
        assert_eq!((&before.body["clientOrderId"], &before.body["status"]), (&json!("mine"), &json!("CANCELED")));
    }
    let get = |path: &str| code(&http.get(&format!("/binance/api/v3/{path}")));
    assert_eq!(get("depth"), (400, -1102));
    assert_eq!(get("depth?symbol=NONEUSD"), (400, -1121));
    assert_eq!(get("depth?symbol=SPYUSD&limit=none"), (400, -1100));
    assert_eq!(get("depth?symbol=SPYUSD&limit=0"), (400, -1130));
    assert_eq!(get("klines?symbol=SPYUSD&interval=7m"), (400, -1120));
    assert_eq!(get("ticker/price?symbols=SPYUSD"), (400, -1100));
    assert_eq!(get("nothing"), (404, -1020));
    assert_eq!(get("order/test"), (405, -1020));
    let signed = |method: &str, path: &str, query: &str| code(&keys.send(&http, method, path, query));
    assert_eq!(signed("GET", "order", "symbol=SPYUSD"), (400, -1102));
    assert_eq!(signed("GET", "order", "symbol=SPYUSD&orderId=99"), (400, -2013));
    assert_eq!(signed("GET", "order", "symbol=SPYUSD&origClientOrderId=none"), (400, -2013));
    assert_eq!(signed("DELETE", "order", "symbol=SPYUSD&orderId=99"), (400, -2011));
    assert_eq!(signed("DELETE", "order", "symbol=SPYUSD&origClientOrderId=none"), (400, -2011));
    // This is another account's order.
    let reply = server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="99"/></transactions>"#);
    let other = reply.split("id=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(signed("GET", "order", &format!("symbol=SPYUSD&orderId={other}")), (400, -2013));
    assert_eq!(signed("DELETE", "order", &format!("symbol=SPYUSD&orderId={other}")), (400, -2011));
    // The order is one of another symbol than the request says.
    server.ask(r#"<create><symbol sym="QQQ"><account id="2">1</account></symbol></create>"#);
    assert_eq!(signed("DELETE", "order", "symbol=QQQUSD&origClientOrderId=mine"), (400, -2011));
    assert_eq!(signed("DELETE", "openOrders", "symbol=QQQUSD"), (400, -2011));
    let canceled = keys.send(&http, "DELETE", "order", "symbol=SPYUSD&origClientOrderId=mine");
    assert_eq!((canceled.status, &canceled.body["status"]), (200, &json!("CANCELED")), "{canceled:?}");
    assert_eq!(signed("DELETE", "order", "symbol=SPYUSD&origClientOrderId=mine"), (400, -2011));
    server.stop();
}

#[test]
fn nobody_sees_the_done_order_of_another() {
    let folder = Folder::new("binance-others");
    let (server, http, keys) = start(&folder);
    let mut other = server.client();
    other.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="99"/><cancel id="1"/></transactions>"#);
    assert_eq!(code(&keys.send(&http, "GET", "order", "symbol=SPYUSD&orderId=1")), (400, -2013));
    assert_eq!(http.get("/api/v1/orders/1?account=1").code(), (404, "unknown-order"));
    assert_eq!(http.read("/api/v1/orders/1?account=2")["status"], "canceled");
    server.stop();
}

#[test]
fn only_our_own_pages_and_names_are_served() {
    let folder = Folder::new("binance-guard");
    let (server, http, keys) = start(&folder);
    let path = || format!("/binance/api/v3/order?{}", keys.sign(ORDER));
    let key = ("x-mbx-apikey", keys.key.as_str());
    let own = format!("http://{}", server.http);
    let post = |headers: &[(&str, &str)]| http.send("POST", &path(), None, headers);
    assert_eq!(code(&post(&[key, ("origin", "http://evil.example")])), (403, -1002));
    assert_eq!(code(&post(&[key, ("origin", "null")])), (403, -1002));
    assert_eq!(code(&post(&[key, ("host", "evil.example")])), (403, -1002));
    let ping = http.send("GET", "/binance/api/v3/ping", None, &[("host", "evil.example")]);
    assert_eq!(code(&ping), (403, -1002));
    let unsigned = http.send("POST", &format!("/binance/api/v3/order?{ORDER}"), None, &[key]);
    assert_eq!(code(&unsigned), (400, -1102));
    let json = http.send("POST", "/binance/api/v3/order", Some("{}"), &[key, ("content-type", "application/json")]);
    assert_eq!(code(&json), (400, -1102));
    let large = http.send("POST", "/binance/api/v3/order", Some(&"x".repeat(70_000)), &[key]);
    assert_eq!((code(&large), large.text.contains("65536 bytes")), ((413, -1130), true), "{large:?}");
    assert_eq!(http.read("/api/v1/status")["open_orders"], 0, "nothing of this was done");
    for socket in ["/binance/ws/spyusd@trade", "/binance/stream?streams=spyusd@trade", "/binance/ws-api/v3"] {
        let address = format!("ws://{}{socket}", server.http);
        let mut upgrade = tungstenite::client::IntoClientRequest::into_client_request(address).unwrap();
        upgrade.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
        let refused = tungstenite::connect(upgrade).err().unwrap().to_string();
        assert!(refused.contains("403"), "{socket}: {refused}");
        drop(http.listen_at(socket));
    }
    let mut stream = TcpStream::connect(server.http).unwrap();
    write!(
        stream,
        "GET /binance/api/v3/exchangeInfo HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.to_lowercase().contains("access-control"), "{answer}");
    let placed = post(&[key, ("origin", &own)]);
    assert_eq!(placed.status, 200, "{placed:?}");
    server.stop();
}

#[test]
fn an_order_is_answered_with_what_it_executed_with() {
    let folder = Folder::new("binance-orders");
    let (server, http, keys) = start(&folder);
    let mut other = server.client();
    other.ask(r#"<transactions id="2"><order sym="SPY" amount="-1.5" limit="9.00000001"/><order sym="SPY" amount="-2" limit="9.5"/><order sym="SPY" amount="-7" limit="10.5"/></transactions>"#);
    let order = |parameters: &str| keys.send(&http, "POST", "order", parameters);
    let bought = order("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=3.00000001&price=10").body;
    assert_eq!(bought["status"], "FILLED");
    assert_eq!(bought["executedQty"], "3.00000001");
    assert_eq!(bought["cummulativeQuoteQty"], "27.75000011", "1.5 × 9.00000001 + 1.50000001 × 9.5, to the last digit");
    let fills = bought["fills"].as_array().unwrap();
    let told: Vec<_> =
        fills.iter().map(|fill| (fill["price"].as_str().unwrap(), fill["qty"].as_str().unwrap())).collect();
    assert_eq!(told, [("9.00000001", "1.50000000"), ("9.50000000", "1.50000001")]);
    let partly =
        order("symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=2&price=10&newOrderRespType=RESULT").body;
    assert_eq!((&partly["status"], &partly["executedQty"]), (&json!("PARTIALLY_FILLED"), &json!("0.49999999")));
    assert!(partly.get("fills").is_none());
    let ack = order("symbol=SPYUSD&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=20&newOrderRespType=ACK").body;
    assert!(ack["transactTime"].is_u64() && ack.get("status").is_none(), "{ack}");
    assert_eq!(order(ORDER).status, 200);
    let tested = keys.send(&http, "POST", "order/test", ORDER);
    assert_eq!((tested.status, &tested.body), (200, &json!({})));
    let open = keys.send(&http, "GET", "openOrders", "").body;
    let ids: Vec<u64> = open.as_array().unwrap().iter().map(|order| order["orderId"].as_u64().unwrap()).collect();
    assert!(ids.len() == 3 && ids.is_sorted() && ids[0] == partly["orderId"], "{open}");
    let account = keys.send(&http, "GET", "account", "").body;
    let native = http.read("/api/v1/accounts/1");
    let number = |text: &serde_json::Value| text.as_str().unwrap().parse::<f64>().unwrap();
    assert_eq!(account["balances"][0]["asset"], "USD");
    assert_eq!(number(&account["balances"][0]["free"]), number(&native["balance"]));
    assert_eq!(number(&account["balances"][0]["locked"]), number(&native["held"]));
    assert_eq!(account["balances"][1]["locked"], "1.00000000");
    let page = |parameters: &str| keys.send(&http, "GET", "myTrades", &format!("symbol=SPYUSD&{parameters}")).body;
    let all = page("");
    assert_eq!(all.as_array().unwrap().len(), 3);
    let first = &all[0]["id"];
    assert_eq!(page(&format!("fromId={first}&limit=2")), json!([all[0], all[1]]), "the first ones from there on");
    assert_eq!(page("limit=2"), json!([all[1], all[2]]), "the last ones");
    assert_eq!(page(&format!("orderId={}", partly["orderId"])), json!([all[2]]));
    assert_eq!(page("startTime=99999999999999"), json!([]));
    assert_eq!(page(&format!("startTime={}&endTime={}", all[0]["time"], all[2]["time"])), all);
    let canceled = keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").body;
    let statuses: Vec<_> = canceled.as_array().unwrap().iter().map(|order| &order["status"]).collect();
    assert_eq!(statuses, ["CANCELED"; 3]);
    let orders = keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body;
    assert_eq!(orders.as_array().unwrap().len(), 4);
    let from = format!("symbol=SPYUSD&limit=2&orderId={}", orders[1]["orderId"]);
    assert_eq!(keys.send(&http, "GET", "allOrders", &from).body, json!([orders[1], orders[2]]));
    server.stop();
}

#[test]
fn every_price_and_quantity_that_the_filters_allow_is_accepted() {
    let folder = Folder::new("binance-filters");
    let (server, http, keys) = start(&folder);
    let info = http.read("/binance/api/v3/exchangeInfo?symbol=SPYUSD");
    let filter = |kind: &str, name: &str| {
        let filters = info["symbols"][0]["filters"].as_array().unwrap();
        let filter = filters.iter().find(|filter| filter["filterType"] == kind).unwrap();
        filter[name].as_str().unwrap().to_owned()
    };
    server.ask(r#"<create><symbol sym="SPY"><account id="1">100000000000</account></symbol></create>"#);
    let least = (filter("PRICE_FILTER", "minPrice"), filter("LOT_SIZE", "minQty"));
    let most = (filter("PRICE_FILTER", "maxPrice"), filter("LOT_SIZE", "maxQty"));
    assert_eq!((&least.0, &least.1), (&filter("PRICE_FILTER", "tickSize"), &filter("LOT_SIZE", "stepSize")));
    for (price, quantity) in [(&most.0, &most.1), (&least.0, &least.1), (&most.0, &least.1), (&least.0, &most.1)] {
        let order = format!("symbol=SPYUSD&side=SELL&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}");
        let placed = keys.send(&http, "POST", "order", &order);
        assert_eq!(placed.status, 200, "{placed:?}");
        assert_eq!((&placed.body["price"], &placed.body["origQty"]), (&json!(price), &json!(quantity)));
        keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD");
    }
    server.stop();
}
