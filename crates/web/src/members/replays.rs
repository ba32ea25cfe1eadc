//! Which signed requests came lately: what changes something is taken once, and not at all if it came to look at
//! something.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// So many are remembered in each of two stretches of time.
const REMEMBERED_MAX: usize = 1 << 20;
/// So many of one key: no key takes the room of all others.
const OF_KEY_MAX: usize = REMEMBERED_MAX / 4;

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
    /// How many of this stretch are of each key.
    of_keys: HashMap<Box<str>, usize>,
}

/// Why a signed request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Again,
    /// It came before, and only looked.
    WasRead,
    /// It was signed before this server could have known that it came to another one.
    BeforeStart,
    /// Nothing is forgotten before its time, so nothing more can be remembered.
    Full,
}

impl Replays {
    /// Each is remembered for so long at least.
    pub(crate) fn lasting(lasting: Duration) -> Replays {
        let (this, last, of_keys) = (HashSet::new(), HashSet::new(), HashMap::new());
        Replays { lasting, seen: Mutex::new(Seen { since: Instant::now(), this, last, of_keys }) }
    }

    /// Takes what was signed with a key, unless it was taken before.
    pub(crate) fn take(&self, key: &str, text: &[&[u8]], now: Instant) -> Result<(), NotTaken> {
        let mark = mark(key, text);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        if seen.last.contains(&mark) || seen.this.contains(&mark) {
            return Err(NotTaken::Again);
        }
        let its = seen.of_keys.get(key).copied().unwrap_or_default();
        if seen.this.len() >= REMEMBERED_MAX || its >= OF_KEY_MAX {
            return Err(NotTaken::Full);
        }
        seen.of_keys.insert(key.into(), its + 1);
        seen.this.insert(mark);
        Ok(())
    }

    /// Whether it was taken before.
    pub(crate) fn has(&self, key: &str, text: &[&[u8]], now: Instant) -> bool {
        let mark = mark(key, text);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        seen.this.contains(&mark) || seen.last.contains(&mark)
    }
}

fn mark(key: &str, text: &[&[u8]]) -> Mark {
    let mut digest = Sha256::new();
    digest.update(key.as_bytes());
    digest.update([0]);
    text.iter().for_each(|part| digest.update(part));
    let digest = digest.finalize();
    let mut mark = Mark::default();
    mark.iter_mut().zip(digest.iter()).for_each(|(byte, of)| *byte = *of);
    mark
}

impl Seen {
    /// Forgets what was taken before the last stretch of time.
    fn go_on(&mut self, now: Instant, lasting: Duration) {
        let passed = now.saturating_duration_since(self.since);
        if passed < lasting {
            return;
        }
        self.last = std::mem::take(&mut self.this);
        self.of_keys = HashMap::new();
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
        assert!(replays.has("one", &[b"xy"], begun) && !replays.has("two", &[b"xy"], begun));
    }

    #[test]
    fn one_key_takes_no_room_of_others() {
        let (replays, begun) = (Replays::lasting(LASTING), Instant::now());
        let take = |key, number: usize| replays.take(key, &[&number.to_le_bytes()], begun);
        assert!((0..OF_KEY_MAX).all(|number| take("one", number).is_ok()));
        assert_eq!((take("one", OF_KEY_MAX), take("two", OF_KEY_MAX)), (Err(NotTaken::Full), Ok(())));
        assert_eq!(take("one", 0), Err(NotTaken::Again));
        let later = begun + LASTING;
        assert_eq!(replays.take("one", &[b"later"], later), Ok(()));
    }
}
