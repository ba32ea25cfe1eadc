//! The clock of the machine, which runs wrong as a seed decides, and the market time that has to follow from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use market::timekeeper::Clock;
use model::workload::Random;
use terms::Time;

/// 2026 in microseconds.
const CLOCK_START: u64 = 1_790_000_000_000_000;
const SECOND_US: u64 = 1_000_000;
const HOUR_US: u64 = 3_600 * SECOND_US;
const DAY_US: u64 = 24 * HOUR_US;
/// The leap beyond which the market never follows the clock.
pub const LEAP_MAX: Duration = Duration::from_micros(366 * DAY_US);
/// A lead up to which the market follows the clock at once, and how long a larger one has to last.
const AT_ONCE_US: u64 = HOUR_US;
const LASTS_US: u64 = 600 * SECOND_US;

/// The clock of a machine. A machine that is away or asleep is one whose time passes in one step.
#[derive(Clone, Debug)]
pub struct MachineClock {
    shared: Arc<Shared>,
    /// The right time.
    right: u64,
    /// The lead of the clock over the right time.
    ahead: i64,
}

/// The numbers that a node reads.
#[derive(Debug)]
struct Shared {
    shows: AtomicU64,
    passed: AtomicU64,
}

impl MachineClock {
    pub fn new(random: &mut Random) -> MachineClock {
        let right = CLOCK_START + random.below(1_000_000_000) as u64;
        let shared = Arc::new(Shared { shows: AtomicU64::new(right), passed: AtomicU64::new(0) });
        MachineClock { shared, right, ahead: 0 }
    }

    /// The clock as a node reads it.
    pub fn of_a_node(&self) -> Clock {
        let (shows, passed) = (self.shared.clone(), self.shared.clone());
        Clock::new(
            move || Time(shows.shows.load(Ordering::Relaxed)),
            move || Duration::from_micros(passed.passed.load(Ordering::Relaxed)),
        )
    }

    pub fn shows(&self) -> Time {
        Time(self.shared.shows.load(Ordering::Relaxed))
    }

    fn passed(&self) -> u64 {
        self.shared.passed.load(Ordering::Relaxed)
    }

    /// Lets time pass, or the clock go wrong or right.
    pub fn tick(&mut self, random: &mut Random) {
        match random.below(100) {
            0..25 => {}
            25..82 => self.pass(random.below(5_000) as u64),
            // It is set back by some seconds.
            82..88 => self.set(-(random.below(20_000_000) as i64)),
            88..91 => self.set(0),
            // A little ahead, which is followed at once, or far, which has to last or is never followed.
            91..93 => self.set(random.below(HOUR_US as usize) as i64),
            93..94 => self.set((random.pick(&[3, 3_650]) * DAY_US) as i64),
            94..96 => self.pass(random.below(HOUR_US as usize) as u64),
            // Hours, so that client order ids become free again.
            96..97 => self.pass(random.below(30) as u64 * HOUR_US),
            _ => self.pass(random.below(20) as u64 * SECOND_US),
        }
    }

    /// Lets so many microseconds pass.
    pub fn pass(&mut self, us: u64) {
        self.right += us;
        self.shared.passed.fetch_add(us, Ordering::Relaxed);
        self.set(self.ahead);
    }

    /// Lets time pass until the clock shows at least this.
    pub fn pass_until(&mut self, shows: Time) {
        self.pass(shows.0.saturating_sub(self.shows().0));
    }

    /// Whether the clock shows the right time.
    pub fn is_right(&self) -> bool {
        self.ahead == 0
    }

    fn set(&mut self, ahead: i64) {
        self.ahead = ahead;
        self.shared.shows.store(self.right.saturating_add_signed(ahead), Ordering::Relaxed);
    }
}

/// The time that a node has to believe: docs/ARCHITECTURE.md has the rule.
#[derive(Clone, Debug)]
pub struct Belief {
    /// A time of the clock that was believed, and the time that had passed then.
    at: (u64, u64),
    /// The lead of a clock that is not believed, and the time that had passed when it was first seen.
    wrong: Option<(u64, u64)>,
}

impl Belief {
    /// The belief of a node that starts when the market's last command was at `last`.
    pub fn at_start(clock: &MachineClock, last: Time) -> Belief {
        let shows = clock.shows().0;
        let is_near = last == Time::ZERO || shows <= last.0 + LEAP_MAX.as_micros() as u64;
        let believed = if is_near { shows.max(last.0) } else { last.0 };
        Belief { at: (believed, clock.passed()), wrong: None }
    }

    /// The time now.
    pub fn now(&mut self, clock: &MachineClock) -> Time {
        let (shows, passed) = (clock.shows().0, clock.passed());
        let expected = self.at.0 + (passed - self.at.1);
        let ahead = shows.saturating_sub(expected);
        if ahead > AT_ONCE_US {
            let known = self.wrong.filter(|(before, _)| before.abs_diff(ahead) <= AT_ONCE_US);
            let (_, since) = *self.wrong.insert(known.unwrap_or((ahead, passed)));
            let has_lasted = known.is_some() && passed - since >= LASTS_US;
            if !has_lasted || ahead > LEAP_MAX.as_micros() as u64 {
                return Time(expected);
            }
        }
        self.wrong = None;
        if shows >= expected {
            self.at = (shows, passed);
        }
        Time(shows)
    }
}
