//! Order lists over the compatible interface: placed with the old and the new names of parameters, looked up, canceled,
//! told on the account's stream, and after a restart.

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const TWO: &str =
    "symbol=SPYUSD&side=SELL&quantity=10&aboveType=LIMIT_MAKER&abovePrice=30&belowType=STOP_LOSS&belowStopPrice=20";
const OLDER: &str = "symbol=SPYUSD&side=BUY&quantity=5&price=8&stopPrice=50&stopLimitPrice=51&stopLimitTimeInForce=GTC";

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

const LIST: [&str; 6] =
    ["orderListId", "contingencyType", "listStatusType", "listOrderStatus", "listClientOrderId", "symbol"];
const ORDER: [&str; 5] = ["orderId", "orderListId", "type", "status", "clientOrderId"];

/// The next `count` events of the stream that are about orders or lists.
fn events(socket: &mut Socket, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    while found.len() < count {
        let event = socket.next();
        if event["e"] == "executionReport" {
            found.push(json!(["report", event["i"], event["g"], event["x"], event["X"]]));
        }
        if event["e"] == "listStatus" {
            let orders: Vec<Value> =
                event["O"].as_array().unwrap().iter().map(|order| fields(order, ["s", "i", "c"])).collect();
            found.push(json!(["list", event["g"], event["c"], event["l"], event["L"], event["C"], orders]));
        }
    }
    found
}

