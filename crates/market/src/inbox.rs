//! Where gateways leave batches for the loop: one push and at most one wake a batch. Which of them the next turn takes,
//! [`crate::waiting_batches`] says.
//! Unbounded, because every gateway reserves the room for its requests before it reads them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use exchange::Batch;

use crate::waiting_batches::{Share, WaitingBatches};

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
    /// Something else than a batch came, that the loop is to look after.
    is_nudged: bool,
    /// Set while the loop sleeps, so that whoever pushes wakes it.
    asleep: bool,
}

/// Why `take` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// There are batches, and this is what was taken of them.
    Batches(Share),
    /// Nothing came in time.
    Nothing,
    /// Nothing is left and nothing will come.
    Closed,
}

impl Inbox {
    /// Leaves a batch. After `close` it is dropped: nobody would answer it.
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

    /// Appends the batches of the next turn to `batches`: all light ones, or heavy ones until they cost as much as
    /// `budget`. Waits for the first one, at most `patience`.
    pub fn take(&self, batches: &mut Vec<Box<Batch>>, patience: Option<Duration>, budget: u64) -> Arrived {
        let mut waiting = self.lock();
        while waiting.batches.is_empty() {
            if waiting.closed {
                return Arrived::Closed;
            }
            if std::mem::take(&mut waiting.is_nudged) {
                waiting.asleep = false;
                return Arrived::Nothing;
            }
            waiting.asleep = true;
            waiting = match patience {
                None => self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(patience) => {
                    let (mut waiting, timeout) =
                        self.arrived.wait_timeout(waiting, patience).unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() && waiting.batches.is_empty() && !waiting.closed && !waiting.is_nudged {
                        waiting.asleep = false;
                        return Arrived::Nothing;
                    }
                    waiting
                }
            };
        }
        waiting.asleep = false;
        Arrived::Batches(waiting.batches.take(batches, budget))
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

    /// How many ops wait.
    pub fn waiting_ops(&self) -> usize {
        self.lock().batches.ops()
    }

    /// What waits, for a loop that is not to take it.
    pub fn take_waiting(&self) -> Vec<Box<Batch>> {
        self.lock().batches.drain()
    }

    /// Whether nothing more will come.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Closes the inbox: `take` gives what is there, and then `Closed`.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
