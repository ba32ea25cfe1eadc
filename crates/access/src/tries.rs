//! Counts wrong proofs by source address and by the key or member tried: after a few of them the next try waits, longer
//! each time. Tries from other addresses never wait for them. Attackers guess passwords over many names, so the
//! passwords from one address share a budget, too. A member that has logged in from there needs none of that budget,
//! and waits for wrong passwords of its own name alone. Nor does a device from which its member has logged in before,
//! wherever that device is: it waits for wrong passwords from that member's devices alone.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::source_of;

/// Wrong proofs that cost nothing: people mistype.
const FREE: u32 = 3;
/// The wait after the first wrong proof beyond these. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait. A client that would have to wait longer is refused at once.
const LONGEST_WAIT: Duration = Duration::from_secs(16);
/// Time without another wrong proof after which wrong proofs are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);
/// Source addresses that are remembered. Past it, the address is forgotten whose last try is the longest ago.
const SOURCES_MAX: usize = 4096;
/// Names that are remembered for an address, beside the empty one. No name pushes out another: passwords of further
/// names count in groups, and other proofs of them do not count.
const NAMES_MAX: usize = 64;
/// Groups of further names of an address. Nobody can choose the group of a name, and the budget of the address is too
/// small to keep all of them waiting.
const FURTHER_GROUPS: u64 = 64;
/// The budget of an address: passwords of any names that may be compared at once.
const GUESSES_FREE: u32 = 64;
/// The time in which one password comes back to the budget.
const GUESS_WAIT: Duration = Duration::from_secs(2);
/// Passwords that come back with each member's first login from there: many people may share an address.
const GIVEN_BY_FIRST_LOGIN: u32 = 8;
/// Members that are remembered with an address from which they have logged in. Past it, the pair is forgotten whose
/// last login is the longest ago.
const FAMILIAR_MAX: usize = 4096;
/// Addresses that are remembered of one member: no member pushes out the others.
const ADDRESSES_OF_MEMBER_MAX: usize = 8;
/// Members whose wrong passwords from known devices are remembered. Passwords of further ones count like those of
/// unknown devices.
const OF_DEVICES_MAX: usize = 4096;

/// Recent wrong proofs of each source address, by the key or member that they name, over all protocols.
#[derive(Debug, Default)]
pub struct Tries {
    state: Mutex<TriesState>,
    /// Names may have any length, so their hashes are remembered; clients cannot know which names share one.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct TriesState {
    sources: HashMap<IpAddr, Source>,
    familiar: HashMap<NameAndAddress, Familiar>,
    /// Wrong passwords from known devices, by the hash of the member's name: all devices of a member count together.
    of_devices: HashMap<u64, Wrong>,
    /// The number of right passwords so far.
    logins: u64,
}

/// The hash of a name, and a source address.
type NameAndAddress = (u64, IpAddr);

/// The record of a source address.
#[derive(Debug)]
struct Source {
    names: HashMap<u64, Wrong>,
    /// Wrong proofs without a name.
    nameless: Wrong,
    /// Wrong passwords of names that are not remembered, by group.
    further: HashMap<u64, Wrong>,
    /// The time at which the budget of passwords is whole again.
    budget_whole: Instant,
    /// The time of the last try.
    last: Instant,
}

/// A member at an address from which it has logged in.
#[derive(Debug)]
struct Familiar {
    wrong: Wrong,
    /// The number of logins, of all members, at its last login there.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Wrong {
    wrong: u32,
    /// The time at which its next try has its turn.
    next: Instant,
}

/// A try that was counted as a wrong one.
#[derive(Clone, Copy, Debug)]
struct CountedTry {
    /// The time at which it was counted.
    at: Instant,
    turn: Instant,
    /// The turn of the try behind it.
    next: Instant,
}