#[test]
fn a_list_is_placed_looked_up_and_told_until_all_of_it_is_done() {
    let folder = Folder::new("binance-order-lists");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let named = "listClientOrderId=both&belowClientOrderId=below";
    let placed = keys.send(&http, "POST", "orderList/oco", &format!("{TWO}&{named}")).body;
    assert_eq!(fields(&placed, LIST), json!([1, "OCO", "EXEC_STARTED", "EXECUTING", "both", "SPYUSD"]), "{placed}");
    let members = json!([
        {"symbol": "SPYUSD", "orderId": 1, "clientOrderId": "both"},
        {"symbol": "SPYUSD", "orderId": 2, "clientOrderId": "below"},
    ]);
    assert_eq!(placed["orders"], members);
    let reports: Vec<Value> =
        placed["orderReports"].as_array().unwrap().iter().map(|report| fields(report, ORDER)).collect();
    assert_eq!(reports, [json!([1, 1, "LIMIT_MAKER", "NEW", "both"]), json!([2, 1, "STOP_LOSS", "NEW", "below"])]);
    let third =
        json!(["list", 1, "OCO", "EXEC_STARTED", "EXECUTING", "both", [["SPYUSD", 1, "both"], ["SPYUSD", 2, "below"]]]);
    let new = |order: u64| json!(["report", order, 1, "NEW", "NEW"]);
    assert_eq!(events(&mut socket, 3), [new(1), new(2), third]);
    let one = |http: &Http, words: &str| keys.send(http, "GET", "orderList", words).body;
    let told = one(&http, "orderListId=1");
    assert_eq!((fields(&told, LIST), &told["orders"]), (fields(&placed, LIST), &members));
    assert_eq!(one(&http, "origClientOrderId=both"), told);
    assert_eq!(keys.send(&http, "GET", "openOrderList", "").body, json!([told]));
    assert_eq!(keys.send(&http, "GET", "allOrderList", "").body, json!([told]));
    let order = keys.send(&http, "GET", "order", "symbol=SPYUSD&orderId=2").body;
    assert_eq!(fields(&order, ORDER), json!([2, 1, "STOP_LOSS", "NEW", "below"]));
    // A list that is sent again is the same list, and refused as an order is.
    let again = keys.send(&http, "POST", "orderList/oco", &format!("{TWO}&{named}")).body;
    assert_eq!(again, json!({"code": -2010, "msg": "Duplicate order sent."}));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="4" limit="30"/></transactions>"#);
    let events_of_part =
        [json!(["report", 2, 1, "EXPIRED", "EXPIRED"]), json!(["report", 1, 1, "TRADE", "PARTIALLY_FILLED"])];
    assert_eq!(events(&mut socket, 2), events_of_part);
    assert_eq!(one(&http, "orderListId=1")["listOrderStatus"], "EXECUTING");
    assert_eq!(keys.send(&http, "GET", "openOrderList", "").body, json!([told]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="6" limit="30"/></transactions>"#);
    let done =
        json!(["list", 1, "OCO", "ALL_DONE", "ALL_DONE", "both", [["SPYUSD", 1, "both"], ["SPYUSD", 2, "below"]]]);
    assert_eq!(events(&mut socket, 2), [json!(["report", 1, 1, "TRADE", "FILLED"]), done]);
    server.kill();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    let told = one(&http, "orderListId=1");
    assert_eq!(fields(&told, LIST), json!([1, "OCO", "ALL_DONE", "ALL_DONE", "both", "SPYUSD"]));
    assert_eq!(told["orders"], members);
    assert_eq!(keys.send(&http, "GET", "openOrderList", "").body, json!([]));
    assert_eq!(keys.send(&http, "GET", "allOrderList", "fromId=1&limit=1").body, json!([told]));
    let of_nothing = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";
    keys.send(&http, "POST", "order", of_nothing);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="9"/></transactions>"#);
    let trades = keys.send(&http, "GET", "myTrades", "symbol=SPYUSD").body;
    let lists: Vec<Value> =
        trades.as_array().unwrap().iter().map(|trade| fields(trade, ["orderId", "orderListId"])).collect();
    assert_eq!(lists, [json!([1, 1]), json!([1, 1]), json!([5, -1])], "{trades}");
    let all = keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body;
    let shown: Vec<Value> = all.as_array().unwrap().iter().take(2).map(|order| fields(order, ORDER)).collect();
    assert_eq!(shown, [json!([1, 1, "LIMIT_MAKER", "FILLED", "both"]), json!([2, 1, "STOP_LOSS", "EXPIRED", "below"])]);
    server.stop();
}

/// Each order of a list counts as a placed order.
#[test]
fn the_orders_of_lists_are_counted() {
    let folder = Folder::new("binance-lists-counted");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let counted = || keys.send(&http, "GET", "rateLimit/order", "").body[1]["count"].clone();
    let waits = "pendingSide=SELL&pendingQuantity=1";
    let working =
        "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingPrice=2&workingQuantity=1&workingTimeInForce=GTC";
    let one = format!("{working}&{waits}&pendingType=LIMIT_MAKER&pendingPrice=300");
    let two = format!(
        "{working}&{waits}&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=300&pendingBelowType=STOP_LOSS&pendingBelowStopPrice=1"
    );
    for (path, words, count) in
        [("orderList/oco", TWO, 2), ("order/oco", OLDER, 4), ("orderList/oto", &one, 6), ("orderList/otoco", &two, 9)]
    {
        let placed = keys.send(&http, "POST", path, words);
        assert_eq!((placed.status, counted()), (200, json!(count)), "{path}: {}", placed.text);
    }
    // A replacement counts as one more, and a test order does not count.
    let alone = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=3";
    let replace = format!("{alone}&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId=5");
    let replaced = keys.send(&http, "POST", "order/cancelReplace", &replace);
    assert_eq!((replaced.status, counted()), (200, json!(10)), "{}", replaced.text);
    assert_eq!((keys.send(&http, "POST", "order/test", alone).status, counted()), (200, json!(10)));
    assert_eq!((keys.send(&http, "POST", "order/cancelReplace", &replace).status, counted()), (400, json!(10)));
    // A refused list places nothing.
    assert_eq!(keys.send(&http, "POST", "orderList/oco", &TWO.replace("quantity=10", "quantity=101")).status, 400);
    assert_eq!(counted(), 10);
    server.stop();
}

#[test]
fn a_list_in_older_words_is_canceled_as_one() {
    let folder = Folder::new("binance-older-lists");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let placed = keys.send(&http, "POST", "order/oco", &format!("{OLDER}&limitClientOrderId=low")).body;
    let reports: Vec<Value> =
        placed["orderReports"].as_array().unwrap().iter().map(|report| fields(report, ORDER)).collect();
    let expected = [json!([1, 1, "STOP_LOSS_LIMIT", "NEW", "~1"]), json!([2, 1, "LIMIT_MAKER", "NEW", "low"])];
    assert_eq!((&placed["listClientOrderId"], reports), (&json!("~1"), expected.to_vec()), "{placed}");
    // The more expensive of the two orders determines what is held.
    assert_eq!(http.read("/api/v1/accounts/1")["held"], "255");
    let mut socket = keys.follow(&http);
    let canceled = keys.send(&http, "DELETE", "orderList", "symbol=SPYUSD&orderListId=1&newClientOrderId=away").body;
    assert_eq!(fields(&canceled, LIST), json!([1, "OCO", "ALL_DONE", "ALL_DONE", "~1", "SPYUSD"]), "{canceled}");
    let reports: Vec<Value> = canceled["orderReports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| fields(report, ["orderId", "orderListId", "origClientOrderId", "clientOrderId", "status"]))
        .collect();
    assert_eq!(reports, [json!([1, 1, "~1", "away", "CANCELED"]), json!([2, 1, "low", "away", "CANCELED"])]);
    let told = events(&mut socket, 3);
    assert_eq!(told[0], json!(["report", 2, 1, "EXPIRED", "EXPIRED"]));
    assert_eq!(told[1], json!(["report", 1, 1, "CANCELED", "CANCELED"]));
    assert_eq!(told[2][3], "ALL_DONE");
    assert_eq!(http.read("/api/v1/accounts/1")["held"], "0");
    let unknown = |method: &str, words: &str, code: i32| {
        let refused = keys.send(&http, method, "orderList", words).body;
        assert_eq!(refused["code"], code, "{method} {words}: {refused}");
    };
    unknown("DELETE", "symbol=SPYUSD&orderListId=1", -2011);
    unknown("DELETE", "symbol=SPYUSD&orderListId=2", -2011);
    unknown("DELETE", "symbol=SPYUSD&listClientOrderId=other", -2011);
    unknown("DELETE", "symbol=SPYUSD", -1102);
    unknown("GET", "orderListId=7", -2013);
    unknown("GET", "orderListId=2", -2013);
    unknown("GET", "", -1102);
    // The order is in no list, and a list request names its number.
    keys.send(&http, "POST", "order", "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9");
    unknown("GET", "orderListId=3", -2013);
    server.stop();
}

#[test]
fn lists_that_cannot_be_are_refused_in_their_own_words() {
    let folder = Folder::new("binance-order-lists-refused");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let sell = "symbol=SPYUSD&side=SELL&quantity=10";
    for (words, code, says) in [
        (format!("{sell}&aboveType=LIMIT_MAKER&abovePrice=30"), -1102, "'belowType'"),
        (format!("{sell}&aboveType=LIMIT_MAKER&belowType=STOP_LOSS&belowStopPrice=20"), -1102, "'abovePrice'"),
        (format!("{sell}&aboveType=LIMIT_MAKER&abovePrice=30&belowType=STOP_LOSS"), -1102, "'belowStopPrice'"),
        (format!("{TWO}&belowTimeInForce=GTC"), -1106, "'belowTimeInForce'"),
        (format!("{TWO}&aboveIcebergQty=1"), -1106, "'aboveIcebergQty'"),
        (format!("{TWO}&abovePrice=1.123456789").replacen("abovePrice=30&", "", 1), -1111, "'abovePrice'"),
        (format!("{TWO}&newOrderRespType=SOME"), -1136, "newOrderRespType"),
        (format!("{TWO}&aboveClientOrderId=one&listClientOrderId=other"), -1130, "'listClientOrderId'"),
        (TWO.replace("belowStopPrice=20", "belowStopPrice=30"), -2010, "relationship of the prices"),
        (TWO.replace("LIMIT_MAKER", "LIMIT&aboveTimeInForce=GTC"), -2010, "post-only"),
        (TWO.replace("STOP_LOSS", "LIMIT_MAKER").replace("belowStopPrice", "belowPrice"), -2010, "waits for a price"),
        (TWO.replace("SPYUSD", "NOPEUSD"), -1121, "Invalid symbol"),
        (TWO.replace("quantity=10", "quantity=101"), -2010, "insufficient balance"),
        (TWO.replace("SELL", "HOLD"), -1117, "Invalid side"),
    ] {
        let refused = keys.send(&http, "POST", "orderList/oco", &words).body;
        assert_eq!(refused["code"], code, "{words}: {refused}");
        assert!(refused["msg"].as_str().unwrap().contains(says), "{words}: {refused}");
    }
    let older = keys.send(&http, "POST", "order/oco", &OLDER.replace("&stopLimitTimeInForce=GTC", "")).body;
    assert!(older["code"] == -1102 && older["msg"].as_str().unwrap().contains("'stopLimitTimeInForce'"), "{older}");
    assert_eq!(keys.send(&http, "GET", "openOrders", "").body, json!([]));
    let told = keys.send(&http, "POST", "orderList/oco", &format!("{TWO}&newOrderRespType=ACK")).body;
    assert!(told["orderReports"][0].get("status").is_none(), "{told}");
    server.stop();
}

#[test]
fn the_websocket_api_has_lists_too() {
    let folder = Folder::new("binance-order-lists-calls");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let mut call = |method: &str, words: &str| {
        let mut sent: Vec<(String, String)> = words
            .split('&')
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        sent.push(("apiKey".to_owned(), keys.key.clone()));
        sent.push(("timestamp".to_owned(), crate::common::keys::now().to_string()));
        sent.sort();
        let text: Vec<String> = sent.iter().map(|(name, value)| format!("{name}={value}")).collect();
        sent.push(("signature".to_owned(), keys.signature(&text.join("&"))));
        let params: serde_json::Map<String, Value> =
            sent.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        socket.send(&json!({"id": method, "method": method, "params": params}));
        loop {
            let answer = socket.next();
            if answer["id"] == method {
                return answer["result"].clone();
            }
        }
    };
    let placed = call("orderList.place.oco", TWO);
    assert_eq!(fields(&placed, LIST), json!([1, "OCO", "EXEC_STARTED", "EXECUTING", "~1", "SPYUSD"]), "{placed}");
    assert_eq!(call("orderList.place", OLDER)["orderListId"], 3);
    assert_eq!(call("orderList.status", "orderListId=3")["orders"][1]["orderId"], 4);
    assert_eq!(call("openOrderLists.status", "").as_array().unwrap().len(), 2);
    assert_eq!(call("orderList.cancel", "symbol=SPYUSD&orderListId=1")["listOrderStatus"], "ALL_DONE");
    assert_eq!(call("openOrderLists.status", "").as_array().unwrap().len(), 1);
    assert_eq!(call("allOrderLists", "").as_array().unwrap().len(), 2);
    const WORKING: &str =
        "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingPrice=2&workingQuantity=1&workingTimeInForce=GTC";
    let one_waits = format!("{WORKING}&pendingType=LIMIT_MAKER&pendingSide=SELL&pendingQuantity=1&pendingPrice=300");
    let placed = call("orderList.place.oto", &one_waits);
    assert_eq!((&placed["orderListId"], &placed["contingencyType"]), (&json!(5), &json!("OTO")), "{placed}");
    let two_wait = format!(
        "{WORKING}&pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=300\
         &pendingBelowType=STOP_LOSS&pendingBelowStopPrice=1"
    );
    let placed = call("orderList.place.otoco", &two_wait);
    assert_eq!(placed["orders"].as_array().unwrap().len(), 3, "{placed}");
    assert_eq!(placed["orderReports"][2]["status"], "PENDING_NEW", "{placed}");
    server.stop();
}
