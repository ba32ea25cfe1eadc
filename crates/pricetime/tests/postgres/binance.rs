//! The compatible interface where the past is rows of a database.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use serde_json::json;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;
const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";

#[test]
fn with_a_database_the_history_comes_from_its_rows() {
    let folder = Folder::new("binance-postgres");
    let database = crate::postgres::database();
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).in_database(database.url().secret()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let placed = keys.send(&http, "POST", "order", ORDER).body;
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-0.25" limit="9"/></transactions>"#);
    let query = format!("symbol=SPYUSD&orderId={}", placed["orderId"]);
    assert_eq!(keys.send(&http, "GET", "order", &query).body["status"], "PARTIALLY_FILLED");
    assert_eq!(http.read("/binance/api/v3/trades?symbol=SPYUSD").as_array().unwrap().len(), 1);
    let own = keys.send(&http, "GET", "myTrades", "symbol=SPYUSD").body;
    assert_eq!(
        (&own[0]["id"], &own[0]["orderId"], &own[0]["qty"]),
        (&json!(1), &placed["orderId"], &json!("0.25000000"))
    );
    let open = keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body;
    assert_eq!((&open[0]["orderId"], &open[0]["status"]), (&placed["orderId"], &json!("PARTIALLY_FILLED")));
    assert_eq!(http.read("/binance/api/v3/aggTrades?symbol=SPYUSD&fromId=1")[0]["a"], 1);
    let canceled = keys.send(&http, "DELETE", "order", &query).body;
    assert_eq!(
        (&canceled["executedQty"], &canceled["cummulativeQuoteQty"]),
        (&json!("0.25000000"), &json!("2.50000000"))
    );
    let told = keys.send(&http, "GET", "order", &query).body;
    assert_eq!((&told["status"], &told["cummulativeQuoteQty"]), (&json!("CANCELED"), &json!("2.50000000")));
    let again = keys.send(&http, "DELETE", "order", &query);
    assert_eq!((again.status, &again.body["code"]), (400, &json!(-2011)), "{again:?}");
    server.stop();
    let server = keys.launch(&folder).in_database(database.url().secret()).start();
    let http = Http::new(server.http);
    assert_eq!(keys.send(&http, "GET", "order", &query).body, told);
    assert_eq!(keys.send(&http, "GET", "allOrders", "symbol=SPYUSD").body, json!([told]));
    assert_eq!(keys.send(&http, "GET", "myTrades", "symbol=SPYUSD").body, own);
    server.stop();
}
