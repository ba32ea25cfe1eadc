//! Attacks by clients that ask for candles of long ago. The journal is written beforehand, with times of the past.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use journal::{Disk, Durability, Journal, JournalPoint, Options};
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
