//! A market before a commit queue that a test steps, without a thread. It knows no database.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use engine::Engine;
use exchange::{EventSink, Metrics};
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::timekeeper::Clock;
use market::turn::{MarketLoop, TurnOptions};
use terms::OrderId;

use crate::commit_queue::CommitQueue;
use crate::sql_ledger::SqlLedger;

/// A patience that no test outlives.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(3600);
/// Limits above those that any request of a test reaches.
const LIMITS: AnswerLimits = AnswerLimits { request_executions_max: 25_000 };

/// Makes a loop before a queue, and the channel of the orders that it may forget.
pub(crate) fn turn_before(
    queue: &Arc<CommitQueue>,
    engine: Engine,
    events: Option<EventSink>,
    (clock, calendar): (Clock, Calendar),
) -> (MarketLoop<SqlLedger>, Sender<Vec<OrderId>>) {
    let (committed, forgotten) = channel();
    let options = TurnOptions {
        limits: LIMITS,
        bounds: Bounds::NONE,
        metrics: Metrics::new(&[]),
        clock,
        clock_leap_max: Duration::from_secs(366 * 86_400),
        calendar,
        audit: false,
    };
    (MarketLoop::new(engine, SqlLedger::new(queue.clone(), forgotten, events), options), committed)
}
