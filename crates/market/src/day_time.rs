//! Times of days in a zone: of each day, of days of the week, or of one date. This file knows no symbols and no phases.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use terms::Time;

/// A zone of a calendar, and the dates on which its lines without a date are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) zone: TimeZone,
    pub(crate) closed: BTreeSet<civil::Date>,
}

impl Zone {
    pub(crate) fn new(zone: TimeZone) -> Zone {
        Zone { zone, closed: BTreeSet::new() }
    }

    fn date_at(&self, time: Time) -> Option<civil::Date> {
        let time = Timestamp::from_microsecond(i64::try_from(time.0).ok()?).ok()?;
        Some(self.zone.to_datetime(time).date())
    }
}

/// The days of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Days {
    /// Days of the week, one bit each, Monday's the lowest; never none of them.
    Week(u8),
    Date(civil::Date),
}

impl Days {
    pub(crate) const EACH: Days = Days::Week(0x7f);
}

/// A time of some days, in a zone of the calendar. Where clocks are put forward over it, it comes by the same later; of
/// a time that comes twice it is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DayTime {
    /// The zone's index.
    pub(crate) zone: usize,
    pub(crate) days: Days,
    pub(crate) time: civil::Time,
}

impl DayTime {
    /// The first time after another; none behind a single date.
    pub(crate) fn after(&self, zones: &[Zone], time: Time) -> Option<Time> {
        let zone = zones.get(self.zone)?;
        if let Days::Date(date) = self.days {
            return self.on(zone, date).filter(|at| *at > time);
        }
        let mut date = zone.date_at(time)?;
        loop {
            if let Some(at) = self.on(zone, date).filter(|at| *at > time) {
                return Some(at);
            }
            date = date.tomorrow().ok()?;
        }
    }

    /// The last time that is after `from` and not after `through`.
    pub(crate) fn last(&self, zones: &[Zone], from: Time, through: Time) -> Option<Time> {
        let zone = zones.get(self.zone)?;
        let is_within = |at: &Time| *at > from && *at <= through;
        if let Days::Date(date) = self.days {
            return self.on(zone, date).filter(is_within);
        }
        let (first, mut date) = (zone.date_at(from)?, zone.date_at(through)?);
        loop {
            if let Some(at) = self.on(zone, date).filter(is_within) {
                return Some(at);
            }
            date = date.yesterday().ok().filter(|date| *date >= first)?;
        }
    }

