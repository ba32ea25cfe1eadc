//! Candles of every interval and tickers of every window, for a market that was traded in for months on a clock that
//! the test sets. They are compared with sums over its trades, also after a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::http::Http;
use binance::Keys;
use market::timekeeper::{Clock, system_time};
use model::workload::Random;
use serde_json::{Value, json};
use terms::Time;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A trade. Times are in milliseconds.
struct Traded {
    id: u64,
    time: u64,
    cents: u64,
    shares: u64,
}

fn start(folder: &Folder, now: &Arc<AtomicU64>) -> (Here, Http) {
    let shown = now.clone();
    let clock = Clock::steady(move || Time(shown.load(Ordering::SeqCst)));
    let here = Here::start(&folder.data(), None, clock, Keys::default());
    let http = here.http();
    (here, http)
}

/// Trades one lot with itself, which is allowed and sets the last price.
fn trade(http: &Http, now: &AtomicU64, cents: u64, shares: u64) -> Traded {
    for side in ["sell", "buy"] {
        let limit = format!("{}.{:02}", cents / 100, cents % 100);
        let order =
            json!({"account": "1", "symbol": "SPY", "side": side, "limit": limit, "shares": shares.to_string()});
        http.make("/api/v1/orders", &order);
    }
    let last = http.read("/binance/api/v3/trades?symbol=SPYUSD&limit=1")[0].clone();
    let number = |name: &str| last[name].as_u64().unwrap();
    let traded = Traded { id: number("id"), time: number("time"), cents, shares };
    assert_eq!(traded.time, now.load(Ordering::SeqCst) / 1000);
    traded
}

fn days_of_month(year: u64, month: usize) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
}

/// The first and the last day of the month that contains a day, in days since 1970.
fn month_of(day: u64) -> (u64, u64) {
    let (mut start, mut year, mut month) = (0, 1970, 0);
    loop {
        let end = start + days_of_month(year, month);
        if day < end {
            return (start, end);
        }
        (start, month) = (end, month + 1);
        if month == 12 {
            (year, month) = (year + 1, 0);
        }
    }
}

fn bounds_of(interval: &str, time: u64) -> (u64, u64) {
    let of = |length: u64| (time / length * length, (time / length + 1) * length);
    match interval {
        "1s" => of(1000),
        "1w" => {
            // The week begins on this Monday.
            let first = 4 * DAY;
            let start = (time - first) / (7 * DAY) * 7 * DAY + first;
            (start, start + 7 * DAY)
        }
        "1M" => {
            let (start, end) = month_of(time / DAY);
            (start * DAY, end * DAY)
        }
        _ => {
            let (count, unit) = interval.split_at(interval.len() - 1);
            of(count.parse::<u64>().unwrap()
                * [("m", MINUTE), ("h", HOUR), ("d", DAY)].iter().find(|its| its.0 == unit).unwrap().1)
        }
    }
}

fn price(cents: u64) -> String {
    format!("{}.{:02}000000", cents / 100, cents % 100)
}

fn money(cents: u64) -> String {
    price(cents)
}

/// All candles, summed up from the trades, on a clock that is `ahead` of UTC.
fn candles(trades: &[Traded], interval: &str, ahead: i64) -> Vec<Value> {
    let mut candles: Vec<Value> = Vec::new();
    let bounds = |trade: &Traded| {
        let (start, end) = bounds_of(interval, trade.time.saturating_add_signed(ahead));
        (start.saturating_add_signed(-ahead), end.saturating_add_signed(-ahead))
    };
    for some in trades.chunk_by(|one, next| bounds(one) == bounds(next)) {
        let (start, end) = bounds(&some[0]);
        let shares: u64 = some.iter().map(|trade| trade.shares).sum();
        candles.push(json!([
            start,
            price(some[0].cents),
            price(some.iter().map(|trade| trade.cents).max().unwrap()),
            price(some.iter().map(|trade| trade.cents).min().unwrap()),
            price(some.last().unwrap().cents),
            format!("{shares}.00000000"),
            end - 1,
            money(some.iter().map(|trade| trade.shares * trade.cents).sum()),
            some.len(),
            "0.00000000",
            "0.00000000",
            "0",
        ]));
    }
    candles
}

const INTERVALS: [&str; 16] =
    ["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"];

