//! Leaps of market time: it moved further than time had passed, because the machine's clock was wrong, or was set right
//! at last. Retention counts no leap as age, so that a wrong clock removes nothing. Each leap stands in a file beside
//! the checkpoint, with the market's time up to which it was compared with the time that passed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use terms::Time;

use crate::codec;
use crate::error::{HistoryError, in_folder};
use crate::folder::Folder;

/// The file of leaps; missing until market time is first compared with the time that passes.
pub const LEAPS_NAME: &str = "leaps";
/// The lead of market time over the time that has passed which is no leap yet: as far as a clock is followed at once.
const LEAP: Duration = Duration::from_secs(60 * 60);
/// The time between the last command of a server and the first one of the next that is no leap yet.
const PAUSE: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// The market time from what the file says to a killed server's last command that is no leap yet: an hour until the
/// file is written again, and an hour that is no leap.
const HIDDEN: Duration = Duration::from_secs(2 * 60 * 60);
/// The most leaps that are told apart: one each night for more than two years.
const LEAPS_MAX: usize = 1_000;

/// The leaps that are remembered.
#[derive(Debug, Default)]
pub(crate) struct Leaps {
    /// The leaps, oldest first.
    all: Vec<Leap>,
    /// The market's time at the last look; none before `begin`, while a server replays.
    seen: Option<Seen>,
    /// The time that passes; none where nobody follows the market as it goes on, so that no leap is noted.
    passed: Option<PassedTime>,
    /// The market's time up to which the file that was read has all leaps; none without a file.
    compared_until: Option<Time>,
    /// The market's time from which the file is written again, so that a kill hides no leap; none before the first
    /// look.
    due: Option<Time>,
    is_unsaved: bool,
    /// Whether a node reads in seconds what its log gathered in days.
    is_reading_a_log: bool,
    /// Whether the file is damaged. Then former leaps are unknown, and the file stays as it is.
    is_damaged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leap {
    /// The market's time behind it.
    to: Time,
    /// Its length; [`UNKNOWN`] where it is not known how old what was before it is.
    by_us: u64,
}

/// The length of a leap before which ages are unknown: all that was before it counts as of its end.
const UNKNOWN: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    time: Time,
    /// The time that had passed at the last look before the market had this time, so its command came later.
    at: Duration,
    /// The time that had passed at the last look.
    looked: Duration,
    /// The lead that is no leap yet.
    free: Duration,
}

/// A function that returns the time that has passed since a fixed moment, also while the machine slept.
#[derive(Clone)]
struct PassedTime(Arc<dyn Fn() -> Duration + Send + Sync>);

impl fmt::Debug for PassedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time that passes")
    }
}

impl Leaps {
    /// Reads the file of leaps. Only retention needs it, so a damaged one is no error; see `damage`.
    pub(crate) fn read(folder: &dyn Folder) -> Result<Leaps, HistoryError> {
        let Some(bytes) = folder.read(LEAPS_NAME).map_err(in_folder)? else { return Ok(Leaps::default()) };
        Ok(match std::str::from_utf8(&bytes).ok().and_then(parse) {
            Some((until, all)) => Leaps { all, compared_until: Some(until), ..Leaps::default() },
            None => Leaps { is_damaged: true, ..Leaps::default() },
        })
    }

    /// The damage of the file, if it is damaged. Then the ages of what is kept are unknown.
    pub(crate) fn damage(&self) -> Option<HistoryError> {
        self.is_damaged.then_some(HistoryError::Leaps { name: LEAPS_NAME })
    }

    /// Makes the leaps durable, if `look` has said so. It does not replace a damaged file: without the former leaps the
    /// next start would remove what is not old.
    pub(crate) fn save(&mut self, folder: &dyn Folder) -> Result<(), HistoryError> {
        if self.is_unsaved && !self.is_damaged {
            let until = self.seen.map_or(Time::ZERO, |seen| seen.time);
            folder.replace(LEAPS_NAME, text(until, &self.all).as_bytes()).map_err(in_folder)?;
            self.is_unsaved = false;
        }
        Ok(())
    }

    /// Sets the clock of the time that passes.
    pub(crate) fn compare_with(&mut self, passed: impl Fn() -> Duration + Send + Sync + 'static) {
        self.passed = Some(PassedTime(Arc::new(passed)));
    }

    /// Makes these leaps of another history go on with the clock of `former`.
    pub(crate) fn take_clock_of(&mut self, former: &Leaps) {
        self.passed.clone_from(&former.passed);
    }

