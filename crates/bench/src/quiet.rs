//! Whether the machine is busy with other things, and the patience to wait until it is not.

use std::time::{Duration, Instant};

use crate::interrupt;
use crate::processor::busy_percent;

/// More disturbs a measurement, in percent of all cores.
pub const QUIET_PERCENT: f64 = 5.0;
/// How long it is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// What is waited in all, and how often one measurement is made again.
const WAIT_MAX: Duration = Duration::from_secs(20 * 60);
const REPEATS_MAX: u32 = 10;

/// How long is still waited.
pub struct Patience {
    left: Duration,
    repeats: u32,
}

impl Patience {
    /// None, or that of `--patient`.
    pub fn new(patient: bool) -> Patience {
        Patience { left: if patient { WAIT_MAX } else { Duration::ZERO }, repeats: 0 }
    }

    /// Looks how busy the machine is, in percent, and waits until it is quiet as long as there is patience.
    pub fn await_quiet(&mut self) -> f64 {
        loop {
            let started = Instant::now();
            let busy = busy_percent(LOOK);
            if busy <= QUIET_PERCENT || self.left.is_zero() || interrupt::is_asked() {
                return busy;
            }
            self.left = self.left.saturating_sub(started.elapsed());
        }
    }

    /// Whether what was just measured is to be measured again: the machine is not quiet now.
    pub fn wants_again(&mut self) -> bool {
        let again = !self.left.is_zero()
            && !interrupt::is_asked()
            && self.repeats < REPEATS_MAX
            && busy_percent(LOOK) > QUIET_PERCENT;
        self.repeats = if again { self.repeats + 1 } else { 0 };
        again
    }
}
