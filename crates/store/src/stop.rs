//! Telling those who wait for the database to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Told by one thread, looked at by those that wait for the database.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Not yet told.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Ends waits, within a tenth of a second.
    pub fn tell(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was told.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
