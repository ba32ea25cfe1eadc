//! Faults of a market's clock: it runs back, leaps, and is wrong for a moment. Both kinds of market run in this
//! process, on a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::here::Here;
use binance::Keys;
use market::timekeeper::Clock;
use serde_json::json;
use terms::Time;

/// A noon, in microseconds, as all times here.
const NOON: u64 = 1_763_690_000_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
const CENTURY: u64 = 100 * 365 * 24 * HOUR;

/// The time that the machine's clock shows, and the time that has really passed.
#[derive(Clone)]
struct Machine {
    shows: Arc<AtomicU64>,
    passed: Arc<AtomicU64>,
}

impl Machine {
    fn clock(&self) -> Clock {
        let Machine { shows, passed } = self.clone();
        let passed = move || Duration::from_micros(passed.load(Ordering::SeqCst));
        Clock::new(move || Time(shows.load(Ordering::SeqCst)), passed)
    }

    fn passes(&self, us: u64) {
        self.shows.fetch_add(us, Ordering::SeqCst);
        self.passed.fetch_add(us, Ordering::SeqCst);
    }

    fn is_set(&self, shows: u64) {
        self.shows.store(shows, Ordering::SeqCst);
    }
}

/// Makes a trade. Returns its time, in whole seconds: each turn is a microsecond later, while the clock stands still.
fn trade(here: &Here) -> u64 {
    for side in ["sell", "buy"] {
        let order = json!({"account": "1", "symbol": "SPY", "side": side, "limit": "1", "shares": "1"});
        here.http().make("/api/v1/orders", &order);
    }
    let told = here.http().read("/api/v1/symbols/SPY/trades?limit=1");
    let time = told["trades"][0]["time"].as_u64().unwrap_or_else(|| panic!("{told}"));
    time / SECOND * SECOND
}

/// The shares that were traded in the last 24 hours.
fn volume(here: &Here) -> f64 {
    here.http().read("/api/v1/symbols/SPY")["volume_24h"].as_str().unwrap().parse().unwrap()
}

fn metric(here: &Here, name: &str) -> f64 {
    let told = here.http().get("/metrics").text;
    let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {told}")).trim().parse().unwrap()
}

fn check(folder: &Folder, store: Option<&str>) {
    let machine = Machine { shows: Arc::new(AtomicU64::new(NOON)), passed: Arc::default() };
    let start = || Here::start(&folder.data(), store, machine.clock(), Keys::default());
    let here = start();
    here.http().make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    here.http().make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10"}));
    assert_eq!(trade(&here), NOON);
    // The clock is set back: market time stands still, also after a start.
    machine.passes(SECOND);
    machine.is_set(NOON - HOUR);
    assert_eq!(trade(&here), NOON);
    here.stop();
    let here = start();
    assert_eq!(trade(&here), NOON);
    machine.passes(SECOND);
    assert_eq!(trade(&here), NOON);
    // The clock is right again.
    machine.is_set(NOON + 2 * SECOND);
    assert_eq!(trade(&here), NOON + 2 * SECOND);
    assert_eq!(metric(&here, "pricetime_clock_leap_seconds"), 0.0);
    let traded = volume(&here);
    assert!(traded >= 1.0, "{traded} of the last 24 hours");
    let mut candles = here.http().listen_at("/binance/ws/spyusd@kline_1m");
    // For a moment the clock is a century ahead, and nobody should have to wait for a century. The trades still are of
    // these 24 hours, and their candle goes on. It once was told as closed, and then got further trades.
    machine.is_set(NOON + CENTURY);
    machine.passes(SECOND);
    assert_eq!(volume(&here), traded);
    for second in [3, 4] {
        assert_eq!(trade(&here), NOON + second * SECOND);
        let told = candles.next();
        assert_eq!(told["k"]["x"], false, "{told}");
        machine.passes(SECOND);
    }
    assert_eq!(metric(&here, "pricetime_clock_leap_seconds"), (CENTURY / SECOND - 2) as f64);
    here.stop();
    // Even a start at that moment does not take over the wrong time.
    let here = start();
    machine.passes(SECOND);
    assert_eq!(trade(&here), NOON + 5 * SECOND);
    machine.is_set(NOON + 6 * SECOND);
    assert_eq!(trade(&here), NOON + 6 * SECOND);
    assert_eq!(metric(&here, "pricetime_clock_leap_seconds"), 0.0);
    // By this machine's clock all of that is long ago.
    assert_eq!(metric(&here, "pricetime_clock_lead_seconds"), 0.0);
    // A machine that slept, or was moved while it stood still, has a right clock.
    machine.is_set(NOON + 30 * 24 * HOUR);
    assert_eq!(trade(&here), NOON + 6 * SECOND);
    machine.passes(HOUR / 6);
    assert_eq!(trade(&here), NOON + 30 * 24 * HOUR + HOUR / 6);
    here.stop();
}

/// A clock that was a hundred years ahead for a moment once kept market time there for good.
#[test]
fn a_journals_market_survives_its_clock() {
    check(&Folder::new("clock"), None);
}

#[test]
fn a_databases_market_survives_its_clock() {
    let database = crate::postgres::database();
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", database.port, database.name);
    check(&Folder::new("clock-sql"), Some(&url));
}

/// The metrics show how far an earlier wrong clock moved market time ahead.
#[test]
fn a_market_ahead_of_this_machines_clock_says_how_far() {
    let folder = Folder::new("clock-ahead");
    let machine = Machine { shows: Arc::default(), passed: Arc::default() };
    let ahead = 1_000_000;
    machine.is_set((crate::common::keys::now() / 1_000 + ahead) * SECOND);
    let here = Here::start(&folder.data(), None, machine.clock(), Keys::default());
    here.http().make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    let lead = metric(&here, "pricetime_clock_lead_seconds");
    assert!(lead > 0.0 && lead <= ahead as f64, "{lead}");
    here.stop();
}
