//! Market time follows the machine's clock, and guards against a wrong one. Market time never runs back, so a clock
//! that is far ahead for a moment would otherwise keep the market there for good.
//!
//! The clock should show its earlier time plus the time that has passed since, which nobody can set. A clock that is
//! more than a little ahead of that has leapt. Then market time goes on at its pace without the clock. It follows a
//! leap that has lasted, because then the clock is right: a virtual machine was stopped for days, or a machine got the
//! right time from the network. It never follows a leap beyond the bound of the settings.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use terms::Time;

/// The lead up to which a clock is followed at once.
const AT_ONCE: Duration = Duration::from_secs(60 * 60);
/// The time after which a clock that is further ahead is followed.
const LASTS: Duration = Duration::from_secs(10 * 60);

/// The clock of a market; a test gives it one of its own. All clones share one belief about the time, so that the views
/// show the time by which the sequencer decides.
#[derive(Clone)]
pub struct Clock {
    shows: Arc<dyn Fn() -> Time + Send + Sync>,
    passed: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// The guard. None before a market follows the clock.
    guard: Arc<Mutex<Option<Guard>>>,
    /// The distance from the clock's time to that of the market's commands, in microseconds. Where several servers
    /// write, another clock gives commands their time.
    ahead_us: Arc<AtomicI64>,
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock::new(system_time, passed)
    }

    /// Makes a clock of two functions: the time that it shows, and the time that has passed since a fixed moment.
    pub fn new(
        shows: impl Fn() -> Time + Send + Sync + 'static,
        passed: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Clock {
        Clock { shows: Arc::new(shows), passed: Arc::new(passed), guard: Arc::default(), ahead_us: Arc::default() }
    }

    /// Makes a clock that nobody sets: it shows the time that has passed.
    pub fn steady(shows: impl Fn() -> Time + Send + Sync + 'static) -> Clock {
        let shows: Arc<dyn Fn() -> Time + Send + Sync> = Arc::new(shows);
        let passed = shows.clone();
        Clock {
            shows,
            passed: Arc::new(move || Duration::from_micros(passed().0)),
            guard: Arc::default(),
            ahead_us: Arc::default(),
        }
    }

    /// The time that a command would have now, unless a command had a later one: the clock's time, unless the clock has
    /// leapt.
    pub fn market_time(&self) -> Time {
        Time(self.believed().0.saturating_add_signed(self.ahead_us.load(Ordering::Relaxed)))
    }

    /// The time that has passed since a fixed moment, also while the machine slept. Nobody can set it.
    pub fn passed(&self) -> Duration {
        (self.passed)()
    }

    /// The clock's time, unless it has leapt.
    fn believed(&self) -> Time {
        self.guarded(|guard, shows, passed| guard.map_or(shows, |guard| guard.now(shows, passed)))
    }

    fn guarded<T>(&self, look: impl FnOnce(Option<&mut Guard>, Time, Duration) -> T) -> T {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        look(guard.as_mut(), (self.shows)(), self.passed())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a clock that shows {}", (self.shows)().0)
    }
}

/// The time since the machine was started. It counts while the machine sleeps, and nobody can set it.
pub fn passed() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// The time of the machine.
pub fn system_time() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The time of the next turn's commands, which is later than the last turn's, however the clock runs. So the executions
/// of one turn are told from those of another, also if the state was written down between the two.
pub fn next_turn(now: Time, last: Time) -> Time {
    now.max(last.later_by_us(1))
}

/// Gives the time of each turn.
#[derive(Debug)]
pub struct Timekeeper {
    clock: Clock,
}

/// The belief about a clock's time.
#[derive(Debug)]
struct Guard {
    /// The lead beyond which a clock is never followed.
    leap_max: Duration,
    /// The last time of the clock that was believed, and the time that had passed then.
    believed: (Time, Duration),
    leap: Option<Leap>,
}

/// A leap: the clock is ahead of the time that has passed.
#[derive(Clone, Copy, Debug)]
struct Leap {
    since: Duration,
    ahead_us: u64,
}

