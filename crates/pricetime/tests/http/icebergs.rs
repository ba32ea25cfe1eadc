//! Orders that show a part of their shares at a time, over REST, the WebSocket and the compatible interface: their own
//! accounts see everything, and others only the tip.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol></create>"#;

fn berg(shares: &str, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": "sell", "limit": "9", "shares": shares});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

const SHOWN: [&str; 4] = ["shares", "open", "display", "shown"];

#[test]
fn an_iceberg_is_told_whole_to_its_account_and_by_its_tip_to_the_others() {
    let folder = Folder::new("rest-icebergs");
    let launch = Launch::new(&folder.data());
    let mut server = launch.start();
    server.ask(MARKET);
    let mut http = Http::new(server.http);
    let mut socket = http.listen();
    let snapshot = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    assert_eq!(snapshot["asks"], json!([]));
    let asked = berg("77", json!({"display": "10", "client_order_id": "berg"}));
    let placed = http.make("/api/v1/orders", &asked);
    assert_eq!(fields(&placed, ["shares", "display"]), json!(["77", "10"]));
    let again = http.post("/api/v1/orders", &asked);
    assert_eq!((again.status, again.body), (200, placed));
    let taken = http.post("/api/v1/orders", &berg("77", json!({"display": "11", "client_order_id": "berg"})));
    assert_eq!(taken.body["code"], "client-order-id-taken");
    let plain = http.make("/api/v1/orders", &berg("5", json!({})));
    assert!(plain.get("display").is_none(), "one that shows all is told as ever: {plain}");
    let told = |http: &Http| {
        let one = http.read("/api/v1/orders/by-client-id/berg?account=1");
        let list = http.read("/api/v1/accounts/1/orders?status=all");
        let of_list = list["orders"].as_array().unwrap().iter().find(|order| order["order_id"] == 1).unwrap().clone();
        let snapshot =
            http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
        let of_stream =
            snapshot["orders"].as_array().unwrap().iter().find(|order| order["order_id"] == 1).unwrap().clone();
        [one, of_list, of_stream].map(|order| fields(&order, SHOWN))
    };
    let book = |http: &Http| {
        let public = ["/api/v1/symbols/SPY/book", "/api/v1/symbols/SPY/book/orders"].map(|path| http.read(path));
        let snapshot = http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
        for told in public.iter().chain([&snapshot]) {
            assert!(!told.to_string().contains("\"77\"") && !told.to_string().contains("display"), "{told}");
        }
        let queue: Value =
            public[1]["asks"].as_array().unwrap().iter().map(|order| fields(order, ["order_id", "open"])).collect();
        (public[0]["asks"][0].clone(), queue)
    };
    assert_eq!(told(&http), [(); 3].map(|()| json!(["77", "77", "10", "10"])));
    let (level, queue) = book(&http);
    assert_eq!(queue, json!([[1, "10"], [2, "5"]]));
    assert!(level.to_string().contains("\"15\""), "{level}");
    // The tip is bought, and a part of what is behind it; the next part goes to the end of the queue.
    let buy = json!({"account": "2", "symbol": "SPY", "side": "buy", "limit": "9", "shares": "12"});
    http.make("/api/v1/orders", &buy);
    for stops in [None, Some(false), Some(true)] {
        if let Some(stops) = stops {
            if stops {
                server.stop();
            } else {
                server.kill();
            }
            server = launch.start();
            http = Http::new(server.http);
        }
        assert_eq!(told(&http), [(); 3].map(|()| json!(["77", "67", "10", "10"])));
        let (level, queue) = book(&http);
        assert_eq!(queue, json!([[2, "3"], [1, "10"]]), "{stops:?}");
        assert!(level.to_string().contains("\"13\""), "{level}");
    }
    let canceled = http.send("DELETE", "/api/v1/orders/1?account=1", None, &[]).body;
    assert_eq!(fields(&canceled, ["open", "executed", "canceled", "shown"]), json!(["0", "10", "67", null]));
}

#[test]
fn a_display_that_cannot_be_is_refused_and_names_its_field() {
    let folder = Folder::new("rest-icebergs-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for more in [
        json!({"display": "0"}),
        json!({"display": "-1"}),
        json!({"display": 1}),
        json!({"display": "1", "kind": "immediate_or_cancel"}),
        json!({"display": "1", "kind": "fill_or_kill"}),
    ] {
        let refused = http.post("/api/v1/orders", &berg("10", more));
        assert_eq!(refused.body["code"], "malformed", "{}", refused.text);
    }
    for (display, code) in [("0.09", "display-out-of-range"), ("10.1", "display-out-of-range")] {
        let refused = http.post("/api/v1/orders", &berg("10", json!({"display": display})));
        assert_eq!((refused.status, refused.body["code"].as_str()), (422, Some(code)), "{}", refused.text);
    }
    server.ask("<create><rules sym=\"SPY\" lot=\"2\"/></create>");
    let refused = http.post("/api/v1/orders", &berg("10", json!({"display": "3"})));
    assert_eq!((refused.status, refused.body["code"].as_str()), (422, Some("off-lot")), "{}", refused.text);
    http.make("/api/v1/orders", &berg("10", json!({"display": "4", "kind": "post_only", "stop": "1"})));
}
