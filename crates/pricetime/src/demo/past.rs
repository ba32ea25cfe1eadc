//! Hours of trading before the demo's server starts, so that there are candles to look at: the same commands as later,
//! with past times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use exchange::{Answer, Batch, Metrics};
use journal::{DataLock, Disk, Durability, Options};
use market::admission::Bounds;
use market::calendar::Calendar;
use market::journal_ledger::JournalLedger;
use market::recovery;
use market::timekeeper::{Clock, system_time};
use market::turn::{MarketLoop, TurnOptions};
use terms::{Op, Time};

use super::Plan;
use super::crowd::{Crowd, Pace};
use super::venue::Venue;
use crate::settings::Settings;

/// The time between two turns of the crowd in the last hours, whose minutes are shown.
const STEP: Duration = Duration::from_millis(2_500);
/// The time between two turns before them.
const LONG_STEP: Duration = Duration::from_secs(6);
const LAST_HOURS: Duration = Duration::from_secs(6 * 3600);

/// Makes the market in an empty data folder, and lets the crowd trade in it up to now. None if it was told to stop
/// meanwhile.
pub fn make(
    settings: &Settings,
    plan: Plan,
    past: Duration,
    is_asked_to_stop: &mut impl FnMut() -> bool,
) -> Result<Option<Crowd>, String> {
    let _lock = DataLock::take(&settings.data).map_err(|error| error.to_string())?;
    let storage = Disk::open(&settings.data).map_err(|error| format!("{}: {error}", settings.data.display()))?;
    let options = Options { segment_bytes: settings.segment_size.0, durability: Durability::Written };
    let recovered = recovery::open(&storage, options).map_err(|error| error.to_string())?;
    let end = system_time();
    let time = Arc::new(AtomicU64::new(end.0.saturating_sub(past.as_micros() as u64)));
    let shown = time.clone();
    let options = TurnOptions {
        limits: settings.answer_limits(),
        bounds: Bounds::NONE,
        metrics: Metrics::new(&[]),
        clock: Clock::steady(move || Time(shown.load(Ordering::Relaxed))),
        clock_leap_max: settings.max_clock_leap.0,
        calendar: Calendar::default(),
        audit: false,
    };
    // The history gets the events when the server replays the journal.
    let ledger = JournalLedger::new(recovered.journal, None, Arc::default(), true, Arc::default());
    let mut then = Then { turn: MarketLoop::new(recovered.engine, ledger, options), failed: None, time: time.clone() };
    let mut crowd = Crowd::new(plan.seed, Pace::of_steps(LONG_STEP, plan.rate));
    let mut goes_on = crowd.open(&mut then).is_some();
    for (step, until) in [(LONG_STEP, end.0.saturating_sub(LAST_HOURS.as_micros() as u64)), (STEP, end.0)] {
        crowd.goes(Pace::of_steps(step, plan.rate));
        while goes_on && time.load(Ordering::Relaxed) < until {
            if is_asked_to_stop() {
                return Ok(None);
            }
            goes_on = crowd.turn(&mut then).is_some();
            time.fetch_add(step.as_micros() as u64, Ordering::Relaxed);
        }
    }
    then.failed.map_or(Ok(Some(crowd)), Err)
}

/// A market at a past time.
struct Then {
    turn: MarketLoop<JournalLedger<Disk>>,
    failed: Option<String>,
    time: Arc<AtomicU64>,
}

impl Venue for Then {
    fn send(&mut self, ops: &[Op]) -> Option<Vec<Answer>> {
        let (back, answered) = channel();
        let mut batch = Batch::detached(back);
        batch.requests.push(ops);
        match self.turn.step(&mut vec![batch]) {
            Ok(()) => answered.recv().ok().map(|batch| batch.answers),
            Err(error) => {
                self.failed = Some(error.to_string());
                None
            }
        }
    }

    fn now(&self) -> Time {
        Time(self.time.load(Ordering::Relaxed))
    }
}
