//! A market with more symbols, positions and orders than an answer can contain: lists have pages, or come in pieces,
//! and together these contain everything once and in order.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeSet;

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::KeyFile;
use crate::common::server::Server;
use serde_json::{Value, json};

/// The number of symbols: more than fit into two pages, two pieces or two snapshots.
const SYMBOLS: usize = 2_300;
const ORDERS: usize = 2_300;

struct Large {
    server: Server,
    http: Http,
    keys: KeyFile,
    _folder: Folder,
}

/// Account 1 has a share of each symbol, and many orders of the first symbol.
fn large() -> Large {
    let folder = Folder::new("large-market");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).start();
    server.ask("<create><account id=\"1\" balance=\"1000000000\"/><account id=\"2\" balance=\"1000000000\"/></create>");
    let symbols: String =
        (0..SYMBOLS).map(|n| format!("<symbol sym=\"S{n}\"><account id=\"1\">1</account></symbol>")).collect();
    server.ask(&format!("<create>{symbols}</create>"));
    let orders: String =
        (1..=ORDERS).map(|n| format!("<order sym=\"S{}\" amount=\"1\" limit=\"{n}\"/>", n % 2)).collect();
    assert!(!server.ask(&format!("<transactions id=\"1\">{orders}</transactions>")).contains("<error"));
    let http = Http::new(server.http);
    Large { server, http, keys, _folder: folder }
}

fn texts<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list:.2000}"));
    list.iter().map(|element| element[field].as_str().unwrap()).collect()
}

fn numbers(list: &Value, field: &str) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|element| element[field].as_u64().unwrap()).collect()
}

fn all_symbols(suffix: &str) -> Vec<String> {
    (0..SYMBOLS).map(|n| format!("S{n}{suffix}")).collect()
}

/// All pages of a list. Panics unless each page but the last is full.
fn pages(http: &Http, path: &str, cursor: &str, list: &str, full: usize) -> Vec<Value> {
    let (mut all, mut next) = (Vec::new(), String::new());
    loop {
        let page = http.read(&format!("{path}{next}"));
        let elements = page[list].as_array().unwrap();
        all.extend(elements.iter().cloned());
        let joint = if path.contains('?') { '&' } else { '?' };
        next = match &page["next"] {
            Value::Null => return all,
            Value::String(text) => format!("{joint}{cursor}={text}"),
            number => format!("{joint}{cursor}={number}"),
        };
        assert_eq!(elements.len(), full, "{path}");
    }
}

fn list(answer: Answer) -> Value {
    assert_eq!(answer.status, 200, "{:.2000}", answer.text);
    answer.body
}

#[test]
fn lists_have_pages_or_come_in_pieces() {
    let Large { http, keys, server, _folder } = large();
    check_symbols(&http);
    check_balances(&http, &keys);
    check_orders(&http, &keys);
    server.stop();
}

fn check_symbols(http: &Http) {
    for (path, full) in [("/api/v1/symbols", 1000), ("/api/v1/symbols?limit=150", 150)] {
        let all = Value::Array(pages(http, path, "after", "symbols", full));
        assert_eq!(texts(&all, "symbol"), all_symbols(""));
    }
    let refused = http.get("/api/v1/symbols?after=NONE");
    assert_eq!((refused.code(), &refused.body["field"]), ((400, "malformed"), &json!("after")));
    assert_eq!(http.get("/api/v1/symbols?limit=1001").code(), (400, "malformed"));
    let binance = |path: &str| list(http.get(&format!("/binance/api/v3/{path}")));
    let info = binance("exchangeInfo");
    assert_eq!(texts(&info["symbols"], "symbol"), all_symbols("USD"));
    assert_eq!(info["timezone"], "UTC");
    let some: Vec<String> = (0..200).map(|n| format!("S{}USD", 7 * n)).collect();
    let asked = serde_json::to_string(&some).unwrap().replace('"', "%22").replace(['[', ']'], "");
    for ticker in ["24hr", "price", "bookTicker"] {
        let path = format!("ticker/{ticker}");
        assert_eq!(texts(&binance(&path), "symbol"), all_symbols("USD"), "{ticker}");
        assert_eq!(texts(&binance(&format!("{path}?symbols=%5B{asked}%5D")), "symbol"), some, "{ticker}");
        assert_eq!(binance(&format!("{path}?symbol=S5USD"))["symbol"], "S5USD");
    }
    assert_eq!(binance("ticker/price?symbols=%5B%5D"), json!([]));
    let mut socket = http.listen();
    let told = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    assert_eq!(
        (texts(&told["symbols"], "symbol"), &told["next"]),
        (all_symbols("")[..500].iter().map(String::as_str).collect(), &json!("S499"))
    );
    // The other symbols are told in turn, though nothing happens to them.
    let mut missing: BTreeSet<String> = all_symbols("").into_iter().collect();
    while !missing.is_empty() {
        let told = socket.next_of("update", "symbols");
        for name in texts(&told["symbols"], "symbol") {
            missing.remove(name);
        }
    }
    http.make("/api/v1/symbols/S2299/shares", &json!({"account": "2", "shares": "5"}));
    let told = socket.next_of("update", "symbols");
    assert_eq!((texts(&told["symbols"], "symbol"), &told["symbols"][0]["issued"]), (vec!["S2299"], &json!("6")));
}

