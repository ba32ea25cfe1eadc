//! The `clientOrderId` of orders to which their clients gave no name: each order is found by its own, and by no other.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";

#[test]
fn an_order_without_a_name_is_called_by_its_number() {
    let folder = Folder::new("binance-made-names");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let send = |method: &str, path: &str, query: &str| keys.send(&http, method, path, query);
    let placed = send("POST", "order", ORDER).body;
    let name = placed["clientOrderId"].as_str().unwrap().to_owned();
    assert_eq!((name.as_str(), &placed["orderId"]), ("~1", &json!(1)));
    let by_name = |name: &str| format!("symbol=SPYUSD&origClientOrderId={name}");
    let shown = send("GET", "order", &by_name(&name)).body;
    assert_eq!((&shown["orderId"], &shown["clientOrderId"]), (&json!(1), &json!(name)));
    assert_eq!(send("GET", "order", &by_name("%7E1")).body, shown);
    assert_eq!(send("GET", "openOrders", "").body, json!([shown]));
    // No order can be given such a name.
    let taken = send("POST", "order", &format!("{ORDER}&newClientOrderId={name}"));
    assert_eq!(taken.body["code"], -1100, "{taken:?}");
    let native =
        json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "1", "shares": "1", "client_order_id": name});
    assert_eq!(http.post("/api/v1/orders", &native).code(), (400, "malformed"));
    // An order with a name of its own is not found by another one, nor is an order of another account.
    let own = send("POST", "order", &format!("{ORDER}&newClientOrderId=mine")).body;
    assert_eq!((&own["orderId"], &own["clientOrderId"]), (&json!(2), &json!("mine")));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="99"/></transactions>"#);
    for nobodys in ["~2", "~3", "~4", "~", "~01", "~mine"] {
        assert_eq!(send("GET", "order", &by_name(nobodys)).body["code"], -2013, "{nobodys}");
        assert_eq!(send("DELETE", "order", &by_name(nobodys)).body["code"], -2011, "{nobodys}");
    }
    // The name remains when the order is done, and when the server starts again.
    let canceled = send("DELETE", "order", &by_name(&name)).body;
    assert_eq!((&canceled["orderId"], &canceled["origClientOrderId"]), (&json!(1), &json!(name)));
    assert_eq!(send("DELETE", "order", &by_name("mine")).status, 200);
    assert_eq!(send("GET", "order", &by_name("~2")).body["code"], -2013, "done, and still called otherwise");
    server.stop();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    let later = keys.send(&http, "GET", "order", &by_name(&name)).body;
    assert_eq!((&later["orderId"], &later["status"]), (&json!(1), &json!("CANCELED")), "{later}");
    let names: Vec<Value> = keys
        .send(&http, "GET", "allOrders", "symbol=SPYUSD")
        .body
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["clientOrderId"].clone())
        .collect();
    assert_eq!(names, ["~1", "mine"]);
    server.stop();
}

#[test]
fn reports_call_an_order_as_answers_do() {
    let folder = Folder::new("binance-reported-names");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let mut report = || loop {
        let event = socket.next();
        if event["e"] == "executionReport" {
            return event;
        }
    };
    // An order that came over XML has such a name, too.
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="-1" limit="99"/></transactions>"#);
    assert_eq!(report()["c"], "~1");
    let placed = keys.send(&http, "POST", "order", &format!("{ORDER}&newOrderRespType=ACK")).body;
    assert_eq!((&placed["clientOrderId"], &report()["c"]), (&json!("~2"), &json!("~2")));
    assert_eq!(keys.send(&http, "DELETE", "order", "symbol=SPYUSD&orderId=2").status, 200);
    let canceled = report();
    assert_eq!((&canceled["x"], &canceled["c"], &canceled["C"]), (&json!("CANCELED"), &json!("~2"), &json!("~2")));
    server.stop();
}
