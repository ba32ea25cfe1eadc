//! Telling those who wait for the database to stop.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a wait looks whether it was told to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

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

/// What `future` gives, unless `stop` is told before: then none.
pub(crate) async fn unless_stopped<T>(future: impl Future<Output = T>, stop: &Stop) -> Option<T> {
    let mut future = pin!(future);
    loop {
        match tokio::time::timeout(LOOK_EVERY, &mut future).await {
            Ok(value) => return Some(value),
            Err(_) if stop.is_told() => return None,
            Err(_) => {}
        }
    }
}
