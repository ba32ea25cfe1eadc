//! A random market on a data folder and in a database, on one clock: questions about the past get the same answers,
//! page by page, from files and from SQL, also after a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::http::Http;
use crate::common::keys::{self, KeyFile};
use binance::{Key, Keys};
use market::timekeeper::Clock;
use model::workload::Random;
use serde_json::{Value, json};
use terms::{AccountId, Time};

const ACCOUNTS: u64 = 4;
const SYMBOLS: [&str; 2] = ["SPY", "QQQ"];
/// A Friday, in microseconds.
const BEGINNING: u64 = 1_700_000_000_000_000;

/// A key for account 1.
fn key() -> KeyFile {
    KeyFile { path: PathBuf::new(), key: "key".to_owned(), secret: "secret".to_owned() }
}

/// A server on a clock that the test sets.
fn start(data: &Path, store: Option<&str>, now: &Arc<AtomicU64>) -> Here {
    let now = now.clone();
    let clock = Clock::steady(move || Time(now.load(Ordering::SeqCst)));
    let (KeyFile { key, secret, .. }, mut keys) = (key(), Keys::default());
    keys.add(Key { key, secret, account: AccountId::parse(b"1").unwrap() });
    Here::start(data, store, clock, keys)
}

/// The answer of both servers. Panics unless it is the same.
fn same(both: &[Http; 2], path: &str) -> Value {
    let [files, rows] = both.each_ref().map(|http| {
        let answer = http.get(path);
        (answer.status, answer.body)
    });
    assert_eq!(files, rows, "{path}");
    rows.1
}

/// Compares all pages of a list. Returns the number of its entries.
fn same_pages(both: &[Http; 2], path: &str, list: &str) -> usize {
    let (mut cursor, mut rows) = (String::new(), 0);
    loop {
        let page = same(both, &format!("{path}{cursor}"));
        rows += page[list].as_array().unwrap_or_else(|| panic!("{path}: {page}")).len();
        match page["next"].as_u64() {
            Some(next) => cursor = format!("&before={next}"),
            None => return rows,
        }
    }
}