    /// Begins to compare market time, which is that of the last replayed command, with the time that passes. A server
    /// that was killed may have followed a leap that is not in the file: it notes that now.
    pub(crate) fn begin(&mut self, time: Time) {
        let Some(PassedTime(passed)) = &self.passed else { return };
        let at = passed();
        let until = self.compared_until.unwrap_or(time);
        let ahead = Duration::from_micros(time.0.saturating_sub(until.0));
        if ahead > HIDDEN {
            self.note(time, ahead);
        }
        // The first command of a new market ends no pause, however late it is.
        let free = if time == Time::ZERO { Duration::MAX } else { PAUSE };
        self.seen = Some(Seen { time, at, looked: at, free });
    }

    /// Takes all that was before `time` for no older than that, if the file is missing and leaps are noted: it held the
    /// leaps from before.
    pub(crate) fn make_up_for_a_missing_file(&mut self, time: Time) {
        let is_missing = self.compared_until.is_none() && !self.is_damaged && self.all.is_empty();
        if is_missing && self.passed.is_some() {
            tracing::warn!(
                "the history has no file of leaps: for retention all that happened before this start counts as no older than it"
            );
            self.push(Leap { to: time, by_us: UNKNOWN });
            self.is_unsaved = true;
        }
    }

    /// Begins or ends to pass over what market time moves: a node reads its log. The next look behind it is one for all
    /// that was read.
    pub(crate) fn reads_a_log(&mut self, is_reading: bool) {
        self.is_reading_a_log = is_reading;
    }

    /// Whether ages are known. They are not while a node reads its log, nor where the file is damaged, nor before
    /// `begin` where leaps are noted: a replay may go over a leap that is not in the file.
    pub(crate) fn are_known(&self) -> bool {
        let has_begun = self.passed.is_none() || self.seen.is_some();
        has_begun && !self.is_damaged && !self.is_reading_a_log
    }

    /// Looks at market time, and notes a leap since the last look. Returns whether `save` is to be called.
    pub(crate) fn look(&mut self, time: Time) -> bool {
        if self.is_reading_a_log {
            return false;
        }
        let Some(PassedTime(passed)) = &self.passed else { return false };
        let Some(seen) = &mut self.seen else { return false };
        let now = passed();
        // The machine may have slept between a command and the look at it, so a command counts from the look before.
        let at = std::mem::replace(&mut seen.looked, now);
        if time <= seen.time {
            return false;
        }
        let ahead = Duration::from_micros(time.0 - seen.time.0).saturating_sub(now.saturating_sub(seen.at));
        let has_leapt = ahead > seen.free;
        *seen = Seen { time, at, looked: now, free: LEAP };
        if has_leapt {
            self.note(time, ahead);
        }
        let is_due = has_leapt || self.due.is_none_or(|due| time >= due);
        if is_due {
            self.due = Some(Time(time.0.saturating_add(micros(LEAP))));
            self.is_unsaved = true;
        }
        is_due
    }

    fn note(&mut self, to: Time, ahead: Duration) {
        self.push(Leap { to, by_us: micros(ahead) });
        tracing::warn!(seconds = ahead.as_secs(), "market time has leapt ahead; retention does not count that as age");
    }

    fn push(&mut self, leap: Leap) {
        self.all.push(leap);
        if self.all.len() > LEAPS_MAX {
            // Together they count as of the later one, so nothing is older than it is.
            let first = self.all.remove(0);
            self.all[0].by_us = self.all[0].by_us.saturating_add(first.by_us);
        }
    }

    /// Forgets the leaps that ended longer ago than `age_us`: all that was before them is older than that without them.
    pub(crate) fn forget(&mut self, age_us: u64, now: Time) {
        while self.all.first().is_some_and(|leap| self.age_us(leap.to, now) > age_us) {
            self.all.remove(0);
        }
    }

