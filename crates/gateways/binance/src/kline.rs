//! The intervals of candles of the compatible interface. Candles that the market does not keep are made of shorter
//! ones.

use feed::{Candle, Interval};
use terms::Time;

const DAY_MICROS: u64 = 86_400_000_000;
/// 1970 began on a Thursday.
const DAYS_BEFORE_THE_FIRST_MONDAY: u64 = 4;

/// An interval of candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KlineInterval {
    /// An interval whose candles the market keeps.
    Kept(Interval),
    /// A number of candles of another interval, counted from 1970 on.
    Several(u8, Interval),
    /// A week, from Monday on.
    Week,
    /// A month of the calendar.
    Month,
}

use KlineInterval::{Kept, Month, Several, Week};

impl KlineInterval {
    pub(crate) const ALL: [(&str, KlineInterval); 16] = [
        ("1s", Kept(Interval::Second)),
        ("1m", Kept(Interval::Minute)),
        ("3m", Several(3, Interval::Minute)),
        ("5m", Kept(Interval::FiveMinutes)),
        ("15m", Kept(Interval::FifteenMinutes)),
        ("30m", Several(2, Interval::FifteenMinutes)),
        ("1h", Kept(Interval::Hour)),
        ("2h", Several(2, Interval::Hour)),
        ("4h", Several(4, Interval::Hour)),
        ("6h", Several(6, Interval::Hour)),
        ("8h", Several(8, Interval::Hour)),
        ("12h", Several(12, Interval::Hour)),
        ("1d", Kept(Interval::Day)),
        ("3d", Several(3, Interval::Day)),
        ("1w", Week),
        ("1M", Month),
    ];

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        let found = KlineInterval::ALL.into_iter().find(|(_, interval)| *interval == self);
        found.map(|(name, _)| name).expect("invariant: an interval is one of all")
    }

    /// Returns its place among all.
    pub(crate) fn place(self) -> u8 {
        let place = KlineInterval::ALL.iter().position(|(_, interval)| *interval == self);
        place.and_then(|place| u8::try_from(place).ok()).expect("invariant: an interval is one of all")
    }

    /// Finds the interval of this name.
    pub(crate) fn parse(name: &str) -> Option<KlineInterval> {
        KlineInterval::ALL.into_iter().find(|(its, _)| *its == name).map(|(_, interval)| interval)
    }

    /// Returns the interval of the candles that make it up.
    pub(crate) fn base(self) -> Interval {
        match self {
            Kept(base) | Several(_, base) => base,
            Week | Month => Interval::Day,
        }
    }

    /// Returns how many of those one candle may have.
    pub(crate) fn bases_max(self) -> usize {
        match self {
            Kept(_) => 1,
            Several(count, _) => count.into(),
            Week => 7,
            Month => 31,
        }
    }

    /// Whether its candles are made of several days.
    pub(crate) fn is_of_days(self) -> bool {
        self.base() == Interval::Day && self.bases_max() > 1
    }

    /// Returns the start of the candle that `time` falls into.
    pub(crate) fn start_of(self, time: Time) -> Time {
        let day = time.0 / DAY_MICROS;
        match self {
            Kept(base) => base.start_of(time),
            Several(count, base) => Time(time.0 - time.0 % (base.micros() * u64::from(count))),
            // The week of 1970's first day began before it.
            Week => Time((day - ((day + 7 - DAYS_BEFORE_THE_FIRST_MONDAY) % 7).min(day)) * DAY_MICROS),
            Month => Time((day - u64::from(day_of_month(day))) * DAY_MICROS),
        }
    }

    /// Returns the start of the candle behind the one that begins at `start`.
    pub(crate) fn end_of(self, start: Time) -> Time {
        let later = |micros: u64| Time(start.0.saturating_add(micros));
        match self {
            Kept(base) => later(base.micros()),
            Several(count, base) => later(base.micros() * u64::from(count)),
            // All weeks but the first, which is cut off, have seven days.
            Week if start == Time::ZERO => Time(DAYS_BEFORE_THE_FIRST_MONDAY * DAY_MICROS),
            Week => later(7 * DAY_MICROS),
            // A day of the next month, whichever month this is.
            Month => self.start_of(later(31 * DAY_MICROS)),
        }
    }

    /// Returns the start of the first candle that does not begin before `time`.
    pub(crate) fn first_from(self, time: Time) -> Time {
        let start = self.start_of(time);
        if start == time { start } else { self.end_of(start) }
    }

    /// Adds a candle of its base to the last of `candles`, or behind it.
    pub(crate) fn join(self, candles: &mut Vec<Candle>, later: &Candle) {
        let start = self.start_of(later.start);
        match candles.last_mut() {
            Some(last) if last.start == start => last.extend(later),
            _ => candles.push(Candle { start, ..*later }),
        }
    }
}