impl Timekeeper {
    /// Makes the timekeeper of a market whose last command was at `last`; `Time::ZERO` before the first. The time since
    /// then is unknown, so a clock that is ahead of it by at most `leap_max` is believed.
    pub fn new(clock: Clock, last: Time, leap_max: Duration) -> Timekeeper {
        let (shows, passed) = ((clock.shows)(), clock.passed());
        let bound = Time(last.0.saturating_add(micros(leap_max)));
        let believed = if last == Time::ZERO || shows <= bound { shows.max(last) } else { last };
        if last > Time(shows.0.saturating_add(1_000_000)) {
            let seconds = last.0.saturating_sub(shows.0) / 1_000_000;
            tracing::warn!(seconds, "market time is ahead of the machine's clock, and waits for it");
        }
        let guard = Guard { leap_max, believed: (believed, passed), leap: None };
        *clock.guard.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
        Timekeeper { clock }
    }

    /// The current time, but not before that of the last command.
    pub fn now(&mut self, last: Time) -> Time {
        self.clock.believed().max(last)
    }

    /// A command that would come now would have this time, while the clock's is another one.
    pub fn follow(&mut self, commands: Time, clock: Time) {
        let ahead = i128::from(commands.0) - i128::from(clock.0);
        self.clock.ahead_us.store(i64::try_from(ahead).unwrap_or(0), Ordering::Relaxed);
    }

    /// The time that has passed since some moment. Nobody can set it.
    pub fn passed(&self) -> Duration {
        self.clock.passed()
    }

    /// The clock's lead over market time after a leap, at the last command.
    pub fn leap_us(&self) -> u64 {
        self.clock.guarded(|guard, _, _| guard.and_then(|guard| guard.leap).map_or(0, |leap| leap.ahead_us))
    }
}

impl Guard {
    /// The time of a clock that shows `shows` when `passed` has passed.
    fn now(&mut self, shows: Time, passed: Duration) -> Time {
        let (believed, then) = self.believed;
        let expected = Time(believed.0.saturating_add(micros(passed.saturating_sub(then))));
        let ahead_us = shows.0.saturating_sub(expected.0);
        if ahead_us > micros(AT_ONCE) && !self.has_lasted(ahead_us, passed) {
            return expected;
        }
        if self.leap.take().is_some() {
            tracing::info!("market time follows the machine's clock again");
        }
        if shows >= expected {
            self.believed = (shows, passed);
        }
        shows
    }

