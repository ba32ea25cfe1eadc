//! Which signed requests were taken lately: each is taken once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// So many are remembered in each of two stretches of time.
const REMEMBERED_MAX: usize = 1 << 20;

/// A part of the digest of what was signed: what is signed again is known by what it says, and not by how its signature is written.
type Mark = [u8; 16];

/// Those of two stretches of time, the last one and this one.
pub(crate) struct Replays {
    lasting: Duration,
    seen: Mutex<Seen>,
}

struct Seen {
    since: Instant,
    this: HashSet<Mark>,
    last: HashSet<Mark>,
}

/// Why a signed request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Again,
    /// Nothing is forgotten before its time, so nothing more can be remembered.
    Full,
}

impl Replays {
    /// Each is remembered for so long at least.
    pub(crate) fn lasting(lasting: Duration) -> Replays {
        let seen = Seen { since: Instant::now(), this: HashSet::new(), last: HashSet::new() };
        Replays { lasting, seen: Mutex::new(seen) }
    }

    /// Takes what was signed with a key, unless it was taken before.
    pub(crate) fn take(&self, key: &str, text: &[&[u8]], now: Instant) -> Result<(), NotTaken> {
        let mut digest = Sha256::new();
        digest.update(key.as_bytes());
        digest.update([0]);
        text.iter().for_each(|part| digest.update(part));
        let digest = digest.finalize();
        let mut mark = Mark::default();
        mark.iter_mut().zip(digest.iter()).for_each(|(byte, of)| *byte = *of);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        if seen.last.contains(&mark) {
            return Err(NotTaken::Again);
        }
        if seen.this.len() >= REMEMBERED_MAX && !seen.this.contains(&mark) {
            return Err(NotTaken::Full);
        }
        seen.this.insert(mark).then_some(()).ok_or(NotTaken::Again)
    }
}

impl Seen {
    /// Forgets what was taken before the last stretch of time.
    fn go_on(&mut self, now: Instant, lasting: Duration) {
        let passed = now.saturating_duration_since(self.since);
        if passed < lasting {
            return;
        }
        self.last = std::mem::take(&mut self.this);
        if passed >= lasting * 2 {
            self.last = HashSet::new();
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTING: Duration = Duration::from_secs(6);

    #[test]
    fn what_was_signed_is_taken_once_while_it_would_be_of_now() {
        let (replays, begun) = (Replays::lasting(LASTING), Instant::now());
        let take = |key, text: &str, at: u64| replays.take(key, &[text.as_bytes()], begun + Duration::from_secs(at));
        assert_eq!(take("one", "a", 1), Ok(()));
        assert_eq!(take("two", "a", 1), Ok(()), "another's");
        assert_eq!(take("one", "b", 1), Ok(()));
        for at in 1..=7 {
            assert_eq!(take("one", "a", at), Err(NotTaken::Again), "{at}");
        }
        assert_eq!(take("one", "a", 30), Ok(()));
        assert_eq!(replays.take("one", &[b"x", b"y"], begun), Ok(()));
        assert_eq!(replays.take("one", &[b"xy"], begun), Err(NotTaken::Again), "in other parts");
    }
}
