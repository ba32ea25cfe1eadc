//! The trades that memory does not keep come from the history.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;

/// Traded symbols: enough that memory keeps fewer than fifty trades of each.
const SYMBOLS: usize = 8_600;
const AT_ONCE: usize = 2_000;
/// The trades of the first symbol.
const TRADES: usize = 60;

fn names(from: usize) -> impl Iterator<Item = String> {
    (from..SYMBOLS.min(from + AT_ONCE)).map(|number| format!("S{number}"))
}

/// A snapshot has fifty trades, and an order's answer all its executions, however few trades memory keeps.
#[test]
fn trades_that_memory_does_not_keep_are_told_from_the_history() {
    let folder = Folder::new("remembered");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    server.ask(r#"<create><account id="1" balance="100000000"/><account id="2" balance="0"/></create>"#);
    let ask = |elements: String, account: &str| {
        let told = server.ask(&format!("<transactions id=\"{account}\">{elements}</transactions>"));
        assert!(!told.contains("<error"), "{:.2000}", told);
    };
    for from in (0..SYMBOLS).step_by(AT_ONCE) {
        let symbols: String = names(from)
            .map(|name| format!("<symbol sym=\"{name}\"><account id=\"2\">1000</account></symbol>"))
            .collect();
        server.ask(&format!("<create>{symbols}</create>"));
    }
    let sell = |name: &str, limit: usize| format!("<order sym=\"{name}\" amount=\"-1\" limit=\"{limit}\"/>");
    let buy = |name: &str| format!("<order sym=\"{name}\" amount=\"1\" limit=\"1000\"/>");
    ask((1..=TRADES).map(|limit| sell("S0", limit)).collect(), "2");
    ask((1..=TRADES).map(|_| buy("S0")).collect(), "1");
    for from in (0..SYMBOLS).step_by(AT_ONCE) {
        ask(names(from).map(|name| sell(&name, 61)).collect(), "2");
        ask(names(from).map(|name| buy(&name)).collect(), "1");
    }
    let listed = http.read("/api/v1/symbols/S0/trades?limit=50")["trades"].clone();
    let mut listed: Vec<Value> = listed.as_array().unwrap().clone();
    listed.reverse();
    let told = http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "trades", "symbol": "S0"}));
    assert_eq!((told["trades"].as_array().map(Vec::len), &told["trades"]), (Some(50), &Value::Array(listed)));
    ask((1..=TRADES).map(|limit| sell("S0", limit)).collect(), "2");
    let order = "symbol=S0USD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=60&price=100&newOrderRespType=FULL";
    let answered = keys.send(&http, "POST", "order", order);
    assert_eq!((answered.status, answered.body["fills"].as_array().map(Vec::len)), (200, Some(TRADES)), "{answered:?}");
    server.stop();
}
