//! `pricetime demo`: a market that trades at once, and is removed afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, PATIENCE};
use crate::common::wait::wait_until;
use rustix::process::Signal;
use serde_json::json;

#[test]
fn a_demo_trades_by_itself_and_with_whoever_comes_and_leaves_nothing() {
    let folder = Folder::new("demo");
    let server = Launch::new(&folder.data()).with_traders().with("--rate 2000 --seed 7").start();
    assert!(server.banner.contains("account 1 is yours"), "{}", server.banner);
    let http = Http::new(server.http);
    let status = http.read("/api/v1/status");
    assert_eq!((&status["demo"], &status["symbols"], &status["status"]), (&json!(true), &json!(4), &json!("ready")));
    // The demo's traders are not the sandbox's, and the server says so without an error.
    let sandbox = http.read("/api/v1/sandbox");
    assert_eq!((&sandbox["possible"], &sandbox["running"]), (&json!(false), &json!(false)));
    assert!(sandbox["why"].as_str().unwrap().contains("this is a demo"), "{sandbox}");
    for symbol in ["ACME", "BOLT", "CRUX", "DUNE"] {
        let candles = http.read(&format!("/api/v1/symbols/{symbol}/candles?interval=1m&limit=500"));
        assert!(candles["candles"].as_array().unwrap().len() > 100, "{symbol} has a past");
        let hours = http.read(&format!("/api/v1/symbols/{symbol}/candles?interval=1h&limit=500"));
        assert!(hours["candles"].as_array().unwrap().len() >= 72, "{symbol} has days of it");
        let book = http.read(&format!("/api/v1/symbols/{symbol}/book"));
        assert!(book["bids"].as_array().unwrap().len() > 10 && book["asks"].as_array().unwrap().len() > 10, "{book}");
    }
    let measured = || http.read("/api/v1/status/seconds")["seconds"].as_array().unwrap().last().cloned();
    wait_until("latency and syncs are real", PATIENCE, || {
        measured().is_some_and(|last| !last["latency_us"].is_null() && !last["sync_us"].is_null())
    });
    let trades = || http.read("/api/v1/symbols/ACME")["trades_24h"].as_u64().unwrap();
    let before = trades();
    wait_until("they trade", PATIENCE, || trades() > before + 20);
    for (account, kinds) in [(101, &["post_only"][..]), (201, &["immediate_or_cancel", "limit", "market"])] {
        let orders = http.read(&format!("/api/v1/accounts/{account}/orders?symbol=ACME&status=all&limit=500"));
        let placed: BTreeSet<&str> =
            orders["orders"].as_array().unwrap().iter().map(|order| order["kind"].as_str().unwrap()).collect();
        assert_eq!(placed, kinds.iter().copied().collect(), "{account}");
    }
    // The others place orders that wait for a price, show a part, are linked with another order, or have a deadline.
    let mut of_kinds = [0; 6];
    for account in [401, 402] {
        for status in ["open", "all"] {
            let orders = http.read(&format!("/api/v1/accounts/{account}/orders?status={status}&limit=500"));
            for order in orders["orders"].as_array().unwrap() {
                let there = |field: &str| usize::from(!order[field].is_null());
                let its = ["stop", "take_profit", "display", "linked_with", "until", "triggered_time"].map(there);
                of_kinds.iter_mut().zip(its).for_each(|(count, one)| *count += one);
            }
        }
    }
    assert!(of_kinds.iter().all(|count| *count > 0), "{of_kinds:?}");
    // A bid above all others is executed.
    let best: f64 = http.read("/api/v1/symbols/ACME")["best_ask"].as_str().unwrap().parse().unwrap();
    let order =
        json!({"account": "1", "symbol": "ACME", "side": "buy", "limit": format!("{:.2}", best + 1.0), "shares": "3"});
    let placed = http.make("/api/v1/orders", &order);
    wait_until("it is executed", PATIENCE, || {
        http.read(&format!("/api/v1/orders/{}?account=1", placed["order_id"]))["status"] == "executed"
    });
    let data: PathBuf = std::env::temp_dir().join(format!("pricetime-demo-{}", server.process.id()));
    assert!(data.exists());
    server.stop();
    assert!(!data.exists());
}