/// A password that was counted as a wrong one. If it is right, or is dropped before it is compared, the count is taken
/// back.
#[derive(Debug)]
pub struct Guess<'a> {
    tries: &'a Tries,
    who: NameAndAddress,
    turn: Instant,
    counted: CountedTry,
    place: GuessPlace,
    /// The wrong passwords of its address before it; none where its member has logged in before.
    earlier: u32,
    is_compared: bool,
}

/// The place where a password counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuessPlace {
    /// The count of the member's known devices.
    Device,
    /// The count of a member at an address from which it has logged in.
    Familiar,
    /// The budget of its address, and the count of its name there.
    Name,
    /// The budget of its address, and the count of its name's group there: the name is not remembered.
    FurtherNames,
}

impl Tries {
    /// Counts a wrong proof of a key where no answer is held back. Errors: it came before its turn, by this much, and
    /// does not count.
    pub fn wrong(&self, address: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        self.may_try(address, name, now)?;
        self.turn(address, name, now).map(drop)
    }

    /// Checks whether a client's turn has come to try this from an address. Errors: the time that it has to wait.
    fn may_try(&self, address: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        let state = self.lock();
        let source = state.sources.get(&source_of(address));
        let next = source.and_then(|source| source.names.get(&self.hasher.hash_one(name))).map_or(now, |its| its.next);
        if next <= now { Ok(()) } else { Err(next - now) }
    }

    /// Counts a try as a wrong one, and returns its turn: the time at which to look at it, or to answer. Errors: the
    /// turn is too far off, by this much; then the try does not count and must not be looked at.
    pub fn turn(&self, address: IpAddr, name: &str, now: Instant) -> Result<Instant, Duration> {
        let mut state = self.lock();
        let source = state.source(source_of(address), now);
        if name.is_empty() {
            return source.nameless.count(now).map(|counted| counted.turn);
        }
        Ok(source.count(self.hasher.hash_one(name), now)?.map_or(now, |counted| counted.turn))
    }