fn check_klines(http: &Http, trades: &[Traded]) {
    for (zone, ahead) in [("", 0), ("&timeZone=5:45", 345), ("&timeZone=-8", -480), ("&timeZone=%2B02:30", 150)] {
        check_klines_of(http, trades, zone, ahead * MINUTE.cast_signed());
    }
}

fn check_klines_of(http: &Http, trades: &[Traded], zone: &str, ahead: i64) {
    for interval in INTERVALS {
        let all = candles(trades, interval, ahead);
        let ask = |more: &str| {
            let path = format!("/binance/api/v3/klines?symbol=SPYUSD&interval={interval}{more}{zone}");
            http.read(&path).as_array().unwrap().clone()
        };
        assert_eq!(ask("&limit=1000"), all, "{interval}");
        assert_eq!(ask("&limit=3"), all[all.len().saturating_sub(3)..], "{interval}");
        // The server does not search months of seconds for one answer.
        match interval {
            "1s" => assert_eq!(ask("&limit=10&startTime=0"), all[..10]),
            _ => assert_eq!(ask("&limit=1000&startTime=0"), all, "{interval}"),
        }
        let middle = all.len() / 2;
        let start = all[middle][0].as_u64().unwrap();
        let some = &all[middle..(middle + 4).min(all.len())];
        assert_eq!(ask(&format!("&limit=4&startTime={start}")), some, "{interval}");
        assert_eq!(ask(&format!("&limit=4&startTime={}", start - 1)), some, "{interval}");
        let limit = if interval == "1s" { 9 } else { 1000 };
        let rest = &all[middle + 1..];
        let first = &rest[..rest.len().min(limit)];
        assert_eq!(ask(&format!("&limit={limit}&startTime={}", start + 1)), first, "{interval}");
        assert_eq!(ask(&format!("&limit=1000&endTime={start}")), all[..=middle], "{interval}");
        assert_eq!(ask(&format!("&limit=1000&endTime={}", start - 1)), all[..middle], "{interval}");
        assert_eq!(ask(&format!("&startTime={start}&endTime={start}")), all[middle..=middle], "{interval}");
        assert_eq!(ask(&format!("&startTime={}", u64::MAX)), [] as [Value; 0], "{interval}");
        let same = http.read(&format!("/binance/api/v3/uiKlines?symbol=SPYUSD&interval={interval}&limit=1000{zone}"));
        assert_eq!(same, json!(all), "{interval}");
    }
}

