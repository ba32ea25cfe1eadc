//! Wrong proofs, by source address and by what was tried there: after a few each has the next one wait longer. No other
//! address waits, nor whoever tries another key. Passwords are guessed over many names, too, so that wrong ones of an
//! address count together as well; a right one never counts.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::source_of;

/// Wrong proofs that cost nothing: people mistype.
const FREE: u32 = 3;
/// The wait after the next one. It doubles with each further one,
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// up to this. Whoever would have to wait longer for its turn is told so at once.
const LONGEST_WAIT: Duration = Duration::from_secs(16);
/// After so long without a wrong one it is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);
/// Source addresses remembered at once. Beyond, the one is forgotten that tried something the longest ago.
const SOURCES_MAX: usize = 4096;
/// Names remembered of an address, beside none at all. Further ones are not counted by name: none that is pushes out
/// another one.
const NAMES_MAX: usize = 64;
/// Wrong passwords of an address that cost nothing, whosever they are,
const GUESSES_FREE: u32 = 32;
/// and so many more for each member that has logged in from there: many people may share an address.
const GUESSES_FREE_OF_MEMBER: u32 = 8;
/// The time between two further passwords of an address.
const GUESS_WAIT: Duration = Duration::from_secs(2);

/// Wrong proofs of each source address lately, by the key or member that they name, whatever protocol they came by.
#[derive(Debug, Default)]
pub struct Tries {
    sources: Mutex<HashMap<IpAddr, Source>>,
    /// Names are as long as somebody likes, so their hashes are remembered; nobody knows which names share one.
    hasher: RandomState,
}

/// A source address.
#[derive(Debug)]
struct Source {
    names: HashMap<u64, Wrong>,
    /// Those that name nothing.
    nameless: Wrong,
    /// Wrong passwords, of all names, and members that have logged in with a right one.
    guesses: u32,
    members: u32,
    /// The turn of the next password once those are used up that cost nothing.
    next_guess: Instant,
    /// The last time that something was tried.
    last: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Wrong {
    wrong: u32,
    /// When its next try has its turn.
    next: Instant,
}

impl Tries {
    /// Whether the turn has come of whoever tries this from an address. Errors: how long it has to wait.
    pub fn may_try(&self, address: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        let sources = self.lock();
        let wrong = sources.get(&source_of(address)).and_then(|source| source.names.get(&self.hasher.hash_one(name)));
        let next = wrong.map_or(now, |wrong| wrong.next);
        if next <= now { Ok(()) } else { Err(next - now) }
    }

    /// Counts a try as a wrong one, and gives its turn: when it is to be looked at, or answered. Errors: that is too far off, by so much;
    /// then it does not count, and is not to be looked at.
    pub fn turn(&self, address: IpAddr, name: &str, now: Instant) -> Result<Instant, Duration> {
        let mut sources = self.lock();
        let source = source(&mut sources, address, now);
        if name.is_empty() {
            return source.nameless.turn(now);
        }
        source.turn(self.hasher.hash_one(name), now)
    }

    /// The turn of a password, as [`Tries::turn`] gives it. Where too many were wrong that came from the address, those of
    /// members wait that are not `familiar` there: that never logged in from it.
    pub fn guess(&self, address: IpAddr, name: &str, familiar: bool, now: Instant) -> Result<Instant, Duration> {
        let mut sources = self.lock();
        let source = source(&mut sources, address, now);
        let free = GUESSES_FREE.saturating_add(source.members.saturating_mul(GUESSES_FREE_OF_MEMBER));
        if familiar || source.guesses < free {
            return source.turn(self.hasher.hash_one(name), now);
        }
        let turn = source.next_guess.max(now);
        if turn > now + LONGEST_WAIT {
            return Err(turn - now);
        }
        let by_name = source.turn(self.hasher.hash_one(name), now)?;
        source.next_guess = turn + GUESS_WAIT;
        Ok(turn.max(by_name))
    }

    /// Counts a wrong password among those of its address, unless its member is familiar there.
    pub fn guessed_wrong(&self, address: IpAddr, familiar: bool, now: Instant) {
        let mut sources = self.lock();
        let source = source(&mut sources, address, now);
        source.guesses = source.guesses.saturating_add(u32::from(!familiar));
    }

