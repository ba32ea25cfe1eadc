//! A machine that sleeps, under a server on a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::wait::wait_until;
use binance::Keys;
use market::timekeeper::Clock;
use serde_json::json;
use terms::Time;

const HOUR_US: u64 = 3_600_000_000;
/// 2026 in microseconds.
const CLOCK_START: u64 = 1_790_000_000_000_000;

/// The history once counted time by a clock that stands while the machine sleeps, so each night was a leap.
#[test]
fn a_night_for_which_the_machine_sleeps_is_no_leap_of_market_time() {
    let folder = Folder::new("sleep");
    let slept = Arc::new(AtomicU64::new(0));
    let (shows, passed) = (slept.clone(), slept.clone());
    let clock = Clock::new(
        move || Time(CLOCK_START + shows.load(Ordering::Relaxed)),
        move || Duration::from_micros(passed.load(Ordering::Relaxed)),
    );
    let here = Here::start(&folder.data(), None, clock, Keys::default());
    let http = here.http();
    let leaps = folder.data().join("history/leaps");
    for account in ["1", "2", "3"] {
        http.make("/api/v1/accounts", &json!({"account": account, "balance": "5"}));
        // A market's first look at the time, which finds no leap, makes the file. The stop looks again.
        wait_until("the first look", Duration::from_secs(120), || leaps.exists());
        slept.fetch_add(9 * HOUR_US, Ordering::Relaxed);
    }
    drop(http);
    here.stop();
    let leaps = std::fs::read_to_string(leaps).unwrap();
    assert_eq!(leaps.lines().count(), 2, "a time and a checksum: {leaps}");
}
