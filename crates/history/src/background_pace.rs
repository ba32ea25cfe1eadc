//! The pace of background work: seals and removes old parts in the pauses between two turns, a little at a time, so
//! that neither the market nor a reader waits for it.

use std::time::{Duration, Instant};

/// The pause after background work, as a multiple of its time.
const REST: u32 = 4;
const REST_IF_BUSY: u32 = 9;
/// The time after which it looks again for work when there was none.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct BackgroundPace {
    next: Instant,
}

impl BackgroundPace {
    pub(crate) fn new() -> BackgroundPace {
        BackgroundPace { next: Instant::now() }
    }

    /// Does a little work, if it is time: `tend` returns whether there was any. Returns the time until the next.
    pub(crate) fn tend(&mut self, is_busy: bool, tend: impl FnOnce() -> bool) -> Duration {
        let begun = Instant::now();
        if self.next <= begun {
            let worked = tend();
            let now = Instant::now();
            let rest = (now - begun) * if is_busy { REST_IF_BUSY } else { REST };
            self.next = now + if worked { rest } else { PAUSE };
        }
        self.next.saturating_duration_since(begun)
    }
}