    /// The last try that had its turn was the right password of a member, who becomes familiar at the address now, or was.
    pub fn guessed_right(&self, address: IpAddr, name: &str, familiar: bool) {
        let mut sources = self.lock();
        let Some(source) = sources.get_mut(&source_of(address)) else { return };
        source.members = source.members.saturating_add(u32::from(!familiar));
        if let Some(its) = source.names.get_mut(&self.hasher.hash_one(name)) {
            its.wrong = its.wrong.saturating_sub(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is remembered of an address from which something is tried now.
fn source(sources: &mut HashMap<IpAddr, Source>, address: IpAddr, now: Instant) -> &mut Source {
    let address = source_of(address);
    if sources.len() >= SOURCES_MAX && !sources.contains_key(&address) {
        let oldest = sources.iter().min_by_key(|(_, source)| source.last).map(|(address, _)| *address);
        oldest.map(|address| sources.remove(&address));
    }
    let none = Wrong { wrong: 0, next: now };
    let new = || Source { names: HashMap::new(), nameless: none, guesses: 0, members: 0, next_guess: now, last: now };
    let source = sources.entry(address).or_insert_with(new);
    if source.last + FORGOTTEN_AFTER <= now {
        source.guesses = 0;
    }
    source.last = source.last.max(now);
    source
}

impl Source {
    fn turn(&mut self, name: u64, now: Instant) -> Result<Instant, Duration> {
        if self.names.len() >= NAMES_MAX && !self.names.contains_key(&name) {
            self.names.retain(|_, its| !its.is_over(now));
            if self.names.len() >= NAMES_MAX {
                return Ok(now);
            }
        }
        self.names.entry(name).or_insert(Wrong { wrong: 0, next: now }).turn(now)
    }
}

impl Wrong {
    fn is_over(&self, now: Instant) -> bool {
        self.next + FORGOTTEN_AFTER <= now
    }

    fn turn(&mut self, now: Instant) -> Result<Instant, Duration> {
        if self.is_over(now) {
            self.wrong = 0;
        }
        let turn = self.next.max(now);
        if turn > now + LONGEST_WAIT {
            return Err(turn - now);
        }
        self.wrong = self.wrong.saturating_add(1);
        self.next = turn + wait_behind(self.wrong);
        Ok(turn)
    }
}

/// How long the try waits that comes behind so many wrong ones.
fn wait_behind(wrong: u32) -> Duration {
    match wrong.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST_WAIT.saturating_mul(1 << doublings.min(16)).min(LONGEST_WAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn each_wrong_proof_has_the_next_one_of_its_address_and_key_wait_longer_and_nobody_else() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let waits: Vec<Option<u128>> =
            (0..12).map(|_| tries.turn(one, "k", now).ok().map(|turn| (turn - now).as_millis())).collect();
        let waited = [0, 0, 0, 0, 250, 750, 1_750, 3_750, 7_750, 15_750].map(Some);
        assert_eq!(waits[..10], waited);
        assert_eq!(waits[10..], [None, None], "what has no turn does not count");
        assert_eq!(tries.may_try(one, "k", now), Err(Duration::from_millis(31_750)));
        let other = address("192.0.2.2");
        assert_eq!((tries.may_try(other, "k", now), tries.turn(other, "k", now)), (Ok(()), Ok(now)));
        assert_eq!((tries.may_try(one, "other", now), tries.turn(one, "other", now)), (Ok(()), Ok(now)));
        let later = now + Duration::from_secs(2000);
        assert!((0..4).all(|_| tries.turn(one, "k", later) == Ok(later)), "it is forgotten");
        assert_eq!(tries.turn(one, "k", later), Ok(later + FIRST_WAIT));
    }

    #[test]
    fn a_right_one_does_not_count_and_one_network_is_one_source() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        for _ in 0..20 {
            now += LONGEST_WAIT;
            assert!(tries.turn(address("2001:db8::1"), "k", now).is_ok());
            tries.guessed_right(address("2001:db8::1"), "k", true);
        }
        assert!((2..6).all(|host| tries.turn(address(&format!("2001:db8::{host}")), "k", now) == Ok(now)));
        assert!(
            tries.may_try(address("2001:db8::7"), "k", now).is_err()
                && tries.may_try(address("2001:db9::7"), "k", now).is_ok()
        );
    }

    #[test]
    fn so_many_are_remembered_and_the_address_of_the_longest_ago_is_forgotten() {
        let (tries, now) = (Tries::default(), Instant::now());
        let try_often = |from, at| (0..10).all(|_| tries.turn(address(from), "k", at).is_ok());
        assert!(try_often("192.0.2.1", now) && try_often("192.0.2.2", now + Duration::from_secs(1)));
        let later = now + Duration::from_secs(2);
        for number in 0..u32::try_from(SOURCES_MAX).expect("few") - 1 {
            assert!(tries.turn(IpAddr::V4(number.into()), "k", later).is_ok());
        }
        assert_eq!(tries.lock().len(), SOURCES_MAX);
        assert!(tries.may_try(address("192.0.2.1"), "k", later).is_ok(), "it was forgotten");
        assert!(tries.may_try(address("192.0.2.2"), "k", later).is_err());
    }

    /// Sixteen thousand other names, which took a moment over XML, had a member's wrong passwords forgotten.
    #[test]
    fn an_address_that_tries_many_names_has_none_forgotten_and_waits_for_no_right_secret() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let other = address("192.0.2.2");
        assert!((0..10).all(|_| tries.turn(other, "alice", now).is_ok() && tries.turn(one, "alice", now).is_ok()));
        for number in 0..100_000 {
            assert_eq!(tries.turn(one, &format!("name-{number}"), now), Ok(now));
        }
        assert!(tries.may_try(one, "alice", now).is_err() && tries.may_try(other, "alice", now).is_err());
        assert_eq!(tries.may_try(one, "bob", now), Ok(()), "a secret that is right");
        let nameless: Vec<bool> = (0..12).map(|_| tries.turn(one, "", now).is_ok()).collect();
        assert_eq!(nameless, [vec![true; 10], vec![false; 2]].concat());
        let names = tries.lock().values().map(|source| source.names.len()).max();
        assert_eq!(names, Some(NAMES_MAX));
        let later = now + FORGOTTEN_AFTER + Duration::from_secs(60);
        assert_eq!(tries.turn(one, "new", later), Ok(later));
        assert_eq!(tries.lock()[&source_of(one)].names.len(), 1, "what is over gives way");
    }

    /// One address guessed 50 passwords a second of as many names as it liked.
    #[test]
    fn wrong_passwords_of_an_address_count_together_whosever_they_are() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let guess = |number: usize, at| {
            let turn = tries.guess(one, &format!("name-{number}"), false, at);
            turn.inspect(|_| tries.guessed_wrong(one, false, at))
        };
        let turns: Vec<_> = (0..100).map(|number| guess(number, now)).collect();
        let free = usize::try_from(GUESSES_FREE).expect("few");
        assert!(turns[..free].iter().all(|turn| *turn == Ok(now)));
        let waits: Vec<_> = turns[free..].iter().map(|turn| turn.map(|turn| (turn - now).as_secs()).ok()).collect();
        assert_eq!(
            waits[..10],
            [0, 2, 4, 6, 8, 10, 12, 14, 16].map(Some).into_iter().chain([None]).collect::<Vec<_>>()
        );
        assert!(waits[10..].iter().all(Option::is_none), "what has no turn does not count");
        assert_eq!(tries.guess(one, "alice", true, now), Ok(now), "who logged in there before");
        assert_eq!(tries.guess(address("192.0.2.2"), "bob", false, now), Ok(now), "another address");
        let later = now + Duration::from_secs(20);
        assert_eq!(tries.guess(one, "bob", false, later), Ok(later), "the others' turns are over");
        let much_later = later + FORGOTTEN_AFTER;
        assert!((0..free).all(|number| guess(number, much_later) == Ok(much_later)), "it is forgotten");
    }

    #[test]
    fn right_passwords_of_many_people_behind_one_address_never_wait() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        // All of them before the first one is compared; each eighth mistypes twice.
        let students: Vec<String> = (0..1000).map(|number| format!("student-{number}")).collect();
        assert!(students.iter().all(|name| tries.guess(one, name, false, now) == Ok(now)));
        for (number, name) in students.iter().enumerate() {
            for _ in 0..if number % 8 == 0 { 2 } else { 0 } {
                assert_eq!(tries.guess(one, name, false, now), Ok(now), "{number}");
                tries.guessed_wrong(one, false, now);
            }
            assert_eq!(tries.guess(one, name, false, now), Ok(now), "{number}");
            tries.guessed_right(one, name, false);
        }
    }
}