fn check_balances(http: &Http, keys: &KeyFile) {
    for (path, full) in [("/api/v1/accounts/1", 1000), ("/api/v1/accounts/1?limit=99", 99)] {
        let all = Value::Array(pages(http, path, "after", "positions", full));
        assert_eq!(texts(&all, "symbol"), all_symbols(""), "{path}");
    }
    let told = list(keys.send(http, "GET", "account", ""));
    let mut expected = vec!["USD".to_owned()];
    expected.extend(all_symbols(""));
    assert_eq!(texts(&told["balances"], "asset"), expected);
    assert_eq!((&told["uid"], &told["balances"][2300]["free"]), (&json!(1), &json!("1.00000000")));
    let mut socket = http.listen();
    let told = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    assert_eq!(
        (texts(&told["account"]["positions"], "symbol").len(), &told["account"]["next"]),
        (1000, &json!("S999"))
    );
    let newest: Vec<u64> = (1..=ORDERS as u64).rev().collect();
    assert_eq!(numbers(&told["orders"], "order_id"), newest);
}

fn check_orders(http: &Http, keys: &KeyFile) {
    let ids = |step: usize, from: u64| -> Vec<u64> { (from..=ORDERS as u64).step_by(step).collect() };
    let newest_first = |mut ids: Vec<u64>| {
        ids.reverse();
        ids
    };
    let open =
        |path: &str, full: usize| numbers(&Value::Array(pages(http, path, "before", "orders", full)), "order_id");
    assert_eq!(open("/api/v1/accounts/1/orders?limit=1000", 1000), newest_first(ids(1, 1)));
    assert_eq!(open("/api/v1/accounts/1/orders?symbol=S1&limit=100", 100), newest_first(ids(2, 1)));
    let binance = |parameters: &str| numbers(&list(keys.send(http, "GET", "openOrders", parameters)), "orderId");
    assert_eq!(binance(""), ids(1, 1));
    assert_eq!(binance("symbol=S0USD"), ids(2, 2));
    // A page continues after an order that is no longer open.
    assert_eq!(http.delete("/api/v1/orders/1200?account=1").status, 200);
    let page = http.read("/api/v1/accounts/1/orders?before=1200&limit=3");
    assert_eq!((numbers(&page["orders"], "order_id"), &page["next"]), (vec![1199, 1198, 1197], &json!(1197)));
    let canceled = list(keys.send(http, "DELETE", "openOrders", "symbol=S1USD"));
    assert_eq!(numbers(&canceled, "orderId"), newest_first(ids(2, 1)));
    assert!(texts(&canceled, "status").iter().all(|status| *status == "CANCELED"));
    let canceled = list(http.delete("/api/v1/accounts/1/orders"));
    let left: Vec<u64> = newest_first(ids(2, 2)).into_iter().filter(|id| *id != 1200).collect();
    assert_eq!(numbers(&canceled["canceled"], "order_id"), left);
    assert_eq!(list(http.delete("/api/v1/accounts/1/orders")), json!({"canceled": []}));
    assert_eq!(binance(""), Vec::<u64>::new());
}
