//! The number of a connection's subscriptions. A subscription also ends by itself, when what it needs cannot be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The count; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicCount(Arc<AtomicUsize>);

impl TopicCount {
    /// Counts subscriptions that have begun.
    pub(crate) fn began(&self, topics: usize) {
        self.0.fetch_add(topics, Ordering::Relaxed);
    }

    /// Counts subscriptions that have ended, each of which was counted when it began.
    pub(crate) fn ended(&self, topics: usize) {
        self.0.fetch_sub(topics, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
