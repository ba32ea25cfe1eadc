//! Recent signed requests: one that changes something is taken once, and not at all if it came as a read before. They
//! are remembered by the clock that decides whether a request is recent, so that no forgotten request becomes recent
//! again, however that clock is set.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use exchange::{Limit, TurnedAway};
use sha2::{Digest, Sha256};
use terms::Time;

use crate::clock::now;

/// Requests that are remembered in each of two stretches of time.
const REMEMBERED_MAX: usize = 1 << 20;
/// The part of the remaining room that a member may take, as a divisor. A key may take the same part of its member's.
/// So one member has a third of the table at most, and one key a fifth.
const PART: usize = 2;

/// A part of the digest of a signed text: a text that is signed again is recognized by its contents, not by its
/// signature.
pub type Mark = [u8; 16];

/// Signed requests of two stretches of time, the last one and this one.
pub(crate) struct Replays {
    lasting: Duration,
    seen: Mutex<SeenRequests>,
}

struct SeenRequests {
    /// The beginning of this stretch.
    since: Time,
    this: HashSet<Mark>,
    last: HashSet<Mark>,
    /// The latest times at which requests of these stretches were signed, and forgotten ones.
    this_until: Time,
    last_until: Time,
    forgotten_until: Time,
    /// The requests of this stretch by member, and by key.
    of_members: HashMap<Box<str>, usize>,
    of_keys: HashMap<Box<str>, usize>,
}

/// The key that signed a request, and its member.
#[derive(Clone, Copy)]
pub struct Signer<'a> {
    pub member: &'a str,
    pub key: &'a str,
}

/// The reason why a signed request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    Again,
    /// The request came before as a read.
    WasRead,
    /// The request was signed before this server started, or so long before its clock was set back that it is not known
    /// whether it came.
    BeforeStart,
    /// Other servers, which may have taken it, cannot be reached.
    Away,
    /// Its member sends too many.
    PastPace(Limit),
    /// The table is full: no entry may be forgotten before its time.
    Full,
}

impl NotTaken {
    /// Whether the request came before, so that anybody who recorded it may have sent it.
    pub fn is_replay(self) -> bool {
        self.turned_away() == Some(TurnedAway::Replayed)
    }

    /// Returns the reason as it is counted; `None` where the servers are at fault.
    pub fn turned_away(self) -> Option<TurnedAway> {
        match self {
            NotTaken::Again | NotTaken::WasRead => Some(TurnedAway::Replayed),
            NotTaken::BeforeStart => Some(TurnedAway::Unproven),
            NotTaken::Away => None,
            NotTaken::PastPace(_) => Some(TurnedAway::PastLimit),
            NotTaken::Full => Some(TurnedAway::TooManyTries),
        }
    }
}

impl Replays {
    /// Returns a memory of requests for at least this long.
    pub(crate) fn lasting(lasting: Duration) -> Replays {
        let seen = SeenRequests {
            since: Time(now()),
            this: HashSet::new(),
            last: HashSet::new(),
            this_until: Time(0),
            last_until: Time(0),
            forgotten_until: Time(0),
            of_members: HashMap::new(),
            of_keys: HashMap::new(),
        };
        Replays { lasting, seen: Mutex::new(seen) }
    }