    /// The age of what happened at a time, in microseconds that passed.
    pub(crate) fn age_us(&self, of: Time, now: Time) -> u64 {
        let known_from = self.all.iter().filter(|leap| leap.by_us == UNKNOWN).map(|leap| leap.to).max();
        let of = known_from.map_or(of, |from| of.max(from));
        let leapt = self.all.iter().filter(|leap| leap.to > of).map(|leap| leap.by_us);
        now.0.saturating_sub(of.0).saturating_sub(leapt.fold(0, u64::saturating_add))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn text(until: Time, leaps: &[Leap]) -> String {
    let leaps = leaps.iter().map(|leap| format!("{} {}\n", leap.to.0, leap.by_us));
    let lines: String = [format!("until {}\n", until.0)].into_iter().chain(leaps).collect();
    format!("{lines}{:08x}\n", codec::sum(0, lines.as_bytes()))
}

fn parse(text: &str) -> Option<(Time, Vec<Leap>)> {
    let (mut lines, mut leaps) = (text.lines(), Vec::new());
    let until = Time(lines.next()?.strip_prefix("until ")?.parse().ok()?);
    for line in lines {
        if let Some((to, by_us)) = line.split_once(' ') {
            leaps.push(Leap { to: Time(to.parse().ok()?), by_us: by_us.parse().ok()? });
        }
    }
    (self::text(until, &leaps) == text).then_some((until, leaps))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const HOUR: u64 = 3_600_000_000;
    const DAY: u64 = 24 * HOUR;
    const NOON: u64 = 20_000 * DAY;

    /// Leaps beside a clock, which shows the hours that have passed.
    fn new() -> (Leaps, Arc<AtomicU64>) {
        let (mut leaps, clock) = (Leaps::default(), Arc::new(AtomicU64::new(0)));
        let passed = clock.clone();
        leaps.compare_with(move || Duration::from_micros(passed.load(Ordering::Relaxed) * HOUR));
        (leaps, clock)
    }

    /// A node that had been away read a day of its log in some looks, and each was a leap.
    #[test]
    fn a_log_that_a_node_reads_is_one_look() {
        for (days, leaps_by) in [(2, 0), (30, 30 * DAY)] {
            let (mut leaps, _clock) = new();
            leaps.begin(Time(NOON));
            leaps.reads_a_log(true);
            for day in 1..=days {
                assert!(!leaps.look(Time(NOON + day * DAY - HOUR)) && !leaps.are_known());
            }
            leaps.reads_a_log(false);
            leaps.look(Time(NOON + days * DAY));
            let now = Time(NOON + days * DAY);
            assert!(leaps.are_known());
            assert_eq!(leaps.age_us(Time(NOON), now), days * DAY - leaps_by, "{days} days");
            leaps.look(Time(now.0 + 2 * HOUR));
            assert_eq!(leaps.age_us(now, Time(now.0 + 2 * HOUR)), 0, "a leap behind it is one");
        }
    }

    #[test]
    fn what_was_before_a_leap_is_not_older_for_it() {
        let (mut leaps, clock) = new();
        let look = |leaps: &mut Leaps, time, hours| {
            clock.store(hours, Ordering::Relaxed);
            leaps.look(Time::ZERO);
            leaps.look(Time(time))
        };
        look(&mut leaps, NOON, 0);
        assert!(!look(&mut leaps, NOON + 400 * DAY, 0), "a replay leaps over nothing");
        leaps.begin(Time(NOON));
        look(&mut leaps, NOON + 2 * DAY, 1);
        look(&mut leaps, NOON + 3 * DAY, 25);
        assert_eq!(leaps.age_us(Time(NOON), Time(NOON + 3 * DAY)), 3 * DAY, "a pause, and a day that passed");
        look(&mut leaps, NOON + 43 * DAY, 26);
        let (old, new, now) = (Time(NOON + 3 * DAY), Time(NOON + 43 * DAY), Time(NOON + 44 * DAY));
        assert_eq!([old, new].map(|time| leaps.age_us(time, now)), [DAY + HOUR, DAY]);
        let written = text(new, &leaps.all);
        assert_eq!(parse(&written), Some((new, leaps.all.clone())));
        assert_eq!(parse(&written.replacen('4', "5", 1)), None);
        // A server that starts after a long time, or with a wrong clock, takes that for no age either.
        leaps.begin(now);
        look(&mut leaps, now.0 + 9 * DAY, 26);
        assert_eq!(leaps.age_us(new, Time(now.0 + 9 * DAY)), DAY);
        for leap in 1..1_200 {
            look(&mut leaps, now.0 + (9 + 40 * leap) * DAY, 26);
        }
        assert_eq!(leaps.all.len(), LEAPS_MAX);
        let ages = [old, new].map(|time| leaps.age_us(time, Time(now.0 + (9 + 40 * 1_199) * DAY)));
        assert_eq!(ages, [DAY + HOUR, 0], "leaps that count together make nothing older than it is");
    }

    /// All that a wrong clock had passed over was old without the file, and was removed.
    #[test]
    fn without_the_file_nothing_is_older_than_the_start() {
        let (mut leaps, clock) = new();
        leaps.make_up_for_a_missing_file(Time(NOON));
        leaps.begin(Time(NOON));
        let (before, later) = (Time(NOON - 400 * DAY), Time(NOON + 2 * DAY));
        assert_eq!(leaps.age_us(before, Time(NOON)), 0);
        leaps.look(Time(NOON + 1));
        clock.store(48, Ordering::Relaxed);
        leaps.look(later);
        assert_eq!([before, Time(NOON), later].map(|of| leaps.age_us(of, later)), [2 * DAY, 2 * DAY, 0]);
        let written = text(later, &leaps.all);
        assert_eq!(parse(&written), Some((later, leaps.all.clone())), "a later start knows of it");
        let all = leaps.all.clone();
        leaps.make_up_for_a_missing_file(later);
        assert_eq!(leaps.all, all, "what is there is not missing");
        leaps.forget(DAY, later);
        assert_eq!(leaps.all, []);
    }

    #[test]
    fn a_machine_that_sleeps_before_a_look_makes_no_leap() {
        let (mut leaps, clock) = new();
        leaps.begin(Time(NOON));
        leaps.look(Time(NOON + 1));
        for night in 1..4 {
            // A command comes, and the machine sleeps before the next look.
            let before = NOON + (night - 1) * 9 * HOUR + 2;
            clock.store(night * 9, Ordering::Relaxed);
            leaps.look(Time(before));
            leaps.look(Time(before + 9 * HOUR - 1));
        }
        assert_eq!(leaps.all, []);
        leaps.look(Time(NOON + 10 * DAY));
        leaps.look(Time(NOON + 20 * DAY));
        assert_eq!(leaps.all.len(), 2, "leaps are told from sleep");
    }

    #[test]
    fn a_leap_of_each_night_is_forgotten_when_all_before_it_is_old() {
        let (mut leaps, clock) = new();
        leaps.begin(Time(NOON));
        leaps.look(Time(NOON + 1));
        // Time stands for ten hours of each night.
        for day in 1..2_000 {
            clock.store(day * 14, Ordering::Relaxed);
            leaps.look(Time(NOON + 1));
            let now = Time(NOON + day * DAY);
            leaps.look(now);
            let are_old = |leaps: &Leaps| [51, 52].map(|days| leaps.age_us(Time(now.0 - days * DAY), now) > 30 * DAY);
            let known = are_old(&leaps);
            leaps.forget(30 * DAY, now);
            assert_eq!(are_old(&leaps), known, "{day}");
            assert!(day < 60 || known == [false, true], "{day}: 14 hours of each day have passed");
            assert!(leaps.all.len() <= 52, "{day}: {}", leaps.all.len());
        }
    }

    #[test]
    fn a_new_market_notes_a_leap_behind_its_first_command() {
        let (mut leaps, _) = new();
        leaps.begin(Time::ZERO);
        leaps.look(Time::ZERO);
        leaps.look(Time(NOON));
        assert_eq!(leaps.all, [], "the first command ends no pause");
        leaps.look(Time(NOON + 40 * DAY));
        assert_eq!(leaps.all, [Leap { to: Time(NOON + 40 * DAY), by_us: 40 * DAY }]);
    }

    #[test]
    fn the_file_is_written_each_hour_and_a_start_notes_the_leap_behind_it() {
        let (mut leaps, clock) = new();
        leaps.begin(Time::ZERO);
        let hours = (0..24 * 4).filter(|quarter| {
            clock.store(quarter / 4, Ordering::Relaxed);
            leaps.look(Time(NOON + quarter * HOUR / 4))
        });
        assert_eq!(hours.count(), 24);
        let ages_after = |quiet: u64| {
            let mut leaps = Leaps { compared_until: Some(Time(NOON)), ..new().0 };
            leaps.begin(Time(NOON + quiet));
            leaps.look(Time(NOON + quiet + 1));
            leaps.age_us(Time(NOON), Time(NOON + quiet))
        };
        assert_eq!([2 * HOUR, 2 * HOUR + 1, 40 * DAY].map(ages_after), [2 * HOUR, 0, 0]);
        // A machine that lost commands has an earlier time than the file.
        let mut leaps = Leaps { compared_until: Some(Time(NOON)), ..new().0 };
        leaps.begin(Time(NOON - DAY));
        leaps.look(Time(NOON + DAY));
        assert_eq!(leaps.all, []);
    }
}
