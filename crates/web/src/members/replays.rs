//! Which signed requests came lately: what changes something is taken once, and not at all if it came to look at
//! something.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use exchange::TurnedAway;
use sha2::{Digest, Sha256};

/// So many are remembered in each of two stretches of time.
const REMEMBERED_MAX: usize = 1 << 20;
/// A member may take so much of the room that is left, and a key as much as is left of what its member may take: whoever fills
/// the table leaves room for all other members, and a key leaves some for others of its member. So one member has a
/// third of the table at most, and one key a fifth.
const PART: usize = 2;

/// A part of the digest of what was signed: what is signed again is known by what it says, and not by how its signature is written.
pub type Mark = [u8; 16];

/// Those of two stretches of time, the last one and this one.
pub(crate) struct Replays {
    lasting: Duration,
    seen: Mutex<Seen>,
}

struct Seen {
    since: Instant,
    this: HashSet<Mark>,
    last: HashSet<Mark>,
    /// How many of this stretch are of each member, and of each key.
    of_members: HashMap<Box<str>, usize>,
    of_keys: HashMap<Box<str>, usize>,
}

/// The key that signed something, and its member.
#[derive(Clone, Copy)]
pub(crate) struct Signer<'a> {
    pub(crate) member: &'a str,
    pub(crate) key: &'a str,
}

/// Why a signed request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Again,
    /// It came before, and only looked.
    WasRead,
    /// It was signed before this server could have known that it came to another one.
    BeforeStart,
    /// Other servers, which may have taken it, cannot be asked.
    Away,
    /// Nothing is forgotten before its time, so nothing more can be remembered.
    Full,
}

impl NotTaken {
    /// The reason as it is counted; none where it is the servers' own.
    pub(crate) fn turned_away(self) -> Option<TurnedAway> {
        match self {
            NotTaken::Again | NotTaken::WasRead | NotTaken::BeforeStart => Some(TurnedAway::Replayed),
            NotTaken::Away => None,
            NotTaken::Full => Some(TurnedAway::TooManyTries),
        }
    }
}

impl Replays {
    /// Each is remembered for so long at least.
    pub(crate) fn lasting(lasting: Duration) -> Replays {
        let seen = Seen {
            since: Instant::now(),
            this: HashSet::new(),
            last: HashSet::new(),
            of_members: HashMap::new(),
            of_keys: HashMap::new(),
        };
        Replays { lasting, seen: Mutex::new(seen) }
    }

    /// Takes what was signed with a key of a member, unless it was taken before.
    pub(crate) fn take(
        &self,
        Signer { member, key }: Signer<'_>,
        text: &[&[u8]],
        now: Instant,
    ) -> Result<(), NotTaken> {
        let mark = mark(key, text);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        if seen.last.contains(&mark) || seen.this.contains(&mark) {
            return Err(NotTaken::Again);
        }
        let of_member = seen.of_members.get(member).copied().unwrap_or_default();
        let of_key = seen.of_keys.get(key).copied().unwrap_or_default();
        let may_member = REMEMBERED_MAX.saturating_sub(seen.this.len()) / PART;
        if of_member >= may_member || of_key >= may_member - of_member {
            return Err(NotTaken::Full);
        }
        seen.of_members.insert(member.into(), of_member + 1);
        seen.of_keys.insert(key.into(), of_key + 1);
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

pub(super) fn mark(key: &str, text: &[&[u8]]) -> Mark {
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
        self.of_members = HashMap::new();
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

    fn of(key: &str) -> Signer<'_> {
        Signer { member: key, key }
    }

    #[test]
    fn what_was_signed_is_taken_once_while_it_would_be_of_now() {
        let (replays, begun) = (Replays::lasting(LASTING), Instant::now());
        let take =
            |key, text: &str, at: u64| replays.take(of(key), &[text.as_bytes()], begun + Duration::from_secs(at));
        assert_eq!(take("one", "a", 1), Ok(()));
        assert_eq!(take("two", "a", 1), Ok(()), "another's");
        assert_eq!(take("one", "b", 1), Ok(()));
        for at in 1..=7 {
            assert_eq!(take("one", "a", at), Err(NotTaken::Again), "{at}");
        }
        assert_eq!(take("one", "a", 30), Ok(()));
        assert_eq!(replays.take(of("one"), &[b"x", b"y"], begun), Ok(()));
        assert_eq!(replays.take(of("one"), &[b"xy"], begun), Err(NotTaken::Again), "in other parts");
        assert!(replays.has("one", &[b"xy"], begun) && !replays.has("two", &[b"xy"], begun));
    }

    /// Four keys of one member took the whole table: each other member was refused until the window was over.
    #[test]
    fn neither_keys_nor_members_take_the_room_of_others() {
        let (replays, begun) = (Replays::lasting(LASTING), Instant::now());
        let take = |member, key, number: usize| replays.take(Signer { member, key }, &[&number.to_le_bytes()], begun);
        let flood = |member, key| (0..REMEMBERED_MAX).take_while(|number| take(member, key, *number).is_ok()).count();
        let first = flood("mallory", "m1");
        assert!(first.abs_diff(REMEMBERED_MAX / 5) <= 1, "{first}");
        assert_eq!(take("mallory", "m1", REMEMBERED_MAX), Err(NotTaken::Full));
        assert_eq!(take("mallory", "m1", 0), Err(NotTaken::Again));
        assert_eq!(take("mallory", "m2", 0), Ok(()), "another key of the member");
        for key in ["m2", "m3", "m4", "m5", "m6"] {
            flood("mallory", key);
        }
        let of_mallory = replays.seen.lock().expect("nobody panics").this.len();
        assert!(of_mallory <= REMEMBERED_MAX / 3 + 1, "{of_mallory}");
        assert!(flood("bob", "b1") >= REMEMBERED_MAX / 10, "another member");
        assert_eq!(take("alice", "a1", 0), Ok(()));
        assert_eq!(replays.take(of("mallory"), &[b"later"], begun + LASTING), Ok(()));
    }
}