    /// Counts a member's password as a wrong one before it is compared: by its name and, unless the member has logged
    /// in from there, in the budget of its address. Errors: its turn is too far off, by this much; then it does not
    /// count.
    pub fn guess(&self, address: IpAddr, name: &str, now: Instant) -> Result<Guess<'_>, Duration> {
        let mut state = self.lock();
        let who = (self.hasher.hash_one(name), source_of(address));
        let guess = |counted: CountedTry, turn: Instant, place, earlier| Guess {
            tries: self,
            who,
            turn: counted.turn.max(turn),
            counted,
            place,
            earlier,
            is_compared: false,
        };
        if let Some(familiar) = state.familiar.get_mut(&who) {
            return Ok(guess(familiar.wrong.count(now)?, now, GuessPlace::Familiar, 0));
        }
        let source = state.source(who.1, now);
        let (turn, earlier) = (source.budget_turn(now)?, source.wrong(now));
        let (counted, place) = match source.count(who.0, now)? {
            Some(counted) => (counted, GuessPlace::Name),
            None => (source.count_further(who.0, now)?, GuessPlace::FurtherNames),
        };
        source.budget_whole = source.budget_whole.max(now) + GUESS_WAIT;
        Ok(guess(counted, turn, place, earlier))
    }

    /// Counts a member's password from a device from which the member has logged in before, whatever address it has
    /// now. Where that is earlier, it counts like one of any other device, so that a stolen token delays nobody.
    pub fn guess_of_device(&self, address: IpAddr, name: &str, now: Instant) -> Result<Guess<'_>, Duration> {
        let who = (self.hasher.hash_one(name), source_of(address));
        let counted = self.lock().count_of_device(who.0, now);
        let Some(counted) = counted else { return self.guess(address, name, now) };
        let (turn, place) = (counted.turn, GuessPlace::Device);
        let of_device = Guess { tries: self, who, turn, counted, place, earlier: 0, is_compared: false };
        if turn <= now {
            return Ok(of_device);
        }
        // The one that is dropped is given back.
        Ok(self.guess(address, name, now).ok().filter(|other| other.turn < turn).unwrap_or(of_device))
    }

    fn lock(&self) -> MutexGuard<'_, TriesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guess<'_> {
    /// Returns the time from which it may be compared.
    pub fn turn(&self) -> Instant {
        self.turn
    }

    /// Whether its member has logged in from its address or its device before.
    pub fn is_familiar(&self) -> bool {
        matches!(self.place, GuessPlace::Device | GuessPlace::Familiar)
    }

    /// The wrong passwords of its address before it that are remembered, of whatever members. None where its member has
    /// logged in before.
    pub fn earlier(&self) -> u32 {
        self.earlier
    }

    /// Lets the password count from now on, unless it is right.
    pub fn compared(&mut self) {
        self.is_compared = true;
    }

    /// Takes the count back: the password was right, and its member has logged in from its address.
    pub fn right(mut self) {
        self.is_compared = false;
        let mut state = self.tries.lock();
        let is_first = state.logged_in(self.who, self.turn);
        if let Some(source) = state.sources.get_mut(&self.who.1) {
            // From here on its passwords count elsewhere, so its place is free for another name.
            source.names.remove(&self.who.0);
            if is_first {
                source.give_back(GIVEN_BY_FIRST_LOGIN);
            }
        }
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        if self.is_compared {
            return;
        }
        let mut state = self.tries.lock();
        let its = match self.place {
            GuessPlace::Device => state.of_devices.get_mut(&self.who.0),
            GuessPlace::Familiar => state.familiar.get_mut(&self.who).map(|familiar| &mut familiar.wrong),
            GuessPlace::Name | GuessPlace::FurtherNames => state.sources.get_mut(&self.who.1).and_then(|source| {
                source.give_back(1);
                if self.place == GuessPlace::Name {
                    source.names.get_mut(&self.who.0)
                } else {
                    source.further.get_mut(&(self.who.0 % FURTHER_GROUPS))
                }
            }),
        };
        its.into_iter().for_each(|its| its.give_back(self.counted));
    }
}

impl TriesState {
    /// Finds or makes the record of an address from which something is tried now.
    fn source(&mut self, address: IpAddr, now: Instant) -> &mut Source {
        if self.sources.len() >= SOURCES_MAX && !self.sources.contains_key(&address) {
            let oldest = self.sources.iter().min_by_key(|(_, source)| source.last).map(|(address, _)| *address);
            oldest.map(|address| self.sources.remove(&address));
        }
        let source = self.sources.entry(address).or_insert_with(|| Source {
            names: HashMap::new(),
            nameless: Wrong { wrong: 0, next: now },
            further: HashMap::new(),
            budget_whole: now,
            last: now,
        });
        source.last = source.last.max(now);
        source
    }

    /// Counts a password from a known device of a member. Returns `None` if its turn is too far off, or too many other
    /// members are remembered.
    fn count_of_device(&mut self, name: u64, now: Instant) -> Option<CountedTry> {
        if self.of_devices.len() >= OF_DEVICES_MAX && !self.of_devices.contains_key(&name) {
            self.of_devices.retain(|_, its| its.wrong > 0 && !its.is_over(now));
            if self.of_devices.len() >= OF_DEVICES_MAX {
                return None;
            }
        }
        self.of_devices.entry(name).or_insert(Wrong { wrong: 0, next: now }).count(now).ok()
    }

    /// Remembers that a member has logged in from an address. Returns whether that is new, and no address of its own is
    /// forgotten for it: a member with many addresses would be new at each of them again and again.
    fn logged_in(&mut self, who: NameAndAddress, now: Instant) -> bool {
        self.logins += 1;
        if let Some(familiar) = self.familiar.get_mut(&who) {
            familiar.last = self.logins;
            return false;
        }
        let of_member = self.familiar.keys().filter(|(name, _)| *name == who.0).count();
        let has_many = of_member >= ADDRESSES_OF_MEMBER_MAX;
        if has_many {
            self.forget_oldest(|(name, _)| *name == who.0);
        } else if self.familiar.len() >= FAMILIAR_MAX {
            self.forget_oldest(|_| true);
        }
        self.familiar.insert(who, Familiar { wrong: Wrong { wrong: 0, next: now }, last: self.logins });
        !has_many
    }

