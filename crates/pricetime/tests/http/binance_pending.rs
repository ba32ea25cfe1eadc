//! Order lists over the compatible interface in which orders wait until another one is executed.

use crate::common::folder::Folder;
use crate::common::http::Socket;
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="2">100</account></symbol></create>"#;
const WORKING: &str =
    "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingPrice=25&workingQuantity=10&workingTimeInForce=GTC";
const TWO: &str = "pendingSide=SELL&pendingQuantity=10&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=30\
    &pendingBelowType=STOP_LOSS&pendingBelowStopPrice=20";

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

const LIST: [&str; 5] = ["orderListId", "contingencyType", "listStatusType", "listOrderStatus", "listClientOrderId"];
const ORDER: [&str; 4] = ["orderId", "orderListId", "type", "status"];

/// The next `count` events of the stream that are about orders or lists.
fn events(socket: &mut Socket, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    while found.len() < count {
        let event = socket.next();
        if event["e"] == "executionReport" {
            found.push(json!([event["i"], event["g"], event["x"], event["X"]]));
        }
        if event["e"] == "listStatus" {
            let orders = event["O"].as_array().unwrap().len();
            found.push(json!(["list", event["g"], event["c"], event["L"], orders]));
        }
    }
    found
}

#[test]
fn two_orders_wait_for_a_third_and_are_a_list_of_their_own_then() {
    let folder = Folder::new("binance-otoco");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let words = format!("{WORKING}&{TWO}&listClientOrderId=all");
    let placed = keys.send(&http, "POST", "orderList/otoco", &words).body;
    assert_eq!(fields(&placed, LIST), json!([1, "OTO", "EXEC_STARTED", "EXECUTING", "all"]), "{placed}");
    let reports = |of: &Value| -> Vec<Value> {
        of["orderReports"].as_array().unwrap().iter().map(|report| fields(report, ORDER)).collect()
    };
    let waiting = [
        json!([1, 1, "LIMIT", "NEW"]),
        json!([2, 1, "LIMIT_MAKER", "PENDING_NEW"]),
        json!([3, 1, "STOP_LOSS", "PENDING_NEW"]),
    ];
    assert_eq!(reports(&placed), waiting);
    let told = events(&mut socket, 4);
    let pending = |order: u64| json!([order, 1, "NEW", "PENDING_NEW"]);
    assert_eq!(told, [json!([1, 1, "NEW", "NEW"]), pending(2), pending(3), json!(["list", 1, "OTO", "EXECUTING", 3])]);
    let one = |words: &str| keys.send(&http, "GET", "orderList", words).body;
    let list = one("orderListId=1");
    assert_eq!((fields(&list, LIST), list["orders"].as_array().unwrap().len()), (fields(&placed, LIST), 3));
    assert_eq!(one("origClientOrderId=all"), list);
    assert_eq!(keys.send(&http, "GET", "openOrderList", "").body, json!([list]));
    let order = |id: u64| keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={id}")).body;
    assert_eq!(fields(&order(2), ["status", "isWorking", "workingTime"]), json!(["PENDING_NEW", false, -1]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="25"/></transactions>"#);
    let told = events(&mut socket, 5);
    let expected = [
        json!([1, -1, "TRADE", "FILLED"]),
        json!([2, 2, "NEW", "NEW"]),
        json!(["list", 1, "OTO", "ALL_DONE", 3]),
        json!([3, 2, "NEW", "NEW"]),
        json!(["list", 2, "OCO", "EXECUTING", 2]),
    ];
    assert_eq!(told, expected);
    assert_eq!(fields(&order(2), ["status", "orderListId", "isWorking"]), json!(["NEW", 2, true]));
    // No order waits any more, so the list is done. It is still found, and the two orders are a list of their own.
    let mut done = list;
    (done["listStatusType"], done["listOrderStatus"]) = (json!("ALL_DONE"), json!("ALL_DONE"));
    assert_eq!(one("orderListId=1"), done);
    assert_eq!(one("origClientOrderId=all"), done);
    let own = one("orderListId=2");
    assert_eq!(fields(&own, LIST), json!([2, "OCO", "EXEC_STARTED", "EXECUTING", "~2"]));
    assert_eq!(keys.send(&http, "GET", "openOrderList", "").body, json!([own]));
    let all = |words: &str| keys.send(&http, "GET", "allOrderList", words).body;
    assert_eq!(all(""), json!([done, own]));
    assert_eq!([all("fromId=2"), all("fromId=3"), all("limit=1")], [json!([own]), json!([]), json!([own])]);
    let refused = keys.send(&http, "DELETE", "orderList", "symbol=SPYUSD&orderListId=1").body;
    assert_eq!(refused["code"], -2011, "{refused}");
    let canceled = keys.send(&http, "DELETE", "orderList", "symbol=SPYUSD&orderListId=2").body;
    assert_eq!(canceled["listOrderStatus"], "ALL_DONE", "{canceled}");
    server.stop();
}

#[test]
fn a_list_is_canceled_with_its_working_order_and_refused_in_its_own_words() {
    let folder = Folder::new("binance-oto");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let one = "pendingType=LIMIT&pendingSide=SELL&pendingPrice=30&pendingQuantity=10&pendingTimeInForce=GTC";
    let placed = keys.send(&http, "POST", "orderList/oto", &format!("{WORKING}&{one}")).body;
    assert_eq!(fields(&placed, LIST), json!([1, "OTO", "EXEC_STARTED", "EXECUTING", "~1"]), "{placed}");
    events(&mut socket, 3);
    let canceled = keys.send(&http, "DELETE", "orderList", "symbol=SPYUSD&orderListId=1").body;
    assert_eq!(fields(&canceled, LIST), json!([1, "OTO", "ALL_DONE", "ALL_DONE", "~1"]), "{canceled}");
    let told = events(&mut socket, 3);
    assert_eq!((&told[0][0], &told[0][3]), (&json!(1), &json!("CANCELED")));
    assert_eq!(told[1], json!([2, 1, "EXPIRED", "EXPIRED"]));
    assert_eq!(told[2], json!(["list", 1, "OTO", "ALL_DONE", 2]));
    let kept = keys.send(&http, "GET", "orderList", "orderListId=1").body;
    assert_eq!((fields(&kept, LIST), kept["orders"].as_array().unwrap().len()), (fields(&canceled, LIST), 2));
    assert_eq!(keys.send(&http, "GET", "allOrderList", "").body, json!([kept]));
    for (call, words, code, says) in [
        ("oto", WORKING.to_owned(), -1102, "'pendingSide'"),
        ("oto", format!("{WORKING}&{one}&pendingTrailingDelta=5"), -1106, "'pendingTrailingDelta'"),
        ("oto", format!("{}&{one}", WORKING.replace("workingPrice=25&", "")), -1102, "'workingPrice'"),
        ("otoco", format!("{WORKING}&{}", TWO.replace("Price=30", "Price=10")), -2010, "relationship of the prices"),
        (
            "oto",
            format!(
                "{}&{one}",
                WORKING
                    .replace("workingType=LIMIT&", "workingType=MARKET&")
                    .replace("workingPrice=25&", "")
                    .replace("&workingTimeInForce=GTC", "")
            ),
            -2010,
            "limit or post-only",
        ),
    ] {
        let refused = keys.send(&http, "POST", &format!("orderList/{call}"), &words).body;
        assert_eq!(refused["code"], code, "{words}: {refused}");
        assert!(refused["msg"].as_str().unwrap().contains(says), "{words}: {refused}");
    }
    server.stop();
}

/// A stream once walked through all open orders when it began, to know their lists.
#[test]
fn lists_that_are_older_than_a_stream_are_told_when_they_are_done() {
    let folder = Folder::new("binance-older-than-stream");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let send = |method: &str, path: &str, words: &str| {
        let answer = keys.send(&http, method, path, words);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    };
    let list = |socket: &mut Socket| loop {
        let told = events(socket, 1).remove(0);
        if told[0] == "list" && told[3] == "ALL_DONE" {
            return told;
        }
    };
    // Orders 1 to 3 and 4 to 6, whose working orders are executed and canceled.
    for named in ["executed", "canceled"] {
        send("POST", "orderList/otoco", &format!("{WORKING}&{TWO}&listClientOrderId={named}"));
    }
    let mut socket = keys.follow(&http);
    send("DELETE", "orderList", "symbol=SPYUSD&orderListId=4");
    assert_eq!(list(&mut socket), json!(["list", 4, "OTO", "ALL_DONE", 3]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="25"/></transactions>"#);
    assert_eq!(list(&mut socket), json!(["list", 1, "OTO", "ALL_DONE", 3]));
    // The two orders that waited are a pair now. One is canceled when a part of the other is executed.
    let mut socket = keys.follow(&http);
    for (shares, is_last) in [(4, false), (6, true)] {
        server.ask(&format!(r#"<transactions id="2"><order sym="SPY" amount="{shares}" limit="30"/></transactions>"#));
        let told = if is_last { list(&mut socket) } else { events(&mut socket, 2).remove(1) };
        let expected = json!(["list", 2, "OCO", "ALL_DONE", 2]);
        assert_eq!(told, if is_last { expected } else { json!([2, 2, "TRADE", "PARTIALLY_FILLED"]) });
    }
    // One order waits, and is canceled alone.
    let one = "pendingType=LIMIT&pendingSide=SELL&pendingPrice=30&pendingQuantity=10&pendingTimeInForce=GTC";
    send("POST", "orderList/oto", &format!("{WORKING}&{one}"));
    let mut socket = keys.follow(&http);
    let pending = keys.send(&http, "GET", "openOrders", "").body[1]["orderId"].to_string();
    send("DELETE", "order", &format!("symbol=SPYUSD&orderId={pending}"));
    assert_eq!(list(&mut socket)[4], 2);
    server.stop();
}
