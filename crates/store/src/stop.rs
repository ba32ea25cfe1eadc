//! A signal that ends waits for the database.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The interval at which a wait looks at the signal.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The signal: one thread gives it, and threads that wait for the database look at it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes a signal that was not given yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Ends waits, within a tenth of a second.
    pub fn tell(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the signal was given.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Returns the result of `future`, or none if `stop` is given before.
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