/// Compares all questions about the past, in small pages and in large ones.
fn compare(both: &[Http; 2]) {
    let (mut trades, mut executions, mut orders) = (0, 0, 0);
    for symbol in SYMBOLS {
        for limit in [7, 1000] {
            trades += same_pages(both, &format!("/api/v1/symbols/{symbol}/trades?limit={limit}"), "trades");
        }
        for interval in ["1s", "1m", "5m", "15m", "1h", "1d"] {
            for limit in [1, 5, 400] {
                let path = format!("/api/v1/symbols/{symbol}/candles?interval={interval}&limit={limit}");
                let late = same(both, &path);
                let late = late["candles"].as_array().unwrap();
                assert!(!late.is_empty(), "{path}");
                let start = late[0]["start"].as_u64().unwrap();
                same(both, &format!("{path}&before={start}"));
                same(both, &format!("{path}&before={}", start + 1));
            }
        }
    }
    for account in 1..=ACCOUNTS {
        for limit in [3, 1000] {
            for symbol in ["", "&symbol=SPY", "&symbol=QQQ"] {
                let of = format!("/api/v1/accounts/{account}/executions?limit={limit}{symbol}");
                executions += same_pages(both, &of, "executions");
                let of = format!("/api/v1/accounts/{account}/orders?status=all&limit={limit}{symbol}");
                orders += same_pages(both, &of, "orders");
                same_pages(both, &format!("/api/v1/accounts/{account}/orders?limit={limit}{symbol}"), "orders");
            }
        }
    }
    assert!(trades > 100 && executions > 100 && orders > 100, "{trades} {executions} {orders}");
    for order in 0..200 {
        same(both, &format!("/api/v1/orders/{order}?account={}", 1 + order % ACCOUNTS));
    }
    let ends = [0, 1, 5, 100_000, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    for before in ends {
        same(both, &format!("/api/v1/symbols/SPY/trades?before={before}"));
        same(both, &format!("/api/v1/accounts/1/executions?before={before}"));
        same(both, &format!("/api/v1/accounts/1/orders?status=all&before={before}"));
        same(both, &format!("/api/v1/symbols/SPY/candles?interval=1m&before={before}"));
        same(both, &format!("/api/v1/orders/{before}?account=1"));
    }
    same(both, "/api/v1/symbols/NONE/trades");
    same(both, "/api/v1/accounts/99/executions");
}

/// Compares the reports of accounts' orders, from several sequences on.
fn compare_reports(both: &[Http; 2]) {
    let last = both[0].read("/api/v1/accounts/1/orders?status=all&limit=1")["orders"][0]["sequence"].as_u64();
    let mut all = 0;
    for account in 1..=ACCOUNTS {
        for from in [0, 1, 40, 200, last.unwrap_or(1) - 1] {
            let [files, rows] = both.each_ref().map(|http| {
                let (mut socket, mut reports) = (http.listen(), Vec::new());
                let account = account.to_string();
                socket
                    .send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": account, "from": from}));
                socket.next_of("subscribed", "orders");
                loop {
                    let mut message = socket.next_of("reports", "orders");
                    reports.append(message["reports"].as_array_mut().unwrap());
                    if message["live"] == true {
                        return (reports, message["through"].clone());
                    }
                }
            });
            assert_eq!(files, rows, "of account {account} from {from}");
            all += rows.0.len();
        }
    }
    assert!(all > 300, "{all} reports");
}

const KLINES: [&str; 16] =
    ["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"];

/// Compares what Binance clients ask about the past: from a number or a time on, or up to a time.
fn compare_compatible(both: &[Http; 2], now: u64) {
    let now = now / 1000;
    let (beginning, mut klines, mut trades, mut own) = (BEGINNING / 1000, 0, 0, 0);
    let count = |answer: &Value| answer.as_array().unwrap_or_else(|| panic!("{answer}")).len();
    let times = [beginning, beginning + 61_000, (beginning + now) / 2, now - 1, now + 3_600_000];
    for pair in ["SPYUSD", "QQQUSD"] {
        for (interval, start) in KLINES.into_iter().flat_map(|one| times.map(|time| (one, time))) {
            for limit in [2, 500] {
                let path =
                    format!("/binance/api/v3/klines?symbol={pair}&interval={interval}&limit={limit}&startTime={start}");
                // The files do not search from an early time until now for candles as short as these.
                if interval != "1s" {
                    klines += count(&same(both, &path));
                }
                for end in [start, start + 1, start + 600_000, start + 90_000_000] {
                    let path = format!("{path}&endTime={end}");
                    klines += count(&same(both, &path));
                }
            }
            same(both, &format!("/binance/api/v3/klines?symbol={pair}&interval={interval}&limit=3&endTime={start}"));
        }
        for limit in [3, 1000] {
            let path = format!("symbol={pair}&limit={limit}");
            trades += count(&same(both, &format!("/binance/api/v3/trades?{path}")));
            for from in [0, 1, 2, 50, 1_000_000, u64::MAX] {
                trades += count(&same(both, &format!("/binance/api/v3/historicalTrades?{path}&fromId={from}")));
                for bounds in [String::new(), format!("&startTime={}", times[2]), format!("&endTime={}", times[2])] {
                    trades += count(&same(both, &format!("/binance/api/v3/aggTrades?{path}&fromId={from}{bounds}")));
                    own += count(&same_signed(both, "myTrades", &format!("{path}&fromId={from}{bounds}")));
                    own += count(&same_signed(both, "allOrders", &format!("{path}&orderId={from}{bounds}")));
                }
            }
            for time in times {
                for bounds in [
                    format!("startTime={time}"),
                    format!("endTime={time}"),
                    format!("startTime={time}&endTime={}", time + 90_000_000),
                ] {
                    trades += count(&same(both, &format!("/binance/api/v3/aggTrades?{path}&{bounds}")));
                    own += count(&same_signed(both, "myTrades", &format!("{path}&{bounds}")));
                    own += count(&same_signed(both, "allOrders", &format!("{path}&{bounds}")));
                }
            }
        }
    }
    for order in 0..60 {
        own += count(&same_signed(both, "myTrades", &format!("symbol=SPYUSD&orderId={order}")));
        same_signed(both, "order", &format!("symbol=SPYUSD&orderId={order}"));
    }
    assert!(klines > 100 && trades > 100 && own > 100, "{klines} {trades} {own}");
}

/// Does as `same`, for signed requests of account 1.
fn same_signed(both: &[Http; 2], path: &str, parameters: &str) -> Value {
    let [files, rows] = both.each_ref().map(|http| {
        let answer = key().send(http, "GET", path, parameters);
        (answer.status, answer.body)
    });
    assert_eq!(files, rows, "{path} {parameters}");
    rows.1
}

/// Does one random thing on both servers, and compares their answers.
fn act(both: &[Http; 2], random: &mut Random, now: &AtomicU64) {
    // Sometimes nobody trades for hours.
    let pause = if random.below(40) == 0 { 20_000_000_000 } else { 3_000_000 };
    now.fetch_add(random.below(pause) as u64, Ordering::SeqCst);
    let account = 1 + random.below(ACCOUNTS as usize) as u64;
    let (symbol, side) = (SYMBOLS[random.below(SYMBOLS.len())], ["buy", "sell"][random.below(2)]);
    let order = json!({
        "account": account.to_string(),
        "symbol": symbol,
        "side": side,
        "limit": format!("{}.{}", 99 + random.below(3), random.below(100)),
        "shares": format!("{}.5", 1 + random.below(9)),
    });
    let told = both.each_ref().map(|http| {
        let answer = http.post("/api/v1/orders", &order);
        (answer.status, answer.body)
    });
    assert_eq!(told[0], told[1], "{order}");
    // The order is read at once: a read is as new as the last reply.
    if let Some(id) = told[0].1["order_id"].as_u64() {
        same(both, &format!("/api/v1/orders/{id}?account={account}"));
        same(both, &format!("/api/v1/accounts/{account}/executions?limit=2"));
        if random.below(4) == 0 {
            let canceled = both.each_ref().map(|http| {
                let answer = http.delete(&format!("/api/v1/orders/{id}?account={account}"));
                (answer.status, answer.body)
            });
            assert_eq!(canceled[0], canceled[1]);
        }
    }
    // Draws of its own, so that the pauses above are the same with it and without it.
    let mut terms = Random::new(now.load(Ordering::SeqCst));
    if terms.below(3) == 0 {
        amend(both, &mut terms, order, told[0].1["order_id"].as_u64());
    }
    if random.below(60) == 0 {
        let canceled =
            both.each_ref().map(|http| http.delete(&format!("/api/v1/accounts/{account}/orders?symbol=SPY")).body);
        assert_eq!(canceled[0], canceled[1]);
    }
}

fn a_price(random: &mut Random) -> String {
    format!("{}.{}", 99 + random.below(3), random.below(100))
}

/// Gives an order other terms on both servers, and compares their answers: one that was just placed as `last`, or a new
/// one like it that waits for a price.
fn amend(both: &[Http; 2], random: &mut Random, mut order: Value, last: Option<u64>) {
    let waits = random.below(3) == 0;
    let id = if waits {
        order["stop"] = a_price(random).into();
        let told = both.each_ref().map(|http| http.post("/api/v1/orders", &order).body);
        assert_eq!(told[0], told[1], "{order}");
        told[0]["order_id"].as_u64()
    } else {
        last
    };
    let Some(id) = id else { return };
    let mut asked = json!({"account": order["account"]});
    for _ in 0..2 {
        match random.below(6) {
            0 | 4 if waits => asked["stop"] = a_price(random).into(),
            1 => asked["shares"] = format!("{}.5", 1 + random.below(12)).into(),
            2 => asked["display"] = "1".into(),
            3 => asked["until"] = (BEGINNING / 1_000_000 + 100_000_000).into(),
            4 => asked["tif"] = "IOC".into(),
            _ => asked["limit"] = a_price(random).into(),
        }
    }
    let told = both.each_ref().map(|http| {
        let (path, body) = (format!("/api/v1/orders/{id}"), asked.to_string());
        let answer = http.send("PATCH", &path, Some(&body), &[("content-type", "application/json")]);
        (answer.status, answer.body)
    });
    assert_eq!(told[0], told[1], "{asked}");
    same(both, &format!("/api/v1/orders/{id}?account={}", order["account"].as_str().unwrap()));
}

/// Compares symbols over all interfaces. Their day ends at the present time of this machine, which may move between the
/// questions; then they are asked again.
fn compare_day(both: &[Http; 2]) -> (u64, u64) {
    let asked = |http: &Http, path: &str| {
        let mut answer = http.read(path);
        let shapes = answer.as_array_mut().into_iter().flatten();
        shapes.for_each(|shape| {
            ["openTime", "closeTime"].iter().for_each(|time| drop(shape.as_object_mut().unwrap().remove(*time)))
        });
        answer
    };
    for path in ["/api/v1/symbols", "/binance/api/v3/ticker/24hr", "/binance/api/v3/ticker/price"] {
        loop {
            let [files, rows] = both.each_ref().map(|http| asked(http, path));
            if files == asked(&both[0], path) {
                assert_eq!(files, rows, "{path}");
                break;
            }
        }
    }
    for (channel, list) in [("trades", "trades"), ("candles", "candles")] {
        for interval in ["1m", "5m", "15m", "1h", "1d"] {
            let [files, rows] = both.each_ref().map(|http| {
                let mut request = json!({"op": "subscribe", "id": 1, "channel": channel, "symbol": "SPY"});
                if channel == "candles" {
                    request["interval"] = interval.into();
                }
                http.listen().subscribe(request)[list].as_array().unwrap().clone()
            });
            assert!(!rows.is_empty() && files.ends_with(&rows), "{channel} {interval}: {files:?} {rows:?}");
        }
    }
    let symbols = both[1].read("/api/v1/symbols");
    let sum =
        |field: &str| symbols["symbols"].as_array().unwrap().iter().filter_map(|symbol| symbol[field].as_u64()).sum();
    let all = SYMBOLS.map(|symbol| both[1].read(&format!("/api/v1/symbols/{symbol}/trades?limit=1000")));
    (sum("trades_24h"), all.iter().map(|page| page["trades"].as_array().unwrap().len() as u64).sum())
}

/// Gives all accounts money and shares of these symbols, on both servers.
fn fill(both: &[Http; 2], symbols: &[&str]) {
    for account in 1..=ACCOUNTS {
        for http in both {
            http.make("/api/v1/accounts", &json!({"account": account.to_string(), "balance": "1000000"}));
            for symbol in symbols {
                let shares = json!({"account": account.to_string(), "shares": "10000"});
                http.make(&format!("/api/v1/symbols/{symbol}/shares"), &shares);
            }
        }
    }
}

#[test]
fn the_past_is_the_same_from_files_and_from_rows() {
    let folder = Folder::new("postgres-history");
    let database = crate::postgres::database();
    let store = database.url().secret().to_owned();
    let now = Arc::new(AtomicU64::new(BEGINNING));
    let mut random = Random::new(5);
    let begin = || [start(&folder.data(), None, &now), start(&folder.path().join("none"), Some(&store), &now)];
    let mut servers = begin();
    let mut both = servers.each_ref().map(Here::http);
    fill(&both, &SYMBOLS);
    for round in 0..3 {
        (0..150).for_each(|_| act(&both, &mut random, &now));
        compare(&both);
        if round < 2 {
            // The last candles stay open over a restart, the numbers of trades continue, and orders keep their times.
            servers.into_iter().for_each(|here| drop(here.stop()));
            servers = begin();
            both = servers.each_ref().map(Here::http);
            compare(&both);
            compare_reports(&both);
            compare_compatible(&both, now.load(Ordering::SeqCst));
        }
    }
    compare_reports(&both);
    // Memory still has a part of the last round.
    compare_compatible(&both, now.load(Ordering::SeqCst));
    let last = both[1].read("/api/v1/accounts/1/executions?limit=1");
    let rows = database.sql("SELECT max(id) FROM pricetime.executions WHERE 0 IN (buyer, seller)");
    assert_eq!(rows, [last["executions"][0]["trade_id"].to_string()], "a trade has its execution's number");
    servers.into_iter().for_each(|here| drop(here.stop()));
}

#[test]
fn the_day_and_the_last_price_are_the_same_after_a_restart() {
    let folder = Folder::new("postgres-history-day");
    let database = crate::postgres::database();
    let store = database.url().secret().to_owned();
    // What follows takes 45 hours: the first trades are not of the last day, and the last ones are not in the future.
    let now = Arc::new(AtomicU64::new(keys::now() * 1000 - 46 * 3_600_000_000));
    let mut random = Random::new(9);
    let begin = || [start(&folder.data(), None, &now), start(&folder.path().join("none"), Some(&store), &now)];
    let mut servers = begin();
    let mut both = servers.each_ref().map(Here::http);
    fill(&both, &[SYMBOLS[0], SYMBOLS[1], "NEVER"]);
    let mut days = Vec::new();
    for _ in 0..4 {
        (0..100).for_each(|_| act(&both, &mut random, &now));
        servers.into_iter().for_each(|here| drop(here.stop()));
        servers = begin();
        both = servers.each_ref().map(Here::http);
        days.push(compare_day(&both));
        // What was restored continues with what happens next.
        (0..10).for_each(|_| act(&both, &mut random, &now));
        days.push(compare_day(&both));
    }
    let (day, all) = *days.last().unwrap();
    assert!(0 < day && day < all, "{days:?}");
    servers.into_iter().for_each(|here| drop(here.stop()));
}