#[test]
fn a_demo_has_a_key_of_its_own_and_a_past_for_clients_of_the_compatible_interface() {
    let folder = Folder::new("demo-key");
    let server = Launch::new(&folder.data()).with_traders().with("--rate 100 --seed 3").start();
    let http = Http::new(server.http);
    let keys = KeyFile::of_a_demo(&server.banner);
    let account = keys.send(&http, "GET", "account", "").body;
    assert_eq!(account["balances"][0], json!({"asset": "USD", "free": "100000.00000000", "locked": "0.00000000"}));
    for (interval, millis) in [("1m", 60_000), ("5m", 300_000), ("1h", 3_600_000)] {
        let native = http.read(&format!("/api/v1/symbols/DUNE/candles?interval={interval}&limit=1000"));
        let all: Vec<(u64, String)> = native["candles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|candle| (candle["start"].as_u64().unwrap() / 1000, candle["trades"].to_string()))
            .collect();
        let klines = |query: &str| -> Vec<(u64, String)> {
            let shown = http.read(&format!("/binance/api/v3/klines?symbol=DUNEUSD&interval={interval}&{query}"));
            let shown = shown.as_array().unwrap().iter();
            shown.map(|kline| (kline[0].as_u64().unwrap(), kline[8].to_string())).collect()
        };
        // The last candles still change.
        let done = &all[..all.len() - 2];
        assert!(done.len() >= 4, "{interval}");
        for from in [0, 1, done.len() / 2] {
            let (start, few) = (done[from].0, 3.min(done.len() - from));
            assert_eq!(klines(&format!("startTime={start}&limit={few}")), done[from..from + few], "{interval}");
            let end = done[from + few - 1].0;
            assert_eq!(klines(&format!("startTime={start}&endTime={end}")), done[from..from + few], "{interval}");
            assert_eq!(klines(&format!("endTime={end}&limit={few}")), done[from..from + few], "{interval}");
            let many = klines(&format!("startTime={}", start - millis + 1));
            assert_eq!(many[..few], done[from..from + few], "{interval}");
            // A page has 500 candles unless more are requested.
            assert!(many.len() >= (done.len() - from).min(500), "{interval}");
        }
        // Three days have more minutes than fit into a page.
        if all.len() < 1000 {
            assert_eq!(klines("startTime=0&limit=2"), done[..2], "from the beginning of all time");
        }
        assert_eq!(klines("startTime=0&endTime=1"), []);
    }
    let day = http.read("/binance/api/v3/ticker/24hr?symbol=DUNEUSD");
    let native = http.read("/api/v1/symbols/DUNE");
    let number = |text: &serde_json::Value| text.as_str().unwrap().parse::<f64>().unwrap();
    assert_eq!(number(&day["openPrice"]), number(&native["open_24h"]));
    assert_eq!(http.read("/binance/api/v3/ticker/price").as_array().unwrap().len(), 4);
    let some = http.read("/binance/api/v3/ticker/price?symbols=%5B%22DUNEUSD%22,%22ACMEUSD%22%5D");
    assert_eq!((&some[0]["symbol"], &some[1]["symbol"]), (&json!("DUNEUSD"), &json!("ACMEUSD")));
    server.stop();
}

#[test]
fn the_same_seed_gives_the_same_past() {
    let shown = |name: &str, seed: &str| {
        let folder = Folder::new(name);
        let server = Launch::new(&folder.data()).with_traders().with(&format!("--rate 1 --seed {seed}")).start();
        let http = Http::new(server.http);
        let trades = http.read("/api/v1/symbols/BOLT/trades?limit=1000");
        let prices: Vec<String> = trades["trades"]
            .as_array()
            .unwrap()
            .iter()
            .map(|trade| format!("{} {}", trade["price"], trade["shares"]))
            .collect();
        server.stop();
        // The last prices may be from after the start.
        prices[prices.len() - 500..].to_vec()
    };
    let (one, same, other) = (shown("demo-one", "5"), shown("demo-same", "5"), shown("demo-other", "6"));
    assert_ne!(one, other);
    assert!(one.iter().take(400).all(|trade| same.contains(trade)));
}

#[test]
fn a_demo_that_is_stopped_while_it_makes_its_past_leaves_nothing() {
    let folder = Folder::new("demo-stopped");
    let mut demo = Launch::new(&folder.data()).with_traders().with("--rate 100000").spawn();
    let data = std::env::temp_dir().join(format!("pricetime-demo-{}", demo.id()));
    wait_until("it makes its market", PATIENCE, || data.join("journal-00000000000000000001.log").exists());
    demo.signal(Signal::INT);
    let ended = demo.wait_for_end(PATIENCE);
    assert!(ended.status.success(), "{ended:?}");
    assert!(!data.exists());
}