    /// Forgets the pair among these whose last login is the longest ago.
    fn forget_oldest(&mut self, is_meant: impl Fn(&NameAndAddress) -> bool) {
        let meant = self.familiar.iter().filter(|(who, _)| is_meant(who));
        let oldest = meant.min_by_key(|(_, familiar)| familiar.last).map(|(who, _)| *who);
        oldest.map(|who| self.familiar.remove(&who));
    }
}

impl Source {
    /// Counts a try by its name. Returns `None` where the name is not remembered, because too many others are.
    fn count(&mut self, name: u64, now: Instant) -> Result<Option<CountedTry>, Duration> {
        if self.names.len() >= NAMES_MAX && !self.names.contains_key(&name) {
            self.names.retain(|_, its| its.wrong > 0 && !its.is_over(now));
            if self.names.len() >= NAMES_MAX {
                return Ok(None);
            }
        }
        self.names.entry(name).or_insert(Wrong { wrong: 0, next: now }).count(now).map(Some)
    }

    /// Counts a password of a name that is not remembered.
    fn count_further(&mut self, name: u64, now: Instant) -> Result<CountedTry, Duration> {
        self.further.entry(name % FURTHER_GROUPS).or_insert(Wrong { wrong: 0, next: now }).count(now)
    }

    /// The wrong passwords that are remembered.
    fn wrong(&self, now: Instant) -> u32 {
        let remembered = self.names.values().chain(self.further.values()).filter(|its| !its.is_over(now));
        remembered.fold(0, |sum, its| sum.saturating_add(its.wrong))
    }

    /// Returns the turn of a further password. Errors: it is too far off, by this much.
    fn budget_turn(&self, now: Instant) -> Result<Instant, Duration> {
        let spent = self.budget_whole.saturating_duration_since(now) + GUESS_WAIT;
        let wait = spent.saturating_sub(GUESS_WAIT * GUESSES_FREE);
        if wait > LONGEST_WAIT { Err(wait) } else { Ok(now + wait) }
    }

    /// Gives passwords back to the budget.
    fn give_back(&mut self, passwords: u32) {
        self.budget_whole = self.budget_whole.checked_sub(GUESS_WAIT * passwords).unwrap_or(self.budget_whole);
    }
}

impl Wrong {
    fn is_over(&self, now: Instant) -> bool {
        self.next + FORGOTTEN_AFTER <= now
    }

    fn count(&mut self, now: Instant) -> Result<CountedTry, Duration> {
        if self.is_over(now) {
            self.wrong = 0;
        }
        let turn = self.next.max(now);
        if turn > now + LONGEST_WAIT {
            return Err(turn - now);
        }
        self.wrong = self.wrong.saturating_add(1);
        self.next = turn + wait_behind(self.wrong);
        Ok(CountedTry { at: now, turn, next: self.next })
    }

    /// Takes back a counted try, and its wait if no later try was counted, or so few are left that nobody waits.
    fn give_back(&mut self, counted: CountedTry) {
        self.wrong = self.wrong.saturating_sub(1);
        if self.next == counted.next {
            self.next = counted.turn;
        }
        if self.wrong <= FREE {
            self.next = self.next.min(counted.at);
        }
    }
}

