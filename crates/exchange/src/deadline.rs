//! Deadlines that clients may ask for. This module does not know the unit of time of each protocol.

use terms::{Deadline, Time};

/// The last deadline, in the year 2255: clients that read microseconds as floating-point numbers, as JavaScript does,
/// read it exactly.
pub const DEADLINE_MAX: Time = Time((1 << 53) - 1);

/// The deadline at a time; `None` for the start of 1970 and for times past the last deadline.
pub fn deadline_at(time: Time) -> Option<Deadline> {
    Deadline::new(time).filter(|_| time <= DEADLINE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_from_the_first_microsecond_to_the_last_that_a_float_counts() {
        assert_eq!(deadline_at(Time(0)), None);
        assert_eq!(deadline_at(Time(1)).map(Deadline::time), Some(Time(1)));
        assert_eq!(deadline_at(DEADLINE_MAX).map(Deadline::time), Some(DEADLINE_MAX));
        assert_eq!(deadline_at(Time(DEADLINE_MAX.0 + 1)), None);
    }
}
