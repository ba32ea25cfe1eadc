//! Pairs of orders that cancel each other, on a server with a database: after a restart every protocol shows the same.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const TWO: &str =
    "symbol=SPYUSD&side=SELL&quantity=10&aboveType=LIMIT_MAKER&abovePrice=30&belowType=STOP_LOSS&belowStopPrice=20";

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

#[test]
fn pairs_are_the_same_after_a_restart_on_a_database() {
    let folder = Folder::new("postgres-links");
    let database = crate::postgres::database();
    let keys = KeyFile::new(&folder);
    let launch = || keys.launch(&folder).in_database(database.url().secret());
    let server = launch().start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    keys.send(&http, "POST", "orderList/oco", &format!("{TWO}&listClientOrderId=both"));
    let order = |kind: &str, limit: &str, stop: Value| json!({"account": "1", "symbol": "SPY", "side": "buy", "kind": kind, "limit": limit, "stop": stop, "shares": "2"});
    let orders = json!([order("post_only", "5", Value::Null), order("limit", "60", json!("50"))]);
    http.make("/api/v1/order-lists", &json!({"orders": orders}));
    server.ask(
        r#"<transactions id="1"><oco><order sym="SPY" amount="-1" limit="40" post-only="true"/><order sym="SPY" amount="-1" limit="9" stop="10"/></oco></transactions>"#,
    );
    let linked = |http: &Http, order: u64| {
        fields(&http.read(&format!("/api/v1/orders/{order}?account=1")), ["linked_with", "status"])
    };
    let lists = |http: &Http| -> Vec<Value> {
        let all = keys.send(http, "GET", "allOrderList", "").body;
        let shown = ["orderListId", "listClientOrderId", "listOrderStatus"];
        all.as_array().unwrap().iter().map(|list| fields(list, shown)).collect()
    };
    let held = |http: &Http| fields(&http.read("/api/v1/accounts/1"), ["balance", "held"]);
    let check = |http: &Http, first: [&str; 2], status: &str| {
        let told: Vec<Value> = (1..=6).map(|order| linked(http, order)).collect();
        let expected = json!([[2, first[0]], [1, first[1]], [4, "open"], [3, "open"], [6, "open"], [5, "open"]]);
        assert_eq!(json!(told), expected);
        assert_eq!(
            lists(http),
            [json!([1, "both", status]), json!([3, "~3", "EXECUTING"]), json!([5, "~5", "EXECUTING"])]
        );
    };
    check(&http, ["open", "open"], "EXECUTING");
    assert_eq!(held(&http), json!(["880", "120"]));
    server.kill();
    let server = launch().start();
    let http = Http::new(server.http);
    check(&http, ["open", "open"], "EXECUTING");
    assert_eq!(held(&http), json!(["880", "120"]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="10" limit="30"/></transactions>"#);
    check(&http, ["executed", "canceled"], "ALL_DONE");
    server.stop();
    let server = launch().start();
    let http = Http::new(server.http);
    check(&http, ["executed", "canceled"], "ALL_DONE");
    assert_eq!(http.delete("/api/v1/orders/4?account=1").status, 200);
    assert_eq!(held(&http), json!(["1300", "0"]));
    server.stop();
    assert_eq!(database.sql("SELECT order_id, partner FROM pricetime.links"), ["5|6"]);
    database.store("auditor").verify().unwrap();
}