/// Returns the wait of a try after this many wrong ones.
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
            let guess = tries.guess(address("2001:db8::1"), "k", now).expect("a turn");
            assert_eq!(guess.turn(), now);
            guess.right();
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
        assert_eq!(tries.lock().sources.len(), SOURCES_MAX);
        assert!(tries.may_try(address("192.0.2.1"), "k", later).is_ok(), "it was forgotten");
        assert!(tries.may_try(address("192.0.2.2"), "k", later).is_err());
    }

    /// Sixteen thousand other names, which took a moment over XML, made the server forget a member's wrong passwords.
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
        let names = tries.lock().sources.values().map(|source| source.names.len()).max();
        assert_eq!(names, Some(NAMES_MAX));
        let later = now + FORGOTTEN_AFTER + Duration::from_secs(60);
        assert_eq!(tries.turn(one, "new", later), Ok(later));
        assert_eq!(tries.lock().sources[&source_of(one)].names.len(), 1, "what is over gives way");
    }

    /// Compares a wrong password.
    fn guess(tries: &Tries, from: IpAddr, name: &str, now: Instant) -> Option<Duration> {
        let mut guess = tries.guess(from, name, now).ok()?;
        guess.compared();
        Some(guess.turn() - now)
    }

    #[test]
    fn a_password_is_told_from_those_of_an_address_that_guessed_before() {
        let (tries, now) = (Tries::default(), Instant::now());
        let [guesser, newcomer] = ["192.0.2.1", "192.0.2.2"].map(address);
        let earlier = |from| tries.guess(from, "dave", now).expect("a turn").earlier();
        assert_eq!([guesser, newcomer].map(earlier), [0, 0]);
        for number in 0..3 {
            assert!(guess(&tries, guesser, &format!("name-{number}"), now).is_some());
        }
        assert_eq!([guesser, newcomer].map(earlier), [3, 0]);
        assert!(log_in(&tries, guesser, "dave", now).is_some());
        assert_eq!(earlier(guesser), 0, "dave has logged in from there");
    }

    fn log_in(tries: &Tries, from: IpAddr, name: &str, now: Instant) -> Option<Duration> {
        let guess = tries.guess(from, name, now).ok()?;
        let wait = guess.turn() - now;
        guess.right();
        Some(wait)
    }

    /// One address guessed 50 passwords a second, under as many names as it liked.
    #[test]
    fn wrong_passwords_of_an_address_count_together_whosever_they_are() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let waits = |names: std::ops::Range<u32>, at| -> Vec<Option<u64>> {
            let wait = |name| guess(&tries, one, &format!("name-{name}"), at).map(|wait| wait.as_secs());
            names.map(wait).collect()
        };
        let free = usize::try_from(GUESSES_FREE).expect("few");
        let told = waits(0..100, now);
        assert!(told[..free].iter().all(|wait| *wait == Some(0)));
        assert_eq!(told[free..free + 8], [2, 4, 6, 8, 10, 12, 14, 16].map(Some));
        assert!(told[free + 8..].iter().all(Option::is_none), "what has no turn does not count");
        assert_eq!(guess(&tries, address("192.0.2.2"), "bob", now), Some(Duration::ZERO), "another address");
        let later = now + Duration::from_secs(16);
        assert_eq!(waits(100..102, later), [2, 4].map(Some), "the others' turns are over");
        // Right passwords there, and tries all the time, do not keep the wrong ones from being forgotten.
        let much_later = later + GUESS_WAIT * GUESSES_FREE;
        assert_eq!(tries.turn(one, "", much_later - GUESS_WAIT), Ok(much_later - GUESS_WAIT));
        assert!(waits(0..GUESSES_FREE - 4, much_later).iter().all(|wait| *wait == Some(0)));
    }

    /// The passwords of a member that had logged in from an address were not counted while 64 other names were
    /// remembered.
    #[test]
    fn a_member_that_logged_in_there_waits_for_its_own_wrong_ones_alone_whatever_else_is_tried() {
        let (tries, now, room) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        for member in ["alice", "bob"] {
            assert_eq!(log_in(&tries, room, member, now), Some(Duration::ZERO));
        }
        let later = now + FORGOTTEN_AFTER + Duration::from_secs(1);
        assert!((0..100).all(|number| tries.turn(room, &format!("key-{number}"), later) == Ok(later)));
        assert!((0..100).filter_map(|number| guess(&tries, room, &format!("name-{number}"), later)).count() < 100);
        let waits: Vec<_> = (0..12).map(|_| guess(&tries, room, "alice", later).map(|wait| wait.as_millis())).collect();
        assert_eq!(waits[..6], [0, 0, 0, 0, 250, 750].map(Some));
        assert_eq!(waits[10..], [None, None]);
        assert!((0..20).all(|_| log_in(&tries, room, "bob", later) == Some(Duration::ZERO)));
        assert!(tries.guess(room, "bob", later).expect("a turn").is_familiar());
    }

    /// A member that had never logged in from an address was refused for as long as somebody guessed there, or hung up
    /// again and again.
    #[test]
    fn a_password_that_is_right_or_is_never_compared_is_given_back() {
        let (tries, now, room) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        for _ in 0..1000 {
            let hung_up: Vec<Guess<'_>> =
                (0..200).map_while(|number| tries.guess(room, &format!("name-{number}"), now).ok()).collect();
            assert_eq!(hung_up.len(), 72);
        }
        assert_eq!(guess(&tries, room, "carol", now), Some(Duration::ZERO));
        let spent = (0..200).map(|number| guess(&tries, room, &format!("spent-{number}"), now));
        assert_eq!(spent.filter(Option::is_some).count(), 71);
        assert_eq!(tries.guess(room, "dave", now).err(), Some(Duration::from_secs(18)));
        let later = now + GUESS_WAIT;
        assert_eq!(log_in(&tries, room, "dave", later), Some(LONGEST_WAIT), "a right one waits, and is looked at");
        let gives = GIVEN_BY_FIRST_LOGIN;
        let budget = LONGEST_WAIT - GUESS_WAIT * gives;
        assert_eq!(guess(&tries, room, "erin", later), Some(budget), "others wait less");
        let at_its_turn = later + LONGEST_WAIT;
        assert_eq!(log_in(&tries, room, "dave", at_its_turn), Some(Duration::ZERO), "it has logged in from there");
    }

    #[test]
    fn a_hang_up_takes_back_no_wait_that_others_have() {
        let (tries, now, room) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        assert!((0..5).all(|_| guess(&tries, room, "alice", now).is_some()));
        let [first, second] = [(); 2].map(|()| tries.guess(room, "alice", now).expect("a turn"));
        assert_eq!([&first, &second].map(|guess| (guess.turn() - now).as_millis()), [750, 1750]);
        drop(first);
        assert_eq!(tries.may_try(room, "alice", now), Err(Duration::from_millis(3750)));
        drop(second);
        assert_eq!(tries.may_try(room, "alice", now), Err(Duration::from_millis(1750)));
    }

    #[test]
    fn many_people_behind_one_address_log_in_at_once_and_no_member_pushes_out_others() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let students: Vec<String> = (0..1000).map(|number| format!("student-{number}")).collect();
        for (number, some) in students.chunks(GUESSES_FREE as usize / 2).enumerate() {
            // All passwords are counted before the first one is compared; each eighth member mistypes twice.
            for name in some.iter().step_by(8) {
                assert_eq!([(); 2].map(|()| guess(&tries, one, name, now)), [Some(Duration::ZERO); 2], "{number}");
            }
            let guesses: Vec<_> = some.iter().map(|name| tries.guess(one, name, now).expect("a turn")).collect();
            assert!(guesses.iter().all(|guess| guess.turn() == now), "{number}");
            guesses.into_iter().for_each(Guess::right);
        }
        for number in 0..u32::try_from(FAMILIAR_MAX).expect("few") {
            assert!(log_in(&tries, IpAddr::V4(number.into()), "mallory", now).is_some());
        }
        assert!(students.iter().all(|name| tries.guess(one, name, now).expect("a turn").is_familiar()));
        let of_mallory = (0..u32::try_from(FAMILIAR_MAX).expect("few")).rev();
        let of_mallory = of_mallory.map(|number| tries.guess(IpAddr::V4(number.into()), "mallory", now));
        let familiar: Vec<bool> = of_mallory.map(|guess| guess.expect("a turn").is_familiar()).collect();
        assert_eq!(familiar.iter().position(|is_familiar| !is_familiar), Some(ADDRESSES_OF_MEMBER_MAX));
        for number in 0..FAMILIAR_MAX {
            assert!(log_in(&tries, address("192.0.2.2"), &format!("more-{number}"), now).is_some());
        }
        assert_eq!(tries.lock().familiar.len(), FAMILIAR_MAX);
    }

    /// A member that had not logged in from an address was mostly refused while somebody guessed there, also with the
    /// browser that it always uses.
    #[test]
    fn a_known_device_waits_for_no_address_and_has_a_bound_of_its_own() {
        let (tries, now, room) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        for room in [room, address("192.0.2.2")] {
            assert!((0..200).filter_map(|number| guess(&tries, room, &format!("name-{number}"), now)).count() < 100);
            assert!((0..20).all(|_| guess(&tries, room, "alice", now).is_none()), "nobody gets a turn there");
        }
        let of_device = |from: &str, at| tries.guess_of_device(address(from), "alice", at);
        let first = of_device("192.0.2.1", now).expect("a turn");
        assert!(first.turn() == now && first.is_familiar());
        drop(first);
        let compared = |from: &str, at| {
            let mut guess = of_device(from, at).ok()?;
            guess.compared();
            Some((guess.turn() - now).as_millis())
        };
        // All devices of the member count together, wherever they are, and as any known address does.
        let waits: Vec<Option<u128>> =
            ["192.0.2.1", "192.0.2.2"].into_iter().cycle().take(10).map(|from| compared(from, now)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250, 750, 1_750, 3_750, 7_750, 15_750].map(Some));
        assert!(compared("192.0.2.1", now).is_none(), "it counts like any other there");
        let elsewhere = of_device("192.0.2.3", now).expect("a turn");
        assert!(elsewhere.turn() == now && !elsewhere.is_familiar(), "a thief of a device's token shuts out nobody");
        let hour = Duration::from_secs(3600);
        let an_hour: usize =
            (0..36_000_u32).filter(|&at| compared("192.0.2.1", now + hour + hour * at / 36_000).is_some()).count();
        assert!(an_hour > 200 && an_hour < 2 * 240 + 64, "{an_hour}");
        assert!(
            tries.guess_of_device(room, "bob", now).expect("a turn").is_familiar(),
            "another member waits for none"
        );
    }

    /// A thief of a device's cookie delayed each login of its member, also from the member's usual address.
    #[test]
    fn wrong_passwords_with_a_devices_token_delay_its_member_nowhere_else() {
        let (tries, now, office) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        assert_eq!(log_in(&tries, office, "alice", now), Some(Duration::ZERO));
        let of_device = |from: &str, at| tries.guess_of_device(address(from), "alice", at).expect("a turn");
        // The thief comes from many addresses, at which it has more turns than with the token alone.
        for at in (0..2000).map(|seconds| now + Duration::from_secs(seconds)) {
            for thief in ["192.0.2.8", "192.0.2.9"] {
                if let Ok(mut guess) = tries.guess_of_device(address(thief), "alice", at) {
                    guess.compared();
                }
            }
            let [usual, new] = ["192.0.2.1", "192.0.2.2"].map(|from| of_device(from, at));
            assert_eq!([usual.turn(), new.turn()], [at, at]);
            assert!(usual.is_familiar());
            usual.right();
        }
    }

    #[test]
    fn members_whose_devices_are_remembered_have_a_bound_and_push_out_nobody() {
        let (tries, now, room) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        for number in 0..OF_DEVICES_MAX {
            tries.guess_of_device(room, &format!("name-{number}"), now).expect("a turn").compared();
        }
        assert!(!tries.guess_of_device(room, "one-more", now).expect("a turn").is_familiar());
        assert_eq!(tries.lock().of_devices.len(), OF_DEVICES_MAX);
        let later = now + FORGOTTEN_AFTER;
        assert!(tries.guess_of_device(room, "one-more", later).expect("a turn").is_familiar());
        assert_eq!(tries.lock().of_devices.len(), 1, "what is over gives way");
    }

    /// An address had some 1,500 passwords of one name compared an hour, with 64 invented names in front of it.
    #[test]
    fn passwords_of_names_that_are_not_remembered_count_in_groups() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let hour = Duration::from_secs(3600);
        let mut compared = 0;
        for at in (0..7200).map(|second| now + Duration::from_secs(second)) {
            let in_round = (at - now).as_secs() % 800;
            // The invented names are tried again before they are forgotten, with a budget that is whole by then.
            if in_round == 0 {
                assert!((0..NAMES_MAX).all(|number| guess(&tries, one, &format!("name-{number}"), at).is_some()));
            }
            let is_compared = in_round < 650 && guess(&tries, one, "alice", at).is_some();
            compared += u32::from(is_compared && at - now >= hour);
        }
        assert!(compared <= 240, "{compared} of one name in an hour");
        // Right passwords and hang-ups leave no wait to others.
        let later = now + hour * 2 + FORGOTTEN_AFTER;
        assert!((0..NAMES_MAX).all(|number| guess(&tries, one, &format!("other-{number}"), later).is_some()));
        let much_later = later + Duration::from_secs(800);
        for round in 0..100 {
            let hung_up: Vec<_> = (0..8).map(|_| tries.guess(one, "bob", much_later).expect("a turn")).collect();
            drop(hung_up);
            assert_eq!(log_in(&tries, one, &format!("carol-{round}"), much_later), Some(Duration::ZERO));
        }
    }

    /// Ten passwords, and then one each 16 s, kept all newcomers of an address out, with 64 invented names before them.
    #[test]
    fn few_passwords_of_invented_names_keep_no_newcomers_out() {
        let (tries, now, class) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        assert!((0..NAMES_MAX).all(|number| tries.turn(class, &format!("key-{number}"), now) == Ok(now)));
        assert!((0..10).all(|number| guess(&tries, class, &format!("invented-{number}"), now).is_some()));
        // All passwords are counted before the first one is compared. A group may have a few of them by chance.
        let students: Vec<_> = (0..30).map(|number| tries.guess(class, &format!("student-{number}"), now)).collect();
        let at_once = students.iter().flatten().filter(|guess| guess.turn() == now).count();
        assert!(at_once > 20, "{at_once} of 30");
    }

    /// A member with nine addresses was new at each of them again and again, and each login gave eight guesses there.
    #[test]
    fn a_login_that_pushes_out_an_address_of_its_member_gives_no_guesses() {
        let (tries, now) = (Tries::default(), Instant::now());
        let addresses: Vec<IpAddr> = (0..=8).map(|number: u32| IpAddr::V4(number.into())).collect();
        assert!(addresses.len() > ADDRESSES_OF_MEMBER_MAX);
        assert!(addresses.iter().all(|from| log_in(&tries, *from, "alice", now).is_some()));
        let first = addresses[0];
        let spent = (0..200).map_while(|number| guess(&tries, first, &format!("name-{number}"), now));
        assert_eq!(spent.count(), 72);
        let later = now + GUESS_WAIT;
        assert_eq!(log_in(&tries, first, "alice", later), Some(LONGEST_WAIT), "its address was forgotten");
        let given = (0..200).map_while(|_| guess(&tries, first, "bob", later));
        assert_eq!(given.count(), 1, "the one that came back meanwhile");
    }
}
