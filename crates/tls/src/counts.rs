//! Counts of a gateway's handshakes, which its threads share. They tell no client apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counts of a gateway's handshakes and their results. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Handshakes(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    in_progress: AtomicUsize,
    waiting: AtomicUsize,
    done: AtomicU64,
    failed: AtomicU64,
    timed_out: AtomicU64,
    gave_way: AtomicU64,
    plain: AtomicU64,
}

/// The counts at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeCounts {
    /// Handshakes that have begun and not ended.
    pub in_progress: usize,
    /// Clients that have sent their first byte and wait until fewer handshakes are in progress.
    pub waiting: usize,
    pub done: u64,
    pub failed: u64,
    pub timed_out: u64,
    /// Handshakes of the address with the most of them that were ended because another address had none in progress.
    pub gave_way: u64,
    /// Clients that spoke no TLS.
    pub plain: u64,
}

/// Counts one more until it is dropped.
#[derive(Debug)]
pub struct InProgress(Arc<Inner>, fn(&Inner) -> &AtomicUsize);

impl Handshakes {
    /// Counts a handshake that begins.
    pub fn begin(&self) -> InProgress {
        self.count(|inner| &inner.in_progress)
    }

    /// Counts a client that waits for its handshake to begin.
    pub fn wait(&self) -> InProgress {
        self.count(|inner| &inner.waiting)
    }

    pub fn done(&self) {
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }

    pub fn failed(&self) {
        self.0.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn timed_out(&self) {
        self.0.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    pub fn gave_way(&self) {
        self.0.gave_way.fetch_add(1, Ordering::Relaxed);
    }

    pub fn spoke_plain(&self) {
        self.0.plain.fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> HandshakeCounts {
        let Inner { in_progress, waiting, done, failed, timed_out, gave_way, plain } = &*self.0;
        HandshakeCounts {
            in_progress: in_progress.load(Ordering::Relaxed),
            waiting: waiting.load(Ordering::Relaxed),
            done: done.load(Ordering::Relaxed),
            failed: failed.load(Ordering::Relaxed),
            timed_out: timed_out.load(Ordering::Relaxed),
            gave_way: gave_way.load(Ordering::Relaxed),
            plain: plain.load(Ordering::Relaxed),
        }
    }

    fn count(&self, which: fn(&Inner) -> &AtomicUsize) -> InProgress {
        which(&self.0).fetch_add(1, Ordering::Relaxed);
        InProgress(Arc::clone(&self.0), which)
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::Relaxed);
    }
}
