//! The compatible interface of a server with a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use binance::Keys;
use market::timekeeper::{Clock, system_time};
use serde_json::json;
use terms::Time;

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

/// After a restart memory has a day or two: a stream of longer candles once showed only those.
#[test]
fn candles_of_many_days_are_whole_after_a_restart() {
    const HOUR_MICROS: u64 = 3_600_000_000;
    let folder = Folder::new("binance-postgres-days");
    let database = crate::postgres::database();
    let now = Arc::new(AtomicU64::new(system_time().0 - 70 * 24 * HOUR_MICROS));
    let start = || {
        let shown = now.clone();
        let clock = Clock::steady(move || Time(shown.load(Ordering::SeqCst)));
        Here::start(&folder.data(), Some(database.url().secret()), clock, Keys::default())
    };
    let trade = |http: &Http, limit: u64| {
        for side in ["sell", "buy"] {
            let order =
                json!({"account": "1", "symbol": "SPY", "side": side, "limit": limit.to_string(), "shares": "1"});
            http.make("/api/v1/orders", &order);
        }
    };
    let here = start();
    let http = here.http();
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "100000"}));
    assert!(http.post("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "9"})).status < 300);
    for limit in 10..24 {
        trade(&http, limit);
        now.fetch_add(5 * 24 * HOUR_MICROS, Ordering::SeqCst);
    }
    here.stop();
    now.store(system_time().0, Ordering::SeqCst);
    let here = start();
    let http = here.http();
    let names = ["1d", "3d", "1w", "1M"].map(|interval| format!("spyusd@kline_{interval}"));
    let mut socket = http.listen_at(&format!("/binance/stream?streams={}", names.join("/")));
    // The answer comes after the subscription has begun.
    socket.send(&json!({"method": "LIST_SUBSCRIPTIONS", "id": 0}));
    assert_eq!(socket.next()["id"], 0);
    // Before and after the envelope is changed.
    for set in [None, Some(false), Some(true)] {
        if let Some(combined) = set {
            socket.send(&json!({"method": "SET_PROPERTY", "params": ["combined", combined], "id": 1}));
            assert_eq!(socket.next(), json!({"result": null, "id": 1}));
        }
        trade(&http, 30);
        let mut seen: Vec<String> = Vec::new();
        while seen.len() < names.len() {
            let told = socket.next();
            let kline = if set == Some(false) { &told["k"] } else { &told["data"]["k"] };
            if kline["x"] == true {
                continue;
            }
            let interval = kline["i"].as_str().unwrap().to_owned();
            let asked = http.read(&format!("/binance/api/v3/klines?symbol=SPYUSD&interval={interval}&limit=1"));
            let same = [("t", 0), ("o", 1), ("h", 2), ("l", 3), ("c", 4), ("v", 5), ("T", 6), ("n", 8)];
            assert!(same.iter().all(|(name, at)| kline[name] == asked[0][at]), "{kline} {asked}");
            seen.push(interval);
        }
    }
    here.stop();
}
