//! Times as these clients send and expect them: milliseconds, or microseconds if they ask for those.

use axum::http::{HeaderMap, HeaderName};
use feed::Candle;
use terms::Time;

use crate::kline::KlineInterval;
use crate::refusal::Refusal;
use http_gateway::clock;

/// The unit of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum TimeUnit {
    #[default]
    Millisecond,
    Microsecond,
}

const HEADER: HeaderName = HeaderName::from_static("x-mbx-time-unit");
/// The number from which a time counts as microseconds: this many milliseconds are in the year 5138, and this many
/// microseconds in 1973.
const MICROSECONDS_FROM: u64 = 100_000_000_000_000;

impl TimeUnit {
    pub(crate) const ALL: [TimeUnit; 2] = [TimeUnit::Millisecond, TimeUnit::Microsecond];

    /// Reads the unit from the headers of a request.
    pub(crate) fn of(headers: &HeaderMap) -> Result<TimeUnit, Refusal> {
        let Some(asked) = headers.get(HEADER) else { return Ok(TimeUnit::default()) };
        asked
            .to_str()
            .ok()
            .and_then(TimeUnit::parse)
            .ok_or_else(|| Refusal::illegal("X-MBX-TIME-UNIT", "MILLISECOND, MICROSECOND"))
    }

    pub(crate) fn parse(name: &str) -> Option<TimeUnit> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match () {
            () if is("MILLISECOND") => Some(TimeUnit::Millisecond),
            () if is("MICROSECOND") => Some(TimeUnit::Microsecond),
            () => None,
        }
    }

    pub(crate) fn tell(self, time: Time) -> u64 {
        match self {
            TimeUnit::Millisecond => time.0 / 1000,
            TimeUnit::Microsecond => time.0,
        }
    }

    /// Returns this machine's time.
    pub(crate) fn now(self) -> u64 {
        self.tell(Time(clock::now()))
    }

    /// Returns the last moment before a time.
    pub(crate) fn tell_before(self, end: Time) -> u64 {
        self.tell(end).saturating_sub(1)
    }

    /// Returns the end of a candle.
    pub(crate) fn tell_end(self, candle: &Candle, interval: KlineInterval) -> u64 {
        self.tell_before(interval.end_of(candle.start))
    }
}

/// Reads a time of a client, in either unit.
pub(crate) fn sent(number: u64) -> Time {
    match number < MICROSECONDS_FROM {
        true => Time(number.saturating_mul(1000)),
        false => Time(number),
    }
}

/// Returns the end of the moment that a client named: the whole last millisecond counts where it sent milliseconds.
pub(crate) fn end_of_sent(number: u64) -> Time {
    let moment = if number < MICROSECONDS_FROM { 1000 } else { 1 };
    Time(sent(number).0.saturating_add(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_understood_in_either_unit() {
        assert_eq!(sent(1_700_000_000_123), Time(1_700_000_000_123_000));
        assert_eq!(sent(1_700_000_000_123_456), Time(1_700_000_000_123_456));
        assert_eq!(end_of_sent(1_700_000_000_123), Time(1_700_000_000_124_000));
        assert_eq!(end_of_sent(1_700_000_000_123_456), Time(1_700_000_000_123_457));
        assert_eq!(sent(u64::MAX), Time(u64::MAX));
        assert_eq!(end_of_sent(u64::MAX), Time(u64::MAX));
    }
}
