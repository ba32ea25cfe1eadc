//! Attacks by clients that ask for candles of long ago. The journal is written beforehand, with times of the past.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use journal::{Disk, Durability, Journal, JournalPoint, Options};
use serde_json::Value;
use terms::{
    AccountId, Command, DOLLAR, Money, NewOrder, Place, Position, Price, Sequence, Shares, Side, Symbol, Time,
};

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::http::Http;

const MINUTE_US: u64 = 60_000_000;
const DAY_US: u64 = 24 * 60 * MINUTE_US;
const HALF_A_YEAR_US: u64 = 182 * DAY_US;

/// Writes a market of two accounts that trade at each of these times.
fn write(data: &Path, times: impl Iterator<Item = u64>) {
    std::fs::create_dir_all(data).unwrap();
    let disk = Disk::open(data).unwrap();
    let options = Options { durability: Durability::Written, ..Options::default() };
    let (mut journal, _) = Journal::recover(disk, options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap();
    let (mut sequence, mut payload) = (0, Vec::new());
    let mut append = |time: u64, command: &Command| {
        payload.clear();
        journal::encode(command, &mut payload);
        sequence += 1;
        journal.append(Sequence(sequence), Time(time), 1, &payload).unwrap();
    };
    let (mut times, symbol) = (times.peekable(), Symbol::parse(b"S").unwrap());
    let (begun, accounts) = (*times.peek().unwrap(), [b"1", b"2"].map(|id| AccountId::parse(id).unwrap()));
    let many = DOLLAR * 1_000_000_000;
    for account in accounts {
        append(begun, &Command::CreateAccount { account, balance: Money::from_units(many) });
    }
    append(begun, &Command::CreateSymbol { symbol });
    append(begun, &Command::IssueShares { symbol, account: accounts[0], shares: Position::from_units(1 << 60) });
    let shares = Shares::from_units(100_000_000).unwrap();
    for time in times {
        let price = 100_000_000 + i64::try_from(time / MINUTE_US % 9_973).unwrap();
        for (account, side) in accounts.into_iter().zip([Side::Sell, Side::Buy]) {
            let order = NewOrder::limit(symbol, side, Price::from_units(price).unwrap(), shares);
            append(time, &Command::Place(Place::order(account, order)));
        }
    }
}

/// A regression: candles of seconds began with the newest trade, and counted each newer one against their 5,000. A page
/// from a time on read 100,000 in one question, and told nothing of before the last 5,000.
#[test]
fn old_candles_of_seconds_with_eight_askers_hold_nobody_up() {
    const ASKERS: usize = 8;
    const SECOND_US: u64 = 1_000_000;
    const CALM: u64 = 7_200;
    const IN_A_SECOND: u64 = 200;
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap();
    let first = (now - 3 * DAY_US) / DAY_US * DAY_US;
    // A trade in each of some seconds, and later a minute with very many.
    let busy = first + 180 * MINUTE_US;
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let scene = Scene::set("old candles of seconds with eight askers", limits, |launch| {
        let calm = (0..CALM).map(|second| first + second * SECOND_US);
        let minute = (0..60 * IN_A_SECOND).map(|trade| busy + trade * SECOND_US / IN_A_SECOND);
        write(launch.data(), calm.chain(minute));
        launch
    });
    let attack = scene.attack();
    let (http, rounds) = (attack.server().http, size(10, 200));
    let seconds = |seconds: std::ops::Range<u64>, of: u64| -> Vec<u64> {
        seconds.map(|second| of + second * SECOND_US).collect()
    };
    let ask = || {
        let http = Http::new(http);
        let before = |time: u64, limit: usize| -> Vec<u64> {
            let told = http.read(&format!("/api/v1/symbols/S/candles?interval=1s&before={time}&limit={limit}"));
            told["candles"].as_array().unwrap().iter().map(|candle| candle["start"].as_u64().unwrap()).collect()
        };
        let from = |time: u64, limit: usize| -> Vec<(u64, u64)> {
            let (path, time) = ("/binance/api/v3/klines?symbol=SUSD&interval=1s", time / 1_000);
            let told = http.read(&format!("{path}&startTime={time}&limit={limit}"));
            let number = |candle: &Value, at: usize| candle[at].as_u64().unwrap();
            told.as_array().unwrap().iter().map(|candle| (number(candle, 0) * 1_000, number(candle, 8))).collect()
        };
        for _ in 0..rounds {
            assert_eq!(before(first + 1_000 * SECOND_US, 500), seconds(500..1_000, first));
            assert_eq!(before(busy + 30 * SECOND_US, 10), seconds(20..30, busy));
            assert_eq!(before(busy, 10), seconds(CALM - 10..CALM, first));
            assert_eq!(
                from(first + 100 * SECOND_US, 500),
                seconds(100..600, first).iter().map(|at| (*at, 1)).collect::<Vec<_>>()
            );
            let calm = seconds(CALM - 100..CALM, first).into_iter().map(|at| (at, 1));
            let both = calm.chain(seconds(0..10, busy).into_iter().map(|at| (at, IN_A_SECOND)));
            assert_eq!(from(first + (CALM - 100) * SECOND_US, 110), both.collect::<Vec<_>>());
        }
    };
    std::thread::scope(|scope| (0..ASKERS).for_each(|_| drop(scope.spawn(ask))));
    attack.end(&format!("{} pages of seconds told", ASKERS * rounds * 5));
}

/// A regression: a page of old candles read each newer candle of its interval, which held up everybody who read.
#[test]
fn old_candles_with_eight_askers_hold_nobody_up() {
    const ASKERS: usize = 8;
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap();
    let first = (now - HALF_A_YEAR_US) / DAY_US * DAY_US;
    let minutes = size(10, 1);
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let scene = Scene::set("old candles with eight askers", limits, |launch| {
        write(launch.data(), (first..now - DAY_US).step_by(minutes * MINUTE_US as usize));
        launch
    });
    let attack = scene.attack();
    let (http, rounds) = (attack.server().http, size(40, 1_000));
    let ask = || {
        let http = Http::new(http);
        for _ in 0..rounds {
            for (interval, within_us, limit) in
                [("1m", 60 * MINUTE_US, 500), ("1m", 30 * DAY_US, 1_500), ("1h", DAY_US, 500), ("15m", DAY_US, 500)]
            {
                let before = first + within_us;
                let path = format!("/api/v1/symbols/S/candles?interval={interval}&before={before}&limit={limit}");
                let told = http.read(&path);
                let candles = told["candles"].as_array().unwrap();
                let last = candles.last().unwrap_or_else(|| panic!("{path}: {told}"));
                assert!(last["start"].as_u64().unwrap() < before, "{path}: {last}");
                if limit == 500 {
                    assert_eq!(candles[0]["start"], first, "{path}: {}", candles[0]);
                }
            }
        }
    };
    std::thread::scope(|scope| (0..ASKERS).for_each(|_| drop(scope.spawn(ask))));
    attack.end(&format!(
        "{} pages of {} candles told",
        ASKERS * rounds * 4,
        (HALF_A_YEAR_US / MINUTE_US) as usize / minutes
    ));
}
