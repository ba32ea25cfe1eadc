//! Sums over more than a week of market time: what followers and the history add up stays exact, after a restart, too.
//! The journal is written beforehand, with times of the past.

use journal::{Disk, Journal, JournalPoint, Options};
use serde_json::Value;
use terms::{
    AccountId, Command, DOLLAR, FeeRate, Fees, Money, NewOrder, Place, Position, Price, Sequence, Shares, Side, Symbol,
    Tier, Time,
};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::micros;
use crate::common::server::{Launch, Server};
use crate::common::talk::order;

const MINUTE_US: u64 = 60_000_000;
const HOUR_US: u64 = 60 * MINUTE_US;
/// The days of trading.
const DAYS: u64 = 9;
/// Rates of the maker, who sells, and of the taker, in millionths.
const RATES: [i128; 2] = [333, 2_501];
const ISSUED: i128 = 1_000_000_000_000_000;
const DOLLARS: i128 = 1_000_000_000_000;

/// A trade: its time, its shares in 10^-8, and its price in 10^-8 dollars.
struct Trade {
    time: u64,
    shares: i128,
    price: i128,
}

impl Trade {
    /// Dollars in 10^-16.
    fn money(&self) -> i128 {
        self.shares * self.price
    }
}

/// A trade every five minutes until now, but none near the ends of the windows that end now, which go on meanwhile.
fn trades(now: u64) -> Vec<Trade> {
    let is_clear = |time: &u64| {
        let ago = now - time;
        [24 * HOUR_US, 7 * 24 * HOUR_US].iter().all(|end| ago.abs_diff(*end) > HOUR_US) && ago > HOUR_US
    };
    let times = (0..DAYS * 24 * 12).map(|at| now - DAYS * 24 * HOUR_US + at * 5 * MINUTE_US).filter(is_clear);
    let trade = |time: u64| {
        let draw = i128::from(time / MINUTE_US);
        Trade { time, shares: 1 + draw * 104_729 % 250_000_001, price: 950_000_003 + draw * 7_919 % 99_999_989 }
    };
    times.map(trade).collect()
}

fn account(number: &str) -> AccountId {
    AccountId::parse(number.as_bytes()).unwrap()
}