    /// Its time on a date; none if that is no day of it.
    fn on(&self, zone: &Zone, date: civil::Date) -> Option<Time> {
        let is_its_day = match self.days {
            Days::Week(days) => days & 1 << date.weekday().to_monday_zero_offset() != 0 && !zone.closed.contains(&date),
            Days::Date(of) => of == date,
        };
        let at = zone.zone.to_timestamp(date.to_datetime(self.time)).ok().filter(|_| is_its_day)?;
        u64::try_from(at.as_microsecond()).ok().map(Time)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const MINUTE_US: u64 = 60 * 1_000_000;

    fn zone(name: &str, closed: &[&str]) -> Zone {
        let closed = closed.iter().map(|date| date.parse().unwrap()).collect();
        Zone { zone: TimeZone::get(name).unwrap(), closed }
    }

    fn time(text: &str) -> Time {
        Time(u64::try_from(text.parse::<Timestamp>().unwrap().as_microsecond()).unwrap())
    }

    fn at(days: Days, time: civil::Time) -> DayTime {
        DayTime { zone: 0, days, time }
    }

    #[test]
    fn a_time_of_a_zone_moves_with_its_summer_time() {
        let zones = [zone("America/New_York", &[])];
        let open = at(Days::EACH, civil::time(9, 30, 0, 0));
        for (now, next) in [
            ("2026-03-07T12:00:00Z", "2026-03-07T14:30:00Z"),
            ("2026-03-07T14:30:00Z", "2026-03-08T13:30:00Z"),
            ("2026-11-01T00:00:00Z", "2026-11-01T14:30:00Z"),
        ] {
            assert_eq!(open.after(&zones, time(now)), Some(time(next)), "{now}");
        }
        // On that day clocks go from 02:00 to 03:00, and on the other from 02:00 back to 01:00.
        let gap = at(Days::EACH, civil::time(2, 30, 0, 0));
        assert_eq!(gap.after(&zones, time("2026-03-08T05:30:00Z")), Some(time("2026-03-08T07:30:00Z")));
        let twice = at(Days::EACH, civil::time(1, 30, 0, 0));
        assert_eq!(twice.after(&zones, time("2026-11-01T04:30:00Z")), Some(time("2026-11-01T05:30:00Z")));
        assert_eq!(twice.after(&zones, time("2026-11-01T05:30:00Z")), Some(time("2026-11-02T06:30:00Z")));
    }

    /// Walks through the minutes of a span, and looks at each whether a clock on the wall shows the time.
    fn minutes_of(day: &DayTime, zone: &Zone, from: Time, through: Time) -> Vec<Time> {
        let mut seen: Vec<(civil::Date, Time)> = Vec::new();
        for minute in from.0 / MINUTE_US + 1..=through.0 / MINUTE_US {
            let now = Timestamp::from_second(i64::try_from(minute * 60).unwrap()).unwrap();
            let wall = zone.zone.to_datetime(now);
            let is_its_day = match day.days {
                Days::Week(days) => {
                    let of_week = days >> wall.weekday().to_monday_zero_offset() & 1 == 1;
                    of_week && !zone.closed.contains(&wall.date())
                }
                Days::Date(date) => wall.date() == date,
            };
            let before = seen.last().map(|(date, _)| *date);
            if is_its_day && wall.time() == day.time && before != Some(wall.date()) {
                seen.push((wall.date(), Time(minute * MINUTE_US)));
            }
        }
        seen.into_iter().map(|(_, at)| at).collect()
    }

    /// Hours that no zone's clocks leave out: a gap is told above.
    #[test]
    fn next_and_last_times_are_those_that_a_clock_on_the_wall_shows() {
        let (from, through) = (time("2026-09-01T00:00:00Z"), time("2027-05-01T00:00:00Z"));
        for (name, closed) in [
            ("UTC", &["2026-12-25"][..]),
            ("America/New_York", &["2026-11-26", "2026-12-25", "2027-01-01"]),
            ("Europe/Berlin", &["2026-12-24", "2026-12-25", "2026-12-26", "2026-12-31"]),
            ("Australia/Lord_Howe", &[]),
            ("Asia/Kathmandu", &["2026-10-19", "2026-10-20", "2026-10-21", "2026-10-22", "2026-10-23"]),
        ] {
            let zones = [zone(name, closed)];
            for days in
                [Days::EACH, Days::Week(0b001_1111), Days::Week(0b100_0001), Days::Date(civil::date(2026, 12, 25))]
            {
                for wall in [civil::time(0, 0, 0, 0), civil::time(9, 30, 0, 0), civil::time(23, 59, 0, 0)] {
                    let day = at(days, wall);
                    let all = minutes_of(&day, &zones[0], from, through);
                    let mut walked = Vec::new();
                    let mut now = from;
                    while let Some(next) = day.after(&zones, now).filter(|next| *next <= through) {
                        walked.push(next);
                        now = next;
                    }
                    assert_eq!(walked, all, "{name} {days:?} {wall}");
                    for hours in 0..500 {
                        let later = |minutes: u64| Time((from.0 + minutes * MINUTE_US).min(through.0));
                        let (from, through) = (later(hours * 60), later(hours * 700));
                        let last = all.iter().rev().find(|at| **at > from && **at <= through).copied();
                        assert_eq!(
                            day.last(&zones, from, through),
                            last,
                            "{name} {days:?} {wall} {from:?} {through:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn times_that_no_clock_shows_come_never() {
        let zones = [zone("UTC", &[])];
        let day = at(Days::EACH, civil::time(9, 0, 0, 0));
        assert_eq!(day.after(&zones, Time(u64::MAX)), None);
        assert_eq!(day.last(&zones, Time(0), Time(u64::MAX)), None);
        assert_eq!(day.after(&zones, time("9999-12-30T22:00:00Z")), None);
    }
}
