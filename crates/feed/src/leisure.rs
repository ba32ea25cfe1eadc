//! The history is tended to between two turns: little by little, so that neither the market nor whoever asks waits for it.

use std::time::{Duration, Instant};

use crate::feed::Scene;

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

    /// Does a little, if it is time. Gives how long until it is time again.
    pub(crate) fn tend<W>(&mut self, scene: &mut Scene<W>, is_busy: bool) -> Duration {
        let begun = Instant::now();
        if let Some(history) = scene.history.as_mut().filter(|_| self.next <= begun) {
            let worked = history.tend(scene.view.time());
            let now = Instant::now();
            let rest = (now - begun) * if is_busy { REST_IF_BUSY } else { REST };
            self.next = now + if worked { rest } else { PAUSE };
        }
        self.next.saturating_duration_since(begun)
    }
}
