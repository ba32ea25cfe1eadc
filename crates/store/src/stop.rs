//! Telling a waiting writer to stop, and seeing from another thread whether the database is away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// Whether the database takes commits. Shared by the writer and whoever refuses requests while it does not.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Option<Instant>>>);

impl Health {
    /// How long the database has been away; none while it is there.
    pub fn away_for(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    pub(crate) fn is_away(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    }

    pub(crate) fn is_back(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
