//! Counts how many of something exist at the moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A shared count; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveCount(Arc<AtomicUsize>);

/// A thing, counted until it is dropped.
pub(crate) struct Present(LiveCount);

impl LiveCount {
    /// Counts one more.
    pub(crate) fn enter(&self) -> Present {
        self.0.fetch_add(1, Ordering::Relaxed);
        Present(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_dropped_is_counted_no_more() {
        let count = LiveCount::default();
        let first = count.enter();
        let second = count.clone().enter();
        assert_eq!(count.count(), 2);
        drop(first);
        assert_eq!(count.count(), 1);
        drop(second);
        assert_eq!(count.count(), 0);
    }
}
