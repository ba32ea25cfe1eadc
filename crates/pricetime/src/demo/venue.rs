//! The receivers of the crowd's orders: a running server, or a market whose past is being made.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use exchange::{Answer, Batch, Exchange, GatewayMetrics};
use market::timekeeper::system_time;
use terms::{Op, Time};

/// Applies ops and answers them.
pub trait Venue {
    /// Sends ops. None when the market has ended.
    fn send(&mut self, ops: &[Op]) -> Option<Vec<Answer>>;

    /// The market's time, roughly.
    fn now(&self) -> Time;
}

/// A server's exchange: the crowd's orders take the same way as all others.
pub struct Live {
    exchange: Arc<dyn Exchange>,
    metrics: GatewayMetrics,
}

impl Live {
    pub fn new(exchange: Arc<dyn Exchange>, metrics: GatewayMetrics) -> Live {
        Live { exchange, metrics }
    }
}

impl Venue for Live {
    fn send(&mut self, ops: &[Op]) -> Option<Vec<Answer>> {
        let (back, answered) = channel();
        let mut batch = Batch::detached(back);
        batch.requests.push(ops);
        self.metrics.hand_in(batch, self.exchange.as_ref());
        let batch = answered.recv().ok()?;
        // The crowd asks for no done orders.
        self.metrics.came_back(&batch, Instant::now(), |_| None);
        (!batch.is_abandoned()).then_some(batch.answers)
    }

    fn now(&self) -> Time {
        system_time()
    }
}
