//! The machine's time, and the market's, for what people look at. Commands have times of their own.

use std::time::{SystemTime, UNIX_EPOCH};

use feed::View;
use terms::Time;

/// Microseconds since the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The time that a trade would have which happened now. A candle is over, and a day is past, by this time: the
/// machine's clock may have leapt, and trades go on in the market's own time.
pub fn market_now(view: &View) -> Time {
    view.market_time().unwrap_or_else(|| Time(now()))
}