    /// Takes a text that was signed with a member's key at a time, unless it was taken before.
    pub(crate) fn take(
        &self,
        Signer { member, key }: Signer<'_>,
        text: &[&[u8]],
        signed_at: Time,
        now: Time,
    ) -> Result<(), NotTaken> {
        let mark = mark(key, text);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        if seen.last.contains(&mark) || seen.this.contains(&mark) {
            return Err(NotTaken::Again);
        }
        if signed_at <= seen.forgotten_until {
            return Err(NotTaken::BeforeStart);
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
        seen.this_until = seen.this_until.max(signed_at);
        Ok(())
    }

    /// Whether a text that was signed at a time was taken before. Errors: that is forgotten.
    pub(crate) fn has(&self, key: &str, text: &[&[u8]], signed_at: Time, now: Time) -> Result<bool, NotTaken> {
        let mark = mark(key, text);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.go_on(now, self.lasting);
        let has = seen.this.contains(&mark) || seen.last.contains(&mark);
        if has || signed_at > seen.forgotten_until { Ok(has) } else { Err(NotTaken::BeforeStart) }
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

impl SeenRequests {
    /// Forgets requests from before the last stretch of time.
    fn go_on(&mut self, now: Time, lasting: Duration) {
        // No time has passed where the clock was set back: all requests are remembered until it is where it was.
        let passed = Duration::from_micros(now.0.saturating_sub(self.since.0));
        if passed < lasting {
            return;
        }
        self.forget_last();
        if passed >= lasting * 2 {
            self.forget_last();
        }
        self.of_members = HashMap::new();
        self.of_keys = HashMap::new();
        self.since = now;
    }

    /// Forgets the last stretch. This one becomes the last.
    fn forget_last(&mut self) {
        self.last = std::mem::take(&mut self.this);
        self.forgotten_until = self.forgotten_until.max(self.last_until);
        self.last_until = std::mem::replace(&mut self.this_until, Time(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTING: Duration = Duration::from_secs(6);

    fn of(key: &str) -> Signer<'_> {
        Signer { member: key, key }
    }

    fn after(begun: Time, seconds: u64) -> Time {
        Time(begun.0 + seconds * 1_000_000)
    }

    #[test]
    fn what_was_signed_is_taken_once_while_it_would_be_of_now() {
        let (replays, begun) = (Replays::lasting(LASTING), Time(now()));
        let take = |key, text: &str, at| replays.take(of(key), &[text.as_bytes()], after(begun, at), after(begun, at));
        assert_eq!(take("one", "a", 1), Ok(()));
        assert_eq!(take("two", "a", 1), Ok(()), "another's");
        assert_eq!(take("one", "b", 1), Ok(()));
        for at in 1..=7 {
            assert_eq!(take("one", "a", at), Err(NotTaken::Again), "{at}");
        }
        assert_eq!(take("one", "a", 30), Ok(()));
        let then = after(begun, 30);
        assert_eq!(replays.take(of("one"), &[b"x", b"y"], then, then), Ok(()));
        assert_eq!(replays.take(of("one"), &[b"xy"], then, then), Err(NotTaken::Again), "in other parts");
        assert_eq!(["one", "two"].map(|key| replays.has(key, &[b"xy"], then, then)), [Ok(true), Ok(false)]);
    }

    /// A clock that was set back made requests recent again that were forgotten meanwhile.
    #[test]
    fn what_was_signed_is_taken_once_however_the_clock_is_set() {
        for leaps in [&[40, 50, 39, 40, 43, 60, 40][..], &[40, 400, 40, 41], &[40, 47, 54, 40], &[40, 0, 7, 14, 40]] {
            let (replays, begun) = (Replays::lasting(LASTING), Time(now()));
            let signed_at = after(begun, leaps[0]);
            let take = |text: &[u8], signed_at, at| replays.take(of("one"), &[text], signed_at, after(begun, at));
            assert_eq!(take(b"a", signed_at, leaps[0]), Ok(()));
            for (at, number) in leaps[1..].iter().zip(0_u64..) {
                assert!(take(b"a", signed_at, *at).is_err(), "{leaps:?}: {number}");
                // Others go on where they are not forgotten.
                let _ = take(&number.to_le_bytes(), after(begun, *at), *at);
            }
            let latest = leaps.iter().copied().max().unwrap_or_default() + 1;
            assert_eq!(take(b"b", after(begun, latest), latest), Ok(()), "{leaps:?}: signed later than any of them");
        }
        let (replays, begun) = (Replays::lasting(LASTING), Time(now()));
        assert_eq!(replays.take(of("one"), &[b"a"], begun, begun), Ok(()));
        assert_eq!(
            replays.has("one", &[b"b"], begun, after(begun, 100)),
            Err(NotTaken::BeforeStart),
            "it is not known"
        );
    }

    /// Four keys of one member took the whole table: all other members were refused until the window was over.
    #[test]
    fn neither_keys_nor_members_take_the_room_of_others() {
        let (replays, begun) = (Replays::lasting(LASTING), Time(now()));
        let take =
            |member, key, number: usize| replays.take(Signer { member, key }, &[&number.to_le_bytes()], begun, begun);
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
        let later = after(begun, LASTING.as_secs());
        assert_eq!(replays.take(of("mallory"), &[b"later"], later, later), Ok(()));
    }
}
