//! Deadlines that clients may ask for. It does not know in which unit a protocol says times.

use engine::{Deadline, Time};

/// The last one, in the year 2255: whoever reads microseconds as floating-point numbers, as JavaScript does, reads it exactly.
pub const DEADLINE_MAX: Time = Time((1 << 53) - 1);

/// The deadline at a time; none at the beginning of 1970, and past the last one.
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
