//! Post-only orders whose price is moved, over REST and after a restart.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="0"/>
    <symbol sym="SPY"><account id="2">100</account></symbol></create>"#;

fn order(limit: &str, more: Value) -> Value {
    let mut order = json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": limit, "shares": "5"});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

#[test]
fn an_order_that_moved_is_told_with_the_price_that_it_got_also_after_a_restart() {
    let folder = Folder::new("moving-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-10" limit="20"/></transactions>"#);
    let http = Http::new(server.http);
    let asked = order("30", json!({"kind": "post_only_move", "client_order_id": "mine"}));
    let placed = http.make("/api/v1/orders", &asked);
    assert_eq!(json!([placed["limit"], placed["kind"]]), json!(["19.99999999", "post_only"]));
    let again = http.post("/api/v1/orders", &asked);
    assert_eq!((again.status, &again.body), (200, &placed), "the same body again");
    let other = http.post("/api/v1/orders", &order("25", json!({"kind": "post_only_move", "client_order_id": "mine"})));
    assert_eq!((other.status, other.body), (200, placed.clone()), "wherever it moved to");
    let plain = http.post("/api/v1/orders", &order("30", json!({"kind": "post_only", "client_order_id": "mine"})));
    assert_eq!((plain.status, &plain.body["code"]), (409, &json!("client-order-id-taken")));
    let stop = http.post("/api/v1/orders", &order("30", json!({"kind": "post_only_move", "stop": "40"})));
    assert_eq!((stop.status, &stop.body["field"]), (400, &json!("kind")), "{}", stop.body);
    // The same for an order that replaces another one.
    let path = format!("/api/v1/orders/{}", placed["order_id"]);
    let json_type = [("content-type", "application/json")];
    let replaced =
        http.send("PUT", &path, Some(&order("50", json!({"kind": "post_only_move"})).to_string()), &json_type);
    assert_eq!(replaced.status, 201, "{}", replaced.body);
    assert_eq!(replaced.body["placed"]["limit"], "19.99999999", "{}", replaced.body);
    let stays = http.make("/api/v1/orders", &order("19", json!({"kind": "post_only_move"})));
    assert_eq!(stays["limit"], "19");
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    let page = http.read("/api/v1/accounts/1/orders?status=open");
    let shown: Value =
        page["orders"].as_array().unwrap().iter().map(|order| json!([order["kind"], order["limit"]])).collect();
    assert_eq!(shown, json!([["post_only", "19"], ["post_only", "19.99999999"]]));
    let again = http.post("/api/v1/orders", &asked);
    assert_eq!((again.status, again.body), (200, placed), "the id stands for the first one still");
    server.stop();
}
