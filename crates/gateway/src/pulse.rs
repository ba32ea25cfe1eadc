//! How long the parts of an answer take, written down once a turn by whoever does them, and read by whoever watches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest time that is told apart, in microseconds; longer ones count as this.
const MICROS_MAX: u64 = 600_000_000;
const OPS_MAX: u64 = 1 << 24;

/// A shared handle; clones write and read the same figures.
#[derive(Clone, Debug)]
pub struct Pulse(Arc<Mutex<Beats>>);

/// What was written down since it was last taken. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Beats {
    /// Of each request, from its batch's way in to its way out: waiting, journaling, applying.
    pub latency: Histogram<u64>,
    /// Of each turn: writing the journal and waiting for the disk.
    pub journal: Histogram<u64>,
    /// Of each turn: applying its commands and answering its queries.
    pub apply: Histogram<u64>,
    /// Commands and queries of each turn.
    pub ops: Histogram<u64>,
    /// Commands and queries that waited when the last turn began, those of the turn included.
    pub queue: u64,
}

/// One turn of the sequencer.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub journal: Duration,
    pub apply: Duration,
    pub ops: usize,
    /// What waited when it began, itself included.
    pub queue: usize,
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse::new()
    }
}

impl Pulse {
    /// Nothing written down yet.
    pub fn new() -> Pulse {
        Pulse(Arc::new(Mutex::new(Beats::new())))
    }

    /// So many requests came back after so long.
    pub fn answered(&self, requests: usize, took: Duration) {
        self.lock().latency.saturating_record_n(micros(took), requests as u64);
    }

    /// A turn is over.
    pub fn turned(&self, turn: Turn) {
        let mut beats = self.lock();
        beats.journal.saturating_record(micros(turn.journal));
        beats.apply.saturating_record(micros(turn.apply));
        beats.ops.saturating_record(turn.ops as u64);
        beats.queue = turn.queue as u64;
    }

    /// Gives what was written down since the last time, and begins anew.
    pub fn take(&self) -> Beats {
        std::mem::replace(&mut *self.lock(), Beats::new())
    }

    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beats {
    fn new() -> Beats {
        let histogram = |most| Histogram::new_with_bounds(1, most, 2).expect("invariant: the bounds are sound");
        Beats {
            latency: histogram(MICROS_MAX),
            journal: histogram(MICROS_MAX),
            apply: histogram(MICROS_MAX),
            ops: histogram(OPS_MAX),
            queue: 0,
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(MICROS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_not_told_again() {
        let pulse = Pulse::new();
        let writer = pulse.clone();
        writer.answered(99, Duration::from_micros(100));
        writer.answered(1, Duration::from_secs(3600));
        let (journal, apply) = (Duration::from_micros(80), Duration::ZERO);
        writer.turned(Turn { journal, apply, ops: 25, queue: 30 });
        let beats = pulse.take();
        assert_eq!((beats.latency.len(), beats.latency.value_at_quantile(0.5)), (100, 100));
        assert_eq!(beats.latency.max(), beats.latency.highest_equivalent(MICROS_MAX));
        assert_eq!((beats.journal.len(), beats.apply.len(), beats.ops.max(), beats.queue), (1, 1, 25, 30));
        assert!(pulse.take().latency.is_empty());
    }
}
