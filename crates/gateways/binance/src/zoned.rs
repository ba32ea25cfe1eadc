//! Candles that begin by the clock of another time zone: they are made of shorter ones where the market's own begin at
//! other times.

use feed::{Candle, Interval};
use terms::Time;

use crate::kline::KlineInterval;
use crate::refusal::Refusal;
use http_gateway::input::digits;

const MINUTE_MICROS: i64 = 60_000_000;

/// An interval of candles, and how far its clock is ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoned {
    interval: KlineInterval,
    /// Microseconds ahead of UTC.
    ahead: i64,
    base: Interval,
}

impl Zoned {
    pub(crate) fn of(interval: KlineInterval, minutes_ahead: i64) -> Zoned {
        let ahead = minutes_ahead * MINUTE_MICROS;
        let fits = |base: &Interval| ahead.unsigned_abs().is_multiple_of(base.micros());
        let shorter = [interval.base(), Interval::Hour, Interval::FifteenMinutes];
        let base = shorter.into_iter().find(|base| base.micros() <= interval.base().micros() && fits(base));
        // Candles shorter than a quarter of an hour begin at the same times everywhere.
        Zoned { interval, ahead, base: base.unwrap_or(interval.base()) }
    }

    /// Returns the interval of the market's own candles, if these are the same.
    pub(crate) fn kept(self) -> Option<Interval> {
        let KlineInterval::Kept(kept) = self.interval else { return None };
        (kept == self.base).then_some(kept)
    }

    /// Returns the interval of the candles that make it up.
    pub(crate) fn base(self) -> Interval {
        self.base
    }

    pub(crate) fn bases_max(self) -> usize {
        let each = self.interval.base().micros() / self.base.micros();
        self.interval.bases_max() * usize::try_from(each).unwrap_or(usize::MAX)
    }

    pub(crate) fn start_of(self, time: Time) -> Time {
        self.back(self.interval.start_of(self.there(time)))
    }

    pub(crate) fn end_of(self, start: Time) -> Time {
        self.back(self.interval.end_of(self.there(start)))
    }

    pub(crate) fn first_from(self, time: Time) -> Time {
        self.back(self.interval.first_from(self.there(time)))
    }

    pub(crate) fn join(self, candles: &mut Vec<Candle>, later: &Candle) {
        let start = self.start_of(later.start);
        match candles.last_mut() {
            Some(last) if last.start == start => last.extend(later),
            _ => candles.push(Candle { start, ..*later }),
        }
    }

    /// Returns the time on the zone's clock.
    fn there(self, time: Time) -> Time {
        Time(time.0.saturating_add_signed(self.ahead))
    }

    fn back(self, time: Time) -> Time {
        Time(time.0.saturating_add_signed(-self.ahead))
    }
}

/// Reads minutes ahead of UTC: `-1:00`, `05:45`, `0`.
pub(crate) fn time_zone(text: &str) -> Result<i64, Refusal> {
    let invalid = || Refusal::invalid("timeZone", "it is hours, or hours and minutes, from -12:00 to +14:00");
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
    let number = |text: &str| Some(text).filter(|text| digits(text) && text.len() <= 2)?.parse::<i64>().ok();
    let (hours, minutes) = number(hours).zip(number(minutes)).ok_or_else(invalid)?;
    let ahead = sign * (hours * 60 + minutes);
    if minutes < 60 && (-12 * 60..=14 * 60).contains(&ahead) { Ok(ahead) } else { Err(invalid()) }
}

/// Reads the time zone of candles, which are made of quarters of an hour.
pub(crate) fn time_zone_of_candles(text: &str) -> Result<i64, Refusal> {
    let ahead = time_zone(text)?;
    match ahead % 15 {
        0 => Ok(ahead),
        _ => Err(Refusal::invalid("timeZone", "its minutes are 00, 15, 30 or 45")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HOUR: u64 = 3_600_000_000;

    #[test]
    fn candles_begin_by_the_clock_of_their_zone() {
        let noon = Time(20_000 * 24 * HOUR + 12 * HOUR);
        for (name, minutes, start, base, bases) in [
            ("1d", 0, 0, Interval::Day, 1),
            ("1d", 120, 22, Interval::Hour, 24),
            ("1d", -120, 2, Interval::Hour, 24),
            ("1d", 14 * 60, 10, Interval::Hour, 24),
            ("4h", 60, 11, Interval::Hour, 4),
            ("1h", 60, 12, Interval::Hour, 1),
            ("15m", 345, 12, Interval::FifteenMinutes, 1),
            ("1s", 345, 12, Interval::Second, 1),
        ] {
            let zoned = Zoned::of(KlineInterval::parse(name).unwrap(), minutes);
            assert_eq!((zoned.base(), zoned.bases_max()), (base, bases), "{name} {minutes}");
            let begun = zoned.start_of(noon);
            assert_eq!((begun.0 / HOUR) % 24, start, "{name} {minutes}");
            assert!(begun <= noon && zoned.end_of(begun) > noon);
            assert_eq!((zoned.first_from(begun), zoned.start_of(begun)), (begun, begun));
            assert_eq!(zoned.kept().is_some(), bases == 1);
        }
        let quarter = Zoned::of(KlineInterval::parse("1h").unwrap(), 345);
        assert_eq!((quarter.base(), quarter.bases_max(), quarter.kept()), (Interval::FifteenMinutes, 4, None));
        assert_eq!(quarter.start_of(noon), Time(noon.0 - HOUR / 4 * 3), "at a quarter past");
        let month = Zoned::of(KlineInterval::Month, 330);
        assert_eq!((month.base(), month.bases_max()), (Interval::FifteenMinutes, 31 * 96));
    }

    #[test]
    fn zones_are_written_in_hours_and_minutes() {
        for (text, minutes) in [("0", 0), ("-1:00", -60), ("05:45", 345), ("+14", 840), ("-12:00", -720)] {
            assert_eq!(time_zone(text), Ok(minutes), "{text}");
        }
        for wrong in ["", "x", "14:01", "-12:01", "1:60", "1:2:3", "--1", "100"] {
            assert!(time_zone(wrong).is_err(), "{wrong}");
        }
        assert!(time_zone_of_candles("5:45").is_ok() && time_zone_of_candles("5:40").is_err());
    }
}
