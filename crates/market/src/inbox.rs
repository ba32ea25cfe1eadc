//! The place where gateways leave batches for the loop: one push and at most one wake for each batch.
//! [`crate::waiting_batches`] decides which of them the next turn takes. It is unbounded, because every gateway
//! reserves the room for its requests before it reads them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::{Batch, Lag};

use crate::waiting_batches::{Share, WaitingBatches};

/// The longest sleep while batches wait for followers of the market, before the loop asks for their lag again.
const FOR_FOLLOWERS: Duration = Duration::from_millis(1);

/// Batches on their way to the loop.
#[derive(Default)]
pub struct Inbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    batches: WaitingBatches,
    closed: bool,
    /// Whether something else than a batch came, after which the loop has to look.
    is_nudged: bool,
    /// Whether the loop sleeps, so that a push wakes it.
    asleep: bool,
}

/// The reason why `take` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Batches came, and this is the share that was taken.
    Batches(Share),
    /// No batch came in time that may be taken.
    Nothing,
    /// No batch is left and none will come.
    Closed,
}

impl Waiting {
    /// Whether a turn may take a batch while followers have this lag.
    fn has_next(&self, lag: Lag) -> bool {
        self.batches.has_next(self.lag_that_counts(lag))
    }

    /// The lag for which batches wait. When none come any more, followers slow the loop down by themselves.
    fn lag_that_counts(&self, lag: Lag) -> Lag {
        if self.closed { Lag::None } else { lag }
    }
}

impl Inbox {
    /// Leaves a batch. After `close` it is dropped, because nobody would answer it.
    pub fn push(&self, batch: Box<Batch>) {
        let cost = batch.source.map_or(0, |_| batch.cost());
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        waiting.batches.push(batch, cost);
        if waiting.asleep {
            waiting.asleep = false;
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    /// Appends the batches of the next turn to `batches`: all light ones, or heavy ones up to a cost of `budget`. Waits
    /// for the first one, at most `patience`. While followers have a `lag`, batches that would take them further wait,
    /// until the inbox is closed: then everything is taken.
    pub fn take(&self, batches: &mut Vec<Box<Batch>>, patience: Option<Duration>, budget: u64, lag: Lag) -> Arrived {
        let mut waiting = self.lock();
        // Batches that wait for followers may come more often than the loop is to look, so both times are fixed here.
        let mut until = None;
        while !waiting.has_next(lag) {
            if waiting.closed {
                return Arrived::Closed;
            }
            let now = Instant::now();
            let (look, end) = *until.get_or_insert((now + FOR_FOLLOWERS, patience.map(|patience| now + patience)));
            let end = if waiting.batches.is_empty() { end } else { Some(end.map_or(look, |end| end.min(look))) };
            let left = end.map(|end| end.saturating_duration_since(now));
            if std::mem::take(&mut waiting.is_nudged) || left.is_some_and(|left| left.is_zero()) {
                waiting.asleep = false;
                return Arrived::Nothing;
            }
            waiting.asleep = true;
            waiting = match left {
                None => self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.arrived.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        waiting.asleep = false;
        let lag = waiting.lag_that_counts(lag);
        Arrived::Batches(waiting.batches.take(batches, budget, lag))
    }

    /// Has the loop look after its ledger, though no batch came.
    pub fn nudge(&self) {
        let mut waiting = self.lock();
        waiting.is_nudged = true;
        if std::mem::take(&mut waiting.asleep) {
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    /// The number of waiting ops.
    pub fn waiting_ops(&self) -> usize {
        self.lock().batches.ops()
    }

    /// Takes everything that waits, for a loop that is not to take it.
    pub fn take_waiting(&self) -> Vec<Box<Batch>> {
        self.lock().batches.drain()
    }

    /// Whether the inbox is closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Closes the inbox: `take` returns the batches that are there, and then `Closed`.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