fn check_windows(http: &Http, trades: &[Traded]) {
    let last = trades.last().unwrap();
    let check = |ticker: &Value, length: u64, slack: u64| {
        let (open, close) = (ticker["openTime"].as_u64().unwrap(), ticker["closeTime"].as_u64().unwrap());
        assert!((length..length + slack).contains(&(close - open)), "{ticker}");
        let inside: Vec<&Traded> = trades.iter().filter(|trade| trade.time >= open).collect();
        let volume: u64 = inside.iter().map(|trade| trade.shares).sum();
        assert_eq!(ticker["count"], inside.len(), "{ticker}");
        assert_eq!(ticker["volume"], format!("{volume}.00000000"), "{ticker}");
        assert_eq!(ticker["quoteVolume"], money(inside.iter().map(|trade| trade.shares * trade.cents).sum()));
        assert_eq!(ticker["openPrice"], price(inside[0].cents), "{ticker}");
        assert_eq!(ticker["highPrice"], price(inside.iter().map(|trade| trade.cents).max().unwrap()), "{ticker}");
        assert_eq!(ticker["lowPrice"], price(inside.iter().map(|trade| trade.cents).min().unwrap()), "{ticker}");
        assert_eq!((&ticker["lastPrice"], &ticker["lastId"]), (&json!(price(last.cents)), &json!(last.id)), "{ticker}");
        // Memory has some of the last trades, and a hundred after a restart.
        if inside.len() <= 100 {
            assert_eq!(ticker["firstId"], inside[0].id, "{ticker}");
        }
    };
    for (window, length, slack) in [
        ("1m", MINUTE, MINUTE),
        ("59m", 59 * MINUTE, MINUTE),
        ("1h", HOUR, MINUTE),
        ("23h", 23 * HOUR, MINUTE),
        ("1d", DAY, MINUTE),
        ("2d", 2 * DAY, HOUR),
        ("7d", 7 * DAY, HOUR),
    ] {
        let path = format!("/binance/api/v3/ticker?windowSize={window}&symbol");
        let full = http.read(&format!("{path}=SPYUSD"));
        check(&full, length, slack + 1);
        assert!(full["weightedAvgPrice"].is_string(), "{full}");
        let list = http.read(&format!("{path}s=%5B%22SPYUSD%22,%22SPYUSD%22%5D&type=MINI"));
        let list = list.as_array().unwrap();
        assert_eq!(list.len(), 2);
        list.iter().for_each(|ticker| check(ticker, length, slack + 1));
        assert!(list[0].get("weightedAvgPrice").is_none(), "{}", list[0]);
    }
    let usual = http.read("/binance/api/v3/ticker?symbol=SPYUSD");
    check(&usual, DAY, MINUTE + 1);
    check(&http.read("/binance/api/v3/ticker/24hr?symbol=SPYUSD&type=MINI"), DAY, 1);
    for zone in ["", "&timeZone=5:45", "&timeZone=-12:00", "&timeZone=14"] {
        let ticker = http.read(&format!("/binance/api/v3/ticker/tradingDay?symbol=SPYUSD{zone}"));
        assert_eq!(ticker["closeTime"].as_u64().unwrap() - ticker["openTime"].as_u64().unwrap(), DAY - 1);
        if ticker["count"] != 0 {
            check(&ticker, DAY - 1, 1);
        }
    }
    let quiet = http.read("/binance/api/v3/ticker?symbol=QQQUSD&windowSize=7d");
    assert_eq!(
        (&quiet["count"], &quiet["firstId"], &quiet["lastPrice"]),
        (&json!(0), &json!(-1), &json!("0.00000000"))
    );
    let late: Vec<&Traded> = trades.iter().filter(|trade| trade.time + 4 * MINUTE > system_time().0 / 1000).collect();
    assert!(!late.is_empty());
    assert_eq!(http.read("/binance/api/v3/avgPrice?symbol=SPYUSD")["mins"], 5);
}

#[test]
fn candles_and_windows_are_counted_from_the_trades() {
    let folder = Folder::new("binance-past");
    // Each time is the start of a millisecond: the turns of one trade are some microseconds apart, and lie in the same
    // one.
    let end = system_time().0 / 1000 * 1000;
    // The trades go over one or two ends of months.
    let now = Arc::new(AtomicU64::new(end - 70 * DAY * 1000));
    let (here, http) = start(&folder, &now);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000000"}));
    for symbol in ["SPY", "QQQ"] {
        let shares = json!({"account": "1", "shares": "1000000"});
        assert!(http.post(&format!("/api/v1/symbols/{symbol}/shares"), &shares).status < 300);
    }
    let mut random = Random::new(7);
    let mut trades = Vec::new();
    let mut pause = |longest: u64| {
        let longest = usize::try_from(longest).unwrap();
        now.fetch_add(1000 * (1 + random.below(longest) as u64), Ordering::SeqCst)
    };
    for at in 0..400u64 {
        // The trades are days apart at first, and then less and less.
        pause(match at {
            0..70 => DAY,
            70..120 => 4 * HOUR,
            120..250 => 40 * MINUTE,
            _ => 2 * MINUTE,
        });
        trades.push(trade(&http, &now, 900 + at * 37 % 200, 1 + at % 7));
    }
    let left = end - 3 * MINUTE * 1000;
    assert!(now.load(Ordering::SeqCst) < left, "the last trades are of now");
    for (before, at) in [(30 * HOUR, 1), (20 * HOUR, 2), (50 * MINUTE, 3), (30 * MINUTE, 4), (2 * MINUTE, 5), (0, 6)] {
        let time = (end - before * 1000).max(now.load(Ordering::SeqCst));
        now.store(time, Ordering::SeqCst);
        trades.push(trade(&http, &now, 1000 + at, at));
    }
    check_klines(&http, &trades);
    check_windows(&http, &trades);
    here.stop();
    let (here, http) = start(&folder, &now);
    check_klines(&http, &trades);
    check_windows(&http, &trades);
    here.stop();
}
