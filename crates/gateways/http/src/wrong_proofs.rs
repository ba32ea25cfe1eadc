//! The wrong proofs that came over a connection, of which it may send a few.

use std::time::Duration;

use tokio::time::Instant;

/// Wrong proofs that one connection may send: verifying a signature takes tens of microseconds.
const WRONG_PROOFS_MAX: u32 = 4;
/// Time without another wrong proof after which those of a connection are forgotten: it may last for days, and serve
/// many keys.
const KEPT: Duration = Duration::from_secs(60);

/// A connection's wrong proofs.
#[derive(Debug, Default)]
pub(crate) struct WrongProofs {
    count: u32,
    last: Option<Instant>,
}

impl WrongProofs {
    pub(crate) fn add(&mut self, now: Instant) {
        let is_forgotten = self.last.is_some_and(|last| now.saturating_duration_since(last) >= KEPT);
        let before = if is_forgotten { 0 } else { self.count };
        *self = WrongProofs { count: before.saturating_add(1), last: Some(now) };
    }

    /// Whether as many came as one connection may send.
    pub(crate) fn are_too_many(&self) -> bool {
        self.count >= WRONG_PROOFS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that lasted for days ended by four mistakes in a month.
    #[test]
    fn wrong_proofs_are_forgotten_after_a_minute_without_one() {
        let (mut wrong, now) = (WrongProofs::default(), Instant::now());
        let mut are_too_many_after = |seconds: u64| {
            wrong.add(now + Duration::from_secs(seconds));
            wrong.are_too_many()
        };
        assert_eq!([0, 59, 118].map(&mut are_too_many_after), [false; 3]);
        assert_eq!([178, 179, 180].map(&mut are_too_many_after), [false; 3], "a minute behind the last one");
        assert!(are_too_many_after(239));
    }
}