/// Writes a market whose accounts 1 and 2 trade, with fees that account 3 gets.
fn write(folder: &Folder, trades: &[Trade]) {
    let disk = Disk::open(&folder.data()).unwrap();
    let (mut journal, _) =
        Journal::recover(disk, Options::default(), JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap();
    let mut sequence = 0;
    let mut append = |time: u64, command: &Command| {
        let mut payload = Vec::new();
        journal::encode(command, &mut payload);
        sequence += 1;
        journal.append(Sequence(sequence), Time(time), 1, &payload).unwrap();
    };
    let (begun, symbol) = (trades[0].time, Symbol::parse(b"S").unwrap());
    for number in ["1", "2", "3"] {
        let balance = Money::from_units(DOLLAR * if number == "1" { DOLLARS } else { 0 });
        append(begun, &Command::CreateAccount { account: account(number), balance });
    }
    append(begun, &Command::CreateSymbol { symbol });
    append(begun, &Command::IssueShares { symbol, account: account("2"), shares: Position::from_units(ISSUED) });
    let [maker, taker] = RATES.map(|rate| FeeRate::from_millionths(u32::try_from(rate).unwrap()).unwrap());
    let fees = Some(Fees { maker, taker, account: account("3") });
    append(begun, &Command::ChangeFees { symbol, tier: Tier::FIRST, fees });
    for trade in trades {
        let limit = Price::from_units(i64::try_from(trade.price).unwrap()).unwrap();
        let shares = Shares::from_units(i64::try_from(trade.shares).unwrap()).unwrap();
        for (number, side) in [("2", Side::Sell), ("1", Side::Buy)] {
            let order = NewOrder::limit(symbol, side, limit, shares);
            append(trade.time, &Command::Place(Place::order(account(number), order)));
        }
    }
}

/// The text of an amount with this many decimals.
fn text(units: i128, decimals: usize) -> String {
    let whole = format!("{units:0>width$}", width = decimals + 1);
    let (whole, part) = whole.split_at(whole.len() - decimals);
    format!("{whole}.{part}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn units(value: &Value, decimals: usize) -> i128 {
    let told = value.as_str().unwrap_or_else(|| panic!("{value}"));
    let (whole, part) = told.split_once('.').unwrap_or((told, ""));
    format!("{whole}{part:0<decimals$}").parse().unwrap()
}

/// A share of an amount, in millionths, rounded up.
fn fee(amount: i128, rate: i128) -> i128 {
    (amount * rate + 999_999) / 1_000_000
}

fn sum(trades: &[Trade], of: impl Fn(&Trade) -> i128) -> i128 {
    trades.iter().map(of).sum()
}

/// Compares everything that the server tells with what was traded.
fn tells_all(server: &Server, all: &[Trade], now: u64) {
    let http = Http::new(server.http);
    let within = |days: u64| all.iter().position(|trade| trade.time > now - days * 24 * HOUR_US).unwrap();
    let (day, week) = (&all[within(1)..], &all[within(7)..]);
    assert!(day.len() > 240 && week.len() > 1_600 && all.len() > 2_400);
    let told = http.read("/api/v1/symbols/S");
    assert_eq!(told["trades_24h"], day.len(), "{told}");
    assert_eq!(told["volume_24h"], text(sum(day, |trade| trade.shares), 8), "{told}");
    assert_eq!(told["money_24h"], text(sum(day, Trade::money), 16), "{told}");
    assert_eq!(told["issued"], text(ISSUED, 8), "{told}");
    let told = http.read("/binance/api/v3/ticker?symbol=SUSD&windowSize=7d");
    assert_eq!(told["count"], week.len(), "{told}");
    assert_eq!(units(&told["volume"], 8), sum(week, |trade| trade.shares), "{told}");
    for interval in ["1h", "1d"] {
        let told = http.read(&format!("/api/v1/symbols/S/candles?interval={interval}&limit=1500"));
        let candles = told["candles"].as_array().unwrap();
        let add = |field: &str, decimals| candles.iter().map(|candle| units(&candle[field], decimals)).sum::<i128>();
        let count: u64 = candles.iter().map(|candle| candle["trades"].as_u64().unwrap()).sum();
        assert_eq!(count, all.len() as u64, "{interval}");
        assert_eq!(add("volume", 8), sum(all, |trade| trade.shares), "{interval}");
        assert_eq!(add("money", 16), sum(all, Trade::money), "{interval}");
    }
    let last = http.read("/api/v1/symbols/S/trades?limit=1");
    assert_eq!(last["trades"][0]["trade_id"], all.len(), "{last}");
    let page = http.read("/api/v1/accounts/1/orders?status=all&limit=1");
    assert_eq!(page["orders"][0]["order_id"], 2 * all.len(), "{page}");

    let (shares, money) = (sum(all, |trade| trade.shares), sum(all, Trade::money));
    let of_shares = sum(all, |trade| fee(trade.shares, RATES[1]));
    let of_money = sum(all, |trade| fee(trade.money(), RATES[0]));
    let has = |number: u32| {
        let told = http.read(&format!("/api/v1/accounts/{number}"));
        assert_eq!(told["open_orders"], 0, "{told}");
        [&told["balance"], &told["positions"][0]["shares"]].map(|value| value.as_str().unwrap().to_owned())
    };
    assert_eq!(has(1), [text(DOLLAR * DOLLARS - money, 16), text(shares - of_shares, 8)]);
    assert_eq!(has(2), [text(money - of_money, 16), text(ISSUED - shares, 8)]);
    assert_eq!(has(3), [text(of_money, 16), text(of_shares, 8)]);
}

#[test]
fn sums_over_more_than_a_week_are_exact_after_restarts_too() {
    let folder = Folder::new("week");
    let now = micros();
    let mut all = trades(now);
    std::fs::create_dir_all(folder.data()).unwrap();
    write(&folder, &all);
    let server = Launch::new(&folder.data()).start();
    tells_all(&server, &all, now);
    server.kill();
    let server = Launch::new(&folder.data()).start();
    tells_all(&server, &all, now);
    // One more, now, is added to all that.
    let told = server.ask(&format!("<transactions id=\"2\">{}</transactions>", order("S", "-0.00000001", "9.9")));
    assert!(told.contains("<opened"), "{told}");
    server.ask(&format!("<transactions id=\"1\">{}</transactions>", order("S", "0.00000001", "9.9")));
    all.push(Trade { time: now + 1, shares: 1, price: 990_000_000 });
    tells_all(&server, &all, now);
    server.stop();
    let server = Launch::new(&folder.data()).start();
    tells_all(&server, &all, now);
    server.stop();
}
