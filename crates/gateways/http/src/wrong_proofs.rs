//! The wrong proofs that came over a connection, of which it may send a few, and its replays, of which it may send some
//! more.

use std::time::Duration;

use tokio::time::Instant;

/// Replays that one connection may send: verifying a signature takes tens of microseconds. An honest client sends some:
/// equal requests within a millisecond, or one again whose answer was lost.
const REPLAYS_MAX: u32 = 16;
/// Replays as which a wrong proof counts, so that the fourth is one too many.
const WRONG_PROOF: u32 = 4;
/// Time without another wrong proof or replay after which those of a connection are forgotten: it may last for days,
/// and serve many keys.
const KEPT: Duration = Duration::from_secs(60);

/// A connection's wrong proofs.
#[derive(Debug, Default)]
pub(crate) struct WrongProofs {
    /// Their number, in replays.
    count: u32,
    last: Option<Instant>,
}

impl WrongProofs {
    pub(crate) fn add(&mut self, now: Instant) {
        self.add_replays(WRONG_PROOF, now);
    }

    /// Adds a signed request that came before.
    pub(crate) fn add_replay(&mut self, now: Instant) {
        self.add_replays(1, now);
    }

    fn add_replays(&mut self, count: u32, now: Instant) {
        let is_forgotten = self.last.is_some_and(|last| now.saturating_duration_since(last) >= KEPT);
        let before = if is_forgotten { 0 } else { self.count };
        *self = WrongProofs { count: before.saturating_add(count), last: Some(now) };
    }

    /// Whether as many came as one connection may send.
    pub(crate) fn are_too_many(&self) -> bool {
        self.count >= REPLAYS_MAX
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

    #[test]
    fn four_replays_count_as_one_wrong_proof() {
        let (mut wrong, now) = (WrongProofs::default(), Instant::now());
        (0..3).for_each(|_| wrong.add(now));
        (0..3).for_each(|_| wrong.add_replay(now));
        assert!(!wrong.are_too_many());
        wrong.add_replay(now);
        assert!(wrong.are_too_many());
    }
}
