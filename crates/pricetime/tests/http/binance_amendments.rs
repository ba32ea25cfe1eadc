//! The compatible interface's amendments, the names by which requests identify an order, and other requests about
//! orders.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::{KeyFile, now};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol>
    <symbol sym="QQQ"><account id="2">100</account></symbol></create>"#;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=5&price=10";

fn amend(keys: &KeyFile, http: &Http, words: &str) -> Value {
    keys.send(http, "PUT", "order/amend/keepPriority", &format!("symbol=SPYUSD&{words}")).body
}

#[test]
fn an_amended_order_keeps_its_place_and_its_name() {
    let folder = Folder::new("binance-amend");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let placed = keys.send(&http, "POST", "order", &format!("{ORDER}&newClientOrderId=mine")).body;
    let id = &placed["orderId"];
    let other = |words: &str| server.ask(&format!(r#"<transactions id="2"><order sym="SPY" {words}/></transactions>"#));
    other(r#"amount="-2" limit="10""#);
    other(r#"amount="9" limit="10""#);
    let amended = amend(&keys, &http, "origClientOrderId=mine&newQty=4");
    let order = &amended["amendedOrder"];
    let shown = ["symbol", "orderId", "origClientOrderId", "clientOrderId", "price", "qty", "executedQty", "status"];
    assert_eq!(
        json!(shown.map(|field| order[field].clone())),
        json!(["SPYUSD", id, "mine", "mine", "10.00000000", "4.00000000", "2.00000000", "PARTIALLY_FILLED"]),
        "{amended}"
    );
    let more = ["cumulativeQuoteQty", "preventedQty", "timeInForce", "type", "side", "selfTradePreventionMode"];
    assert_eq!(
        json!(more.map(|field| order[field].clone())),
        json!(["20.00000000", "0.00000000", "GTC", "LIMIT", "BUY", "NONE"])
    );
    assert!(amended["transactTime"].as_u64() >= placed["transactTime"].as_u64(), "{amended}");
    let (mut reports, mut execution) = (Vec::new(), Value::Null);
    while reports.len() < 3 {
        let event = socket.next();
        if event["e"] == "executionReport" {
            execution = event["I"].clone();
            reports.push(json!([event["x"], event["X"], event["q"], event["z"], event["c"], event["C"]]));
        }
    }
    let [five, four, two] = ["5.00000000", "4.00000000", "2.00000000"];
    assert_eq!(reports[1], json!(["TRADE", "PARTIALLY_FILLED", five, two, "mine", ""]));
    assert_eq!(reports[2], json!(["REPLACED", "PARTIALLY_FILLED", four, two, "mine", "mine"]));
    // The execution is found again by the number that all three tell.
    assert!(execution.as_u64() > Some(0) && amended["executionId"] == execution, "{amended}");
    let amendments = |http: &Http, words: &str| {
        keys.send(http, "GET", "order/amendments", &format!("symbol=SPYUSD&orderId={id}{words}")).body
    };
    let first = json!({"symbol": "SPYUSD", "orderId": id, "executionId": execution, "origClientOrderId": "mine",
        "newClientOrderId": "mine", "origQty": five, "newQty": four, "time": amended["transactTime"]});
    assert_eq!(amendments(&http, ""), json!([first]));
    // The order is still the first at its price, and the money for the shares that were taken off it is free again.
    let get = |http: &Http| keys.send(http, "GET", "order", "symbol=SPYUSD&origClientOrderId=mine").body;
    other(r#"amount="-1" limit="10""#);
    assert_eq!([&get(&http)["executedQty"], &get(&http)["origQty"]], ["3.00000000", four]);
    let account = http.read("/api/v1/accounts/1");
    assert_eq!([&account["balance"], &account["held"]], ["960", "10"]);
    server.stop();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!([&get(&http)["executedQty"], &get(&http)["origQty"]], ["3.00000000", four], "after a restart, too");
    let again = amend(&keys, &http, "origClientOrderId=mine&newQty=3.5");
    assert_eq!(again["amendedOrder"]["qty"], "3.50000000", "{again}");
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    assert_eq!(amend(&keys, &http, "origClientOrderId=mine&newQty=3")["code"], -2038, "it is done");
    let all = amendments(&http, "");
    assert_eq!((&all[0], &all[1]["origQty"], &all[1]["newQty"]), (&first, &json!(four), &json!("3.50000000")), "{all}");
    assert_eq!(amendments(&http, "&limit=1"), json!([first]));
    assert_eq!(amendments(&http, &format!("&fromExecutionId={}", all[1]["executionId"])), json!([all[1]]));
    let other = keys.send(&http, "GET", "order/amendments", "symbol=SPYUSD&orderId=99").body;
    assert_eq!(other["code"], -2013);
    server.stop();
}

/// The other protocols give an order another price and more shares, which these clients cannot ask for.
#[test]
fn amendments_of_other_protocols_are_told() {
    let folder = Folder::new("binance-amend-others");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let id = keys.send(&http, "POST", "order", &format!("{ORDER}&newClientOrderId=mine")).body["orderId"].clone();
    let amend = |terms: Value| {
        let mut body = json!({"account": "1"});
        body.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
        let json = [("content-type", "application/json")];
        let amended = http.send("PATCH", &format!("/api/v1/orders/{id}"), Some(&body.to_string()), &json);
        assert_eq!(amended.status, 200, "{}", amended.text);
    };
    let mut report = || loop {
        let event = socket.next();
        if event["e"] == "executionReport" && event["x"] != "NEW" {
            break event;
        }
    };
    let told = |event: &Value| json!(["x", "X", "p", "q", "z", "c"].map(|field| event[field].clone()));
    let [five, seven, zero, two] = ["5.00000000", "7.00000000", "0.00000000", "2.00000000"];
    amend(json!({"limit": "11"}));
    assert_eq!(told(&report()), json!(["REPLACED", "NEW", "11.00000000", five, zero, "mine"]));
    amend(json!({"limit": "12", "shares": "7"}));
    let more = report();
    assert_eq!(told(&more), json!(["REPLACED", "NEW", "12.00000000", seven, zero, "mine"]));
    // Fewer shares beside another term are one report.
    amend(json!({"shares": "6", "display": "3"}));
    let fewer = report();
    assert_eq!(told(&fewer), json!(["REPLACED", "NEW", "12.00000000", "6.00000000", zero, "mine"]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-2" limit="13"/></transactions>"#);
    // It executes at once, and is reported as replaced before that.
    amend(json!({"limit": "13"}));
    assert_eq!(told(&report()), json!(["REPLACED", "NEW", "13.00000000", "6.00000000", zero, "mine"]));
    assert_eq!(told(&report()), json!(["TRADE", "PARTIALLY_FILLED", "13.00000000", "6.00000000", two, "mine"]));
    let shown = |order: &Value| json!(["price", "origQty", "executedQty", "status"].map(|field| order[field].clone()));
    let expected = json!(["13.00000000", "6.00000000", two, "PARTIALLY_FILLED"]);
    let look = |http: &Http| {
        let one = keys.send(http, "GET", "order", "symbol=SPYUSD&origClientOrderId=mine").body;
        let [open, all] = ["openOrders", "allOrders"].map(|path| keys.send(http, "GET", path, "symbol=SPYUSD").body);
        assert_eq!([&one, &open[0], &all[0]].map(shown), [(); 3].map(|()| expected.clone()), "{one} {open} {all}");
        let all = keys.send(http, "GET", "order/amendments", &format!("symbol=SPYUSD&orderId={id}")).body;
        let its = |amended: &Value| json!(["executionId", "origQty", "newQty"].map(|field| amended[field].clone()));
        let listed: Vec<Value> = all.as_array().unwrap().iter().map(its).collect();
        assert_eq!(json!(listed), json!([[more["I"], five, seven], [fewer["I"], seven, "6.00000000"]]), "{all}");
    };
    look(&http);
    // Here, an order still gets fewer shares alone, and keeps its place.
    assert_eq!(self::amend(&keys, &http, "origClientOrderId=mine&newQty=6")["code"], -2038);
    server.stop();
    let server = keys.launch(&folder).start();
    look(&Http::new(server.http));
    server.stop();
}

#[test]
fn amendments_that_cannot_be_are_refused_and_change_nothing() {
    let folder = Folder::new("binance-amend-refusals");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let id = keys.send(&http, "POST", "order", &format!("{ORDER}&newClientOrderId=mine")).body["orderId"].clone();
    let reply = server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
    let others = reply.split("id=\"").nth(1).unwrap().split('"').next().unwrap();
    for (words, code) in [
        (format!("orderId={id}"), -1102),
        ("newQty=4".to_owned(), -1102),
        (format!("orderId={id}&newQty=0"), -1013),
        (format!("orderId={id}&newQty=-1"), -1013),
        (format!("orderId={id}&newQty=1.123456789"), -1111),
        (format!("orderId={id}&newQty=5"), -2038),
        (format!("orderId={id}&newQty=6"), -2038),
        (format!("orderId={id}&newQty=1"), -2038),
        (format!("orderId={id}&newQty=0.5"), -2038),
        ("orderId=99&newQty=4".to_owned(), -2038),
        (format!("orderId={others}&newQty=0.5"), -2038),
        ("origClientOrderId=other&newQty=4".to_owned(), -2038),
        (format!("orderId={id}&origClientOrderId=other&newQty=4"), -2038),
        (format!("orderId={id}&newClientOrderId=other&newQty=4"), -1130),
        (format!("orderId={id}&newQty=4&price=9"), -1104),
        (format!("orderId={id}&newQty=4&newOrderRespType=FULL"), -1104),
    ] {
        let refused = amend(&keys, &http, &words);
        assert_eq!(refused["code"], code, "{words}: {refused}");
    }
    let elsewhere = format!("symbol=QQQUSD&orderId={id}&newQty=4");
    assert_eq!(keys.send(&http, "PUT", "order/amend/keepPriority", &elsewhere).body["code"], -2038);
    let get = format!("symbol=SPYUSD&orderId={id}&origClientOrderId=mine");
    assert_eq!(keys.send(&http, "GET", "order", &get).body["origQty"], "5.00000000");
    let amended = amend(&keys, &http, &format!("orderId={id}&newClientOrderId=mine&newQty=4"));
    assert_eq!(amended["amendedOrder"]["qty"], "4.00000000", "{amended}");
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let mut call = |method: &str, words: &str| {
        let text = format!("apiKey={}&{words}&timestamp={}", keys.key, now());
        let mut sorted: Vec<&str> = text.split('&').collect();
        sorted.sort_unstable();
        let signed = format!("{}&signature={}", sorted.join("&"), keys.signature(&sorted.join("&")));
        let parameters: serde_json::Map<String, Value> = signed
            .split('&')
            .map(|part| part.split_once('=').unwrap())
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        socket.send(&json!({"id": 1, "method": method, "params": parameters}));
        socket.next()
    };
    let told = call("order.amend.keepPriority", &format!("symbol=SPYUSD&orderId={id}&newQty=3"));
    assert_eq!(told["result"]["amendedOrder"]["qty"], "3.00000000", "{told}");
    let told = call("order.amend.keepPriority", &format!("symbol=SPYUSD&orderId={id}&newQty=3"));
    assert_eq!((&told["status"], &told["error"]["code"]), (&json!(400), &json!(-2038)), "{told}");
    // These are the connection's other methods about orders.
    let counts = call("account.rateLimits.orders", "recvWindow=5000")["result"].clone();
    assert_eq!((&counts[1]["interval"], &counts[1]["count"]), (&json!("DAY"), &json!(1)), "{counts}");
    assert_eq!(keys.send(&http, "GET", "rateLimit/order", "").body, counts);
    assert_eq!(call("myAllocations", "symbol=SPYUSD")["result"], json!([]));
    assert_eq!(call("myPreventedMatches", "symbol=SPYUSD")["error"]["code"], -1020);
    let amended = call("order.amendments", &format!("symbol=SPYUSD&orderId={id}"))["result"].clone();
    assert_eq!([&amended[0]["newQty"], &amended[1]["newQty"]], ["4.00000000", "3.00000000"], "{amended}");
    server.stop();
}

#[test]
fn what_is_asked_about_orders_is_answered_or_refused_by_name() {
    let folder = Folder::new("binance-orders-asked");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let id = keys.send(&http, "POST", "order", &format!("{ORDER}&newClientOrderId=mine")).body["orderId"].clone();
    let both = |name: &str| format!("symbol=SPYUSD&orderId={id}&origClientOrderId={name}");
    for (method, path, words, code) in [
        ("GET", "order", both("other"), -2013),
        ("GET", "order", both(&format!("~{id}")), -2013),
        ("DELETE", "order", both("other"), -2011),
        ("DELETE", "order", format!("{}&newClientOrderId=a%20b", both("mine")), -1100),
        ("GET", "rateLimit/order", "symbol=SPYUSD".to_owned(), -1104),
        ("GET", "myAllocations", String::new(), -1102),
        ("GET", "myAllocations", "symbol=NONEUSD".to_owned(), -1121),
        ("GET", "myAllocations", "symbol=SPYUSD&limit=x".to_owned(), -1100),
        ("GET", "myPreventedMatches", "symbol=SPYUSD".to_owned(), -1020),
        ("GET", "order/amendments", "symbol=SPYUSD".to_owned(), -1102),
        ("GET", "order/amendments", format!("symbol=NONEUSD&orderId={id}"), -1121),
        ("GET", "order/amendments", "symbol=SPYUSD&orderId=99".to_owned(), -2013),
        ("POST", "order/test", format!("{ORDER}&computeCommissionRates=yes"), -1130),
        ("POST", "order/test", format!("{ORDER}&strategyId=7"), -1106),
        ("POST", "order", format!("{ORDER}&computeCommissionRates=false"), -1106),
    ] {
        let refused = keys.send(&http, method, path, &words);
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!(code)), "{method} {path} {words}");
    }
    assert_eq!(keys.send(&http, "GET", "order", &both("mine")).body["orderId"], id);
    let costs = keys.send(&http, "POST", "order/test", &format!("{ORDER}&computeCommissionRates=true")).body;
    assert_eq!(costs["standardCommissionForOrder"], json!({"maker": "0.00000000", "taker": "0.00000000"}), "{costs}");
    assert_eq!(
        keys.send(&http, "POST", "order/test", &format!("{ORDER}&computeCommissionRates=false")).body,
        json!({})
    );
    let canceled = keys.send(&http, "DELETE", "order", &format!("{}&newClientOrderId=the-cancel", both("mine"))).body;
    assert_eq!([&canceled["clientOrderId"], &canceled["origClientOrderId"]], ["the-cancel", "mine"], "{canceled}");
    assert_eq!(keys.send(&http, "GET", "myAllocations", "symbol=SPYUSD").body, json!([]));
    assert_eq!(http.read("/binance/api/v3/exchangeInfo?symbol=SPYUSD")["symbols"][0]["amendAllowed"], true);
    server.stop();
}

/// All notes of an order, and the amendments of it, once were read in one question to the feed. More notes than one
/// question reads now are read by several, and nothing is missing.
#[test]
fn orders_with_very_many_amendments_are_told_whole() {
    const AMENDMENTS: usize = 700;
    let folder = Folder::new("binance-amend-often");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let ask = |text: &str| server.ask(&format!(r#"<transactions id="1">{text}</transactions>"#));
    // Two orders wait for a price, and are triggered.
    ask(r#"<order sym="SPY" amount="9" limit="3" stop="8"/><order sym="SPY" amount="9" limit="3" stop="8"/>"#);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="8"/></transactions>"#);
    ask(r#"<order sym="SPY" amount="1" limit="8"/>"#);
    for order in [1, 2] {
        let amend = |by: usize| format!(r#"<amend id="{order}" shares="8.{:03}"/>"#, 999 - by);
        let told = ask(&(0..AMENDMENTS).map(amend).collect::<String>());
        assert_eq!(told.matches("<amended").count(), AMENDMENTS, "{told:.300}");
    }
    let triggered = |order: &Value| (order["shares"].clone(), order["triggered_time"].as_u64().is_some());
    let expected = (json!("8.3"), true);
    for status in ["open", "done"] {
        let order = http.read("/api/v1/orders/1?account=1");
        assert_eq!(
            (triggered(&order), &order["status"]),
            (expected.clone(), &json!(if status == "open" { "open" } else { "canceled" }))
        );
        let orders = http.read("/api/v1/accounts/1/orders?status=all")["orders"].as_array().unwrap().clone();
        assert_eq!(orders.len(), 3);
        assert_eq!(orders[1..].iter().map(triggered).collect::<Vec<_>>(), [expected.clone(), expected.clone()]);
        let told = keys.send(&http, "GET", "order/amendments", "symbol=SPYUSD&orderId=1&limit=1000").body;
        let told = told.as_array().unwrap();
        assert_eq!((told.len(), &told[0]["origQty"]), (AMENDMENTS, &json!("9.00000000")));
        assert!(told.windows(2).all(|pair| pair[0]["newQty"] == pair[1]["origQty"]), "{:?}", told.last());
        ask(r#"<cancel id="1"/>"#);
    }
    server.stop();
}
