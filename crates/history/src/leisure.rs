//! Seals and removes old parts in the pauses between two turns, a little at a time, so that neither the market nor a
//! reader waits for it.

use std::time::{Duration, Instant};

/// Of the time that it takes, so many times as much is left to others.
const REST: u32 = 4;
const REST_IF_BUSY: u32 = 9;
/// When there is nothing to do, it is looked for again after this time.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Leisure {
    next: Instant,
}

impl Leisure {
    pub(crate) fn new() -> Leisure {
        Leisure { next: Instant::now() }
    }

    /// Does a little, if it is time: `tend` says whether there was something to do. Gives how long until it is time again.
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
