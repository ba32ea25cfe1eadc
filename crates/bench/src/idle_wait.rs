//! Checks whether the machine is busy with other things, and waits patiently until it is not.

use std::time::{Duration, Instant};

use crate::interrupt;
use crate::processor::busy_percent;

/// Percent of all cores above which other work disturbs a measurement.
pub const QUIET_PERCENT: f64 = 5.0;
/// Time of one look.
const LOOK: Duration = Duration::from_millis(300);
/// The longest time to wait in all, and the most repetitions of one measurement.
const WAIT_MAX: Duration = Duration::from_secs(20 * 60);
const REPEATS_MAX: u32 = 10;

/// The waiting time that is left.
pub struct IdleWait {
    left: Duration,
    repeats: u32,
}

impl IdleWait {
    /// Returns no patience, or that of `--patient`.
    pub fn new(patient: bool) -> IdleWait {
        IdleWait { left: if patient { WAIT_MAX } else { Duration::ZERO }, repeats: 0 }
    }

    /// Measures how busy the machine is, in percent, and waits until it is quiet as long as there is patience.
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

    /// Whether to repeat the measurement that was just made: the machine is not quiet now.
    pub fn wants_again(&mut self) -> bool {
        let again = !self.left.is_zero()
            && !interrupt::is_asked()
            && self.repeats < REPEATS_MAX
            && busy_percent(LOOK) > QUIET_PERCENT;
        self.repeats = if again { self.repeats + 1 } else { 0 };
        again
    }
}
