//! Tests wait for a condition, never just for a length of time.

use std::time::{Duration, Instant};

/// Calls `found` every few milliseconds until it returns a value. Panics after `patience` and names what was awaited.
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

/// Waits until `holds` returns true.
pub fn wait_until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    wait_for(what, patience, || holds().then_some(()));
}
