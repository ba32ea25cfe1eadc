//! The options of a loop over a ledger in memory.

use std::time::Duration;

use exchange::Metrics;
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::timekeeper::Clock;
use market::turn::TurnOptions;
use terms::Time;

/// The options of a loop with this clock.
pub fn options(now: impl Fn() -> Time + Send + Sync + 'static) -> TurnOptions {
    TurnOptions {
        limits: AnswerLimits { request_executions_max: 100 },
        bounds: Bounds::NONE,
        metrics: Metrics::new(&[]),
        clock: Clock::steady(now),
        clock_leap_max: Duration::from_secs(1 << 30),
        calendar: Calendar::default(),
        audit: false,
    }
}
