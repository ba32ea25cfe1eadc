//! Times as FIX 4.4 writes them: `20260131-12:34:56.789`, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use terms::Time;

/// The last microsecond of the year 9999: no later time has a text.
const LAST: u64 = 253_402_300_799_999_999;

/// Writes a time to the millisecond. A time past the year 9999 is written as the end of that year.
pub(crate) fn written(time: Time) -> String {
    let text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(time.0.min(LAST))).to_string();
    let mut parts = text.trim_end_matches('Z').split('T');
    let (date, clock) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{}-{clock}", date.replace('-', ""))
}

/// Returns the clock's time.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Reads a time, with or without parts of a second. Returns `None` for a text that is no time.
pub(crate) fn read(text: &str) -> Option<Time> {
    let (date, clock) = text.split_once('-')?;
    if date.len() != 8 || !date.is_ascii() {
        return None;
    }
    let rfc3339 = format!("{}-{}-{}T{clock}Z", &date[..4], &date[4..6], &date[6..]);
    let since = humantime::parse_rfc3339(&rfc3339).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_micros()).ok().map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_other_texts_are_not() {
        assert_eq!(written(Time(1_798_720_496_789_012)), "20261231-12:34:56.789");
        assert_eq!(written(Time(u64::MAX)), "99991231-23:59:59.999");
        assert_eq!(read("20261231-12:34:56.789012"), Some(Time(1_798_720_496_789_012)));
        assert_eq!(read("20261231-12:34:56"), Some(Time(1_798_720_496_000_000)));
        for not in
            ["", "20261231", "2026-12-31T12:34:56", "20261331-12:34:56", "19690101-00:00:00", "2026123é-12:34:56"]
        {
            assert_eq!(read(not), None, "{not}");
        }
    }
}
