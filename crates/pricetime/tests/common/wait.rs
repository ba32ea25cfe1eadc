//! Waiting for a condition, never for a length of time alone.

use std::time::{Duration, Instant};

/// Looks every few milliseconds until `found` gives something. Panics after `patience`, saying what was awaited.
pub fn wait_for<T>(what: &str, patience: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < patience, "waited {patience:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until something holds.
pub fn wait_until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    wait_for(what, patience, || holds().then_some(()));
}