/// Returns the day of the month, from 0 on, of a day since 1970.
fn day_of_month(day: u64) -> u32 {
    // Years that begin in March have their odd day at their end, and their months repeat: 31 30 31 30 31 days, which
    // are 153.
    const FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    const OF_400_YEARS: u64 = 146_097;
    let day = (day + FROM_MARCH_OF_YEAR_0) % OF_400_YEARS;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    u32::try_from(of_year - (153 * month + 2) / 5).expect("invariant: a month has few days")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MICROS: u64 = 3_600_000_000;

    fn days(days: u64) -> Time {
        Time(days * DAY_MICROS)
    }

    #[test]
    fn an_interval_is_known_by_its_name() {
        for (name, interval) in KlineInterval::ALL {
            assert_eq!((KlineInterval::parse(name), interval.name()), (Some(interval), name));
        }
        assert_eq!(KlineInterval::parse("1D"), None);
    }

    /// Each month begins where the previous one ends, and has as many days as the calendar says.
    #[test]
    fn months_are_those_of_the_calendar() {
        let mut start = Time::ZERO;
        for year in 1970..2405 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for length in [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
                let end = Month.end_of(start);
                assert_eq!(end.0 - start.0, length * DAY_MICROS, "{year}");
                for within in [start, Time(start.0 + 1), Time(end.0 - 1)] {
                    assert_eq!(Month.start_of(within), start, "{year}");
                }
                start = end;
            }
        }
    }

    #[test]
    fn weeks_begin_on_mondays() {
        // The second of January 2023 was a Monday.
        let monday = days(19_359);
        for (time, start) in [(0, 0), (1, 0), (6, 0), (7, 7)] {
            assert_eq!(Week.start_of(Time(days(19_359 + time).0 + 5)), days(19_359 + start), "{time}");
        }
        assert_eq!((Week.end_of(monday), Week.first_from(Time(monday.0 + 1))), (days(19_366), days(19_366)));
        assert_eq!(
            (Week.start_of(days(3)), Week.end_of(Time::ZERO), Week.start_of(days(4))),
            (days(0), days(4), days(4))
        );
    }

    #[test]
    fn candles_follow_each_other_in_every_interval() {
        for (name, interval) in KlineInterval::ALL {
            let start = interval.start_of(Time(1_700_000_000_123_456));
            let end = interval.end_of(start);
            assert_eq!((interval.start_of(end), interval.start_of(Time(end.0 - 1))), (end, start), "{name}");
            assert_eq!((interval.first_from(start), interval.first_from(Time(start.0 + 1))), (start, end), "{name}");
            assert_eq!(start.0 % interval.base().micros(), 0, "{name}");
            assert!((end.0 - start.0) / interval.base().micros() <= interval.bases_max() as u64, "{name}");
            let last = interval.start_of(Time(u64::MAX));
            assert!(interval.end_of(last) >= last, "{name}: also at the end of time");
        }
        let twelve = KlineInterval::parse("12h").map(|interval| interval.start_of(Time(47 * HOUR_MICROS)));
        assert_eq!(twelve, Some(Time(36 * HOUR_MICROS)));
    }
}
