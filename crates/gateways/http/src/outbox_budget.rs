//! Bounds the bytes that wait for all connections together, so that many clients that do not read cost no more than a
//! few.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes that may wait for all clients together, with a message for several clients counted once. Past it, the client
/// with the most is disconnected.
const HELD_MAX: usize = 256 * 1024 * 1024;

/// A holder of bytes that wait.
pub(crate) trait Holder: Debug + Send + Sync {
    /// Returns how many bytes it holds.
    fn held(&self) -> usize;

    /// Ends its connection: its client proved too slow.
    fn overflow(&self);
}

/// All outboxes of a server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutboxBudget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: AtomicUsize,
    /// Bytes of all messages that were made, each counted once however many clients get it.
    made: AtomicU64,
    /// Clients that proved too slow.
    too_slow: AtomicU64,
    outboxes: Mutex<HashMap<u64, Weak<dyn Holder>>>,
}

/// A number of bytes, counted until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    budget: OutboxBudget,
    bytes: usize,
}

impl CountedBytes {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.0.held.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn take(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.budget.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.budget.0.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl OutboxBudget {
    /// Counts bytes that are held from now on.
    pub(crate) fn count(&self, bytes: usize) -> CountedBytes {
        self.0.held.fetch_add(bytes, Ordering::Relaxed);
        CountedBytes { budget: self.clone(), bytes }
    }

    /// Counts the bytes of a message that was made, which are held from now on.
    pub(crate) fn count_made(&self, bytes: usize) -> CountedBytes {
        self.0.made.fetch_add(bytes as u64, Ordering::Relaxed);
        self.count(bytes)
    }

    /// Returns the bytes of all messages that were made so far.
    pub(crate) fn made(&self) -> u64 {
        self.0.made.load(Ordering::Relaxed)
    }

    /// Counts a client that proved too slow.
    pub(crate) fn count_too_slow(&self) {
        self.0.too_slow.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many clients proved too slow so far.
    pub(crate) fn too_slow(&self) -> u64 {
        self.0.too_slow.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, number: u64, outbox: Weak<dyn Holder>) {
        self.lock().insert(number, outbox);
    }

    pub(crate) fn remove(&self, number: u64) {
        self.lock().remove(&number);
    }

    /// Returns the bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Ends the connections for which the most waits, until all of them together are within the bound.
    pub(crate) fn relieve(&self) {
        while self.0.held.load(Ordering::Relaxed) > HELD_MAX {
            let outboxes: Vec<Arc<dyn Holder>> = self.lock().values().filter_map(Weak::upgrade).collect();
            let largest = outboxes.iter().max_by_key(|outbox| outbox.held());
            match largest.filter(|outbox| outbox.held() > 0) {
                Some(outbox) => outbox.overflow(),
                // The rest is being handed over, or has no holder.
                None => return,
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Weak<dyn Holder>>> {
        self.0.outboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
