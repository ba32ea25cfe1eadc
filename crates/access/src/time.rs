//! Times of keys, in whole seconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toml::value::{Datetime, Offset};

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seconds(pub(crate) i64);

impl From<SystemTime> for Seconds {
    fn from(time: SystemTime) -> Seconds {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
    }
}

/// Reads a time. Returns `None` if it lacks its day, its hour or its offset from UTC.
pub(crate) fn seconds_of(written: &Datetime) -> Option<Seconds> {
    let (date, time) = (written.date?, written.time?);
    let offset_minutes = match written.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_since_1970(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let minutes = i64::from(time.hour) * 60 + i64::from(time.minute) - offset_minutes;
    Some(Seconds(days * 86_400 + minutes * 60 + i64::from(time.second.unwrap_or(0))))
}

/// Writes a time in RFC 3339.
pub(crate) fn written(time: Seconds) -> String {
    let (days, second) = (time.0.div_euclid(86_400), time.0.rem_euclid(86_400));
    // Finds the year by steps: no year has more than 366 days, so the first guess is never too late.
    let mut year = 1970 + days / 366;
    while days_since_1970(year + 1, 1, 1) <= days {
        year += 1;
    }
    let month = (2..=12).take_while(|&month| days_since_1970(year, month, 1) <= days).last().unwrap_or(1);
    let day = days - days_since_1970(year, month, 1) + 1;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Counts days with years that begin in March, so that the day which some years lack is their last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days lie between the first of March of year 0 and 1970.
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (written, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2027-01-01T00:00:00Z", 1_798_761_600),
            ("2027-01-01T01:30:00+01:30", 1_798_761_600),
            ("2026-12-31T23:59:59-00:01", 1_798_761_659),
        ] {
            let parsed: Datetime = written.parse().expect("a time");
            assert_eq!(seconds_of(&parsed), Some(Seconds(seconds)), "{written}");
        }
        for text in ["1970-01-01T00:00:00Z", "2000-02-29T12:00:00Z", "2026-12-31T23:59:59Z", "2100-03-01T00:00:01Z"] {
            let parsed: Datetime = text.parse().expect("a time");
            assert_eq!(written(seconds_of(&parsed).expect("a whole one")), text);
        }
        for lacking in ["2027-01-01", "2027-01-01T00:00:00", "00:00:00"] {
            assert_eq!(seconds_of(&lacking.parse().expect("half a time")), None, "{lacking}");
        }
    }
}