    /// Whether a leap has lasted long enough to be followed.
    fn has_lasted(&mut self, ahead_us: u64, passed: Duration) -> bool {
        let same = self.leap.filter(|leap| leap.ahead_us.abs_diff(ahead_us) <= micros(AT_ONCE));
        let Some(leap) = same else {
            self.leap = Some(Leap { since: passed, ahead_us });
            let (seconds, bound) = (ahead_us / 1_000_000, self.leap_max.as_secs());
            let fate = match ahead_us <= micros(self.leap_max) {
                true => "it is followed when it has lasted for ten minutes",
                false => {
                    "that is beyond max-clock-leap, and not followed; set the clock, or start again with a larger one"
                }
            };
            tracing::warn!(
                seconds,
                bound,
                "the machine's clock has leapt ahead, and market time goes on without it: {fate}"
            );
            return false;
        };
        ahead_us <= micros(self.leap_max) && passed.saturating_sub(leap.since) >= LASTS
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const NOON: u64 = 1_763_690_000_000_000;
    const SECOND: u64 = 1_000_000;
    const DAY: u64 = 24 * 60 * 60 * SECOND;
    const YEARS: u64 = 100 * 365 * DAY;

    /// A clock that tests set, and the time that has passed.
    struct Machine(Arc<Mutex<(u64, u64)>>);

    impl Machine {
        fn new() -> Machine {
            Machine(Arc::new(Mutex::new((NOON, 0))))
        }

        fn keeper(&self, last: u64) -> Timekeeper {
            let (shows, passed) = (self.0.clone(), self.0.clone());
            let shows = move || Time(shows.lock().map_or(0, |machine| machine.0));
            let passed = move || Duration::from_micros(passed.lock().map_or(0, |machine| machine.1));
            Timekeeper::new(Clock::new(shows, passed), Time(last), Duration::from_micros(366 * DAY))
        }

        fn passes(&self, us: u64) {
            let mut machine = self.0.lock().expect("nobody panics");
            *machine = (machine.0 + us, machine.1 + us);
        }

        fn leaps(&self, us: i64) {
            let mut machine = self.0.lock().expect("nobody panics");
            machine.0 = machine.0.checked_add_signed(us).expect("a time");
        }
    }

    #[test]
    fn a_clock_that_was_a_hundred_years_ahead_for_a_moment_leaves_no_trace() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON - DAY);
        assert_eq!(keeper.now(Time(NOON - DAY)), Time(NOON));
        machine.leaps(YEARS as i64);
        for second in 1..=7_200 {
            machine.passes(SECOND);
            assert_eq!(keeper.now(Time(NOON)), Time(NOON + second * SECOND), "it goes on at its pace, however long");
        }
        assert_eq!(keeper.leap_us(), YEARS);
        machine.leaps(-(YEARS as i64));
        machine.passes(SECOND);
        assert_eq!((keeper.now(Time(NOON)), keeper.leap_us()), (Time(NOON + 7_201 * SECOND), 0));
    }

    #[test]
    fn a_leap_that_lasts_is_followed() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON);
        machine.leaps(3 * DAY as i64);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON));
        machine.passes(599 * SECOND);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 599 * SECOND));
        machine.passes(SECOND);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 3 * DAY + 600 * SECOND));
        // Another leap has to last anew.
        machine.leaps(2 * DAY as i64);
        machine.passes(SECOND);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 3 * DAY + 601 * SECOND));
    }

    #[test]
    fn a_short_leap_is_followed_at_once_and_a_sleep_is_none() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON);
        machine.leaps(3_600 * SECOND as i64);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 3_600 * SECOND));
        machine.passes(30 * DAY);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 30 * DAY + 3_600 * SECOND));
    }

    #[test]
    fn a_clock_that_runs_back_is_waited_for() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON));
        machine.leaps(-(7 * DAY as i64));
        machine.passes(SECOND);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON));
        // The clock is right again, which is no leap.
        machine.leaps(7 * DAY as i64);
        machine.passes(SECOND);
        assert_eq!(keeper.now(Time(NOON)), Time(NOON + 2 * SECOND));
    }

    #[test]
    fn each_turn_has_a_later_time_also_while_the_clock_stands() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON);
        let mut next = |last: u64| next_turn(keeper.now(Time::ZERO), Time(last));
        assert_eq!(next(NOON), Time(NOON + 1));
        machine.leaps(-(DAY as i64));
        assert_eq!(next(NOON + 1), Time(NOON + 2));
        machine.leaps((DAY + 7) as i64);
        assert_eq!(next(NOON + 2), Time(NOON + 7));
    }

    #[test]
    fn who_asks_for_the_markets_time_gets_that_of_its_commands() {
        let machine = Machine::new();
        let mut keeper = machine.keeper(NOON);
        let looked_at = keeper.clock.clone();
        keeper.follow(Time(NOON - 60 * SECOND), Time(NOON));
        machine.passes(SECOND);
        assert_eq!(looked_at.market_time(), Time(NOON - 59 * SECOND), "the log's clock is a minute behind");
        assert_eq!(keeper.now(Time::ZERO), Time(NOON + SECOND), "the machine's is what it was");
        keeper.follow(Time(NOON + 2 * SECOND), Time(NOON + SECOND));
        assert_eq!(looked_at.market_time(), Time(NOON + 2 * SECOND));
    }

    #[test]
    fn a_start_after_months_is_believed_and_one_after_a_century_is_not() {
        let machine = Machine::new();
        assert_eq!(machine.keeper(NOON - 365 * DAY).now(Time(NOON - 365 * DAY)), Time(NOON));
        assert_eq!(machine.keeper(0).now(Time::ZERO), Time(NOON), "a new market");
        let last = Time(NOON - YEARS / 2);
        let mut keeper = machine.keeper(last.0);
        machine.passes(DAY);
        assert_eq!(keeper.now(last), Time(last.0 + DAY));
        assert_eq!(keeper.leap_us(), YEARS / 2);
    }
}
