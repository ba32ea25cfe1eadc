//! Where gateways leave batches for the loop: one push and at most one wake a batch.
//! Unbounded, because every gateway reserves the room for its requests before it reads them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use exchange::Batch;

/// Batches on their way to the loop.
#[derive(Default)]
pub struct Inbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    batches: Vec<Box<Batch>>,
    closed: bool,
    /// Something else than a batch came, that the loop is to look after.
    is_nudged: bool,
    /// Set while the loop sleeps, so that whoever pushes wakes it.
    asleep: bool,
}

/// Why `take` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// There are batches.
    Batches,
    /// Nothing came in time.
    Nothing,
    /// Nothing is left and nothing will come.
    Closed,
}

impl Inbox {
    /// Leaves a batch. After `close` it is dropped: nobody would answer it.
    pub fn push(&self, batch: Box<Batch>) {
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        waiting.batches.push(batch);
        if waiting.asleep {
            waiting.asleep = false;
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    /// Swaps all waiting batches into `batches`, which must be empty. Waits for the first one, at most `patience`.
    pub fn take(&self, batches: &mut Vec<Box<Batch>>, patience: Option<Duration>) -> Arrived {
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
        std::mem::swap(&mut waiting.batches, batches);
        Arrived::Batches
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
        self.lock().batches.iter().map(|batch| batch.requests.ops().len()).sum()
    }

    /// What waits, for a loop that is not to take it.
    pub fn take_waiting(&self) -> Vec<Box<Batch>> {
        std::mem::take(&mut self.lock().batches)
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
