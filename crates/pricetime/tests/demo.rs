//! `pricetime demo`: a market that is alive at once, and gone afterwards.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::folder::Folder;
use common::http::Http;
use common::server::{Launch, PATIENCE};
use common::wait::wait_until;
use serde_json::json;

#[test]
fn a_demo_trades_by_itself_and_with_whoever_comes_and_leaves_nothing() {
    let folder = Folder::new("demo");
    let server = Launch::new(&folder.data()).with_traders().with("--rate 2000 --seed 7").start();
    assert!(server.banner.contains("account 1 is yours"), "{}", server.banner);
    let http = Http::new(server.http);
    let status = http.read("/api/v1/status");
    assert_eq!((&status["demo"], &status["symbols"], &status["status"]), (&json!(true), &json!(4), &json!("ready")));
    for symbol in ["ACME", "BOLT", "CRUX", "DUNE"] {
        let candles = http.read(&format!("/api/v1/symbols/{symbol}/candles?interval=1m&limit=500"));
        assert!(candles["candles"].as_array().unwrap().len() > 100, "{symbol} has a past");
        let book = http.read(&format!("/api/v1/symbols/{symbol}/book"));
        assert!(book["bids"].as_array().unwrap().len() > 2 && book["asks"].as_array().unwrap().len() > 2, "{book}");
    }
    let trades = || http.read("/api/v1/symbols/ACME")["trades_24h"].as_u64().unwrap();
    let before = trades();
    wait_until("they trade", PATIENCE, || trades() > before + 20);
    // A bid above all others is taken.
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
        // The last ones may be of the time after the start.
        prices[prices.len() - 500..].to_vec()
    };
    let (one, same, other) = (shown("demo-one", "5"), shown("demo-same", "5"), shown("demo-other", "6"));
    assert_ne!(one, other);
    assert!(one.iter().take(400).all(|trade| same.contains(trade)));
}
