//! Turnover: the same dollars can be traded any number of times, so its sum is not bounded as balances are.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::common::talk::order;

/// The largest sum of traded money that is told.
const MOST: &str = "17014118346046923173168.7303715884105727";

/// Candles and the figures of a day were once summed with the arithmetic of balances, whose bound an account exceeds by
/// trading with itself: the feed panicked, and so did every later start, with or without a feed.
#[test]
fn one_account_that_trades_all_its_dollars_again_and_again_stops_neither_the_server_nor_its_next_start() {
    let folder = Folder::new("turnover");
    let most = "100000000000000000000";
    let settings = format!("--max-balance {most} --max-issue {most}");
    let server = Launch::new(&folder.data()).with(&settings).start();
    let mut client = server.client();
    let market = format!(
        "<create><account id=\"1\" balance=\"{most}\"/><symbol sym=\"S\"><account id=\"1\">1000000000</account></symbol></create>"
    );
    assert!(!client.ask(&market).contains("<error"));
    // Nearly all money that can exist is traded 400 times: twice the largest sum that is told.
    let [sell, buy] = ["-1000000000", "1000000000"].map(|shares| order("S", shares, "92233720368"));
    let told = client.ask(&format!("<transactions id=\"1\">{}</transactions>", format!("{sell}{buy}").repeat(400)));
    assert!(!told.contains("<error"), "{told:.300}");
    tells_the_most(&server);
    server.kill();
    let server = Launch::new(&folder.data()).with(&settings).start();
    tells_the_most(&server);
    let told = server.ask(&format!("<transactions id=\"1\">{sell}{buy}</transactions>"));
    assert!(!told.contains("<error"), "{told}");
    tells_the_most(&server);
    server.stop();
    let without = Launch::new(&folder.data()).with(&format!("{settings} --feed=false")).start();
    assert!(!without.ask(&format!("<transactions id=\"1\">{sell}{buy}</transactions>")).contains("<error"));
    without.stop();
}

fn tells_the_most(server: &Server) {
    let http = Http::new(server.http);
    let day = http.read("/api/v1/symbols/S");
    assert_eq!(day["money_24h"], MOST, "{day}");
    let volume = day["trades_24h"].as_u64().unwrap() * 1_000_000_000;
    assert_eq!(day["volume_24h"], volume.to_string(), "shares are exact");
    for interval in ["1m", "1d"] {
        let candles = http.read(&format!("/api/v1/symbols/S/candles?interval={interval}"));
        // A minute may have ended between the trades.
        let most = candles["candles"].as_array().unwrap().iter().filter(|candle| candle["money"] == MOST).count();
        assert!(most >= 1, "{candles}");
    }
    for interval in ["1m", "1w", "1M"] {
        let klines = http.read(&format!("/binance/api/v3/klines?symbol=SUSD&interval={interval}"));
        assert!(klines.as_array().unwrap().iter().any(|kline| kline[7] == MOST), "{klines}");
    }
    for window in
        ["24hr?symbol=SUSD", "?symbol=SUSD&windowSize=7d", "?symbol=SUSD&windowSize=1d", "tradingDay?symbol=SUSD"]
    {
        let path = match window.strip_prefix('?') {
            Some(query) => format!("/binance/api/v3/ticker?{query}"),
            None => format!("/binance/api/v3/ticker/{window}"),
        };
        assert_eq!(http.read(&path)["quoteVolume"], MOST, "{path}");
    }
}
