//! Schedules of open loops, and the processor time of a thread.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The times at which requests must leave, at an even rate. Computed from the start each time, so that no rounding adds
/// up.
pub struct Schedule {
    pub start: Instant,
    pub rate: f64,
    /// Requests before the next one.
    pub number: u64,
}

impl Schedule {
    /// Returns the time at which the next request must leave.
    pub fn next(&self) -> Instant {
        self.start + Duration::from_secs_f64(self.number as f64 / self.rate)
    }
}

/// Shortens waits by `spin`, since the system sleeps by the millisecond; shorter ones become zero.
pub fn coarse(spin: Duration) -> impl Fn(Duration) -> Duration {
    move |wait| wait.saturating_sub(spin)
}

/// Returns the processor time that this thread used so far.
pub fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_even_and_rounding_does_not_add_up() {
        let start = Instant::now();
        let schedule = Schedule { start, rate: 3.0, number: 3_000_000 };
        assert_eq!(schedule.next() - start, Duration::from_secs(1_000_000));
    }
}
