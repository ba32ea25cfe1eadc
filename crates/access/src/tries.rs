//! Wrong proofs, by source address and by what was tried there: after a few each has the next one wait longer. No other
//! address waits, nor whoever tries another key.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
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
/// Pairs of address and key remembered at once. Beyond, the one is forgotten whose turn came the longest ago.
const REMEMBERED_MAX: usize = 16_384;

/// Wrong proofs of each source address lately, by the key or member that they name, whatever protocol they came by.
#[derive(Debug, Default)]
pub struct Tries {
    wrong: Mutex<HashMap<Tried, Wrong>>,
    /// Names are as long as somebody likes, so their hashes are remembered; nobody knows which names share one.
    hasher: RandomState,
}

/// A source address, and a name's hash.
type Tried = (IpAddr, u64);

#[derive(Debug)]
struct Wrong {
    wrong: u32,
    /// When its next try has its turn.
    next: Instant,
}

impl Tries {
    /// Whether the turn has come of whoever tries this from an address. Errors: how long it has to wait.
    pub fn may_try(&self, address: IpAddr, name: &str, now: Instant) -> Result<(), Duration> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let next = wrong.get(&self.tried(address, name)).map_or(now, |wrong| wrong.next);
        if next <= now { Ok(()) } else { Err(next - now) }
    }

    /// Counts a try as a wrong one, and gives its turn: when it is to be looked at, or answered. Errors: that is too far off, by so much;
    /// then it does not count, and is not to be looked at.
    pub fn turn(&self, address: IpAddr, name: &str, now: Instant) -> Result<Instant, Duration> {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let tried = self.tried(address, name);
        if wrong.len() >= REMEMBERED_MAX && !wrong.contains_key(&tried) {
            let oldest = wrong.iter().min_by_key(|(_, wrong)| wrong.next).map(|(tried, _)| *tried);
            oldest.map(|tried| wrong.remove(&tried));
        }
        let its = wrong.entry(tried).or_insert(Wrong { wrong: 0, next: now });
        if its.next + FORGOTTEN_AFTER <= now {
            its.wrong = 0;
        }
        let turn = its.next.max(now);
        if turn > now + LONGEST_WAIT {
            return Err(turn - now);
        }
        its.wrong = its.wrong.saturating_add(1);
        its.next = turn + wait_behind(its.wrong);
        Ok(turn)
    }

    /// The last try that had its turn was right.
    pub fn was_right(&self, address: IpAddr, name: &str) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(its) = wrong.get_mut(&self.tried(address, name)) {
            its.wrong = its.wrong.saturating_sub(1);
        }
    }

    fn tried(&self, address: IpAddr, name: &str) -> Tried {
        (source_of(address), self.hasher.hash_one(name))
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
            tries.was_right(address("2001:db8::1"), "k");
        }
        assert!((2..6).all(|host| tries.turn(address(&format!("2001:db8::{host}")), "k", now) == Ok(now)));
        assert!(
            tries.may_try(address("2001:db8::7"), "k", now).is_err()
                && tries.may_try(address("2001:db9::7"), "k", now).is_ok()
        );
    }

    #[test]
    fn so_many_are_remembered_and_the_one_of_the_longest_ago_is_forgotten() {
        let (tries, now) = (Tries::default(), Instant::now());
        let last = now + Duration::from_secs(20);
        for _ in 0..10 {
            let _ = tries.turn(address("192.0.2.1"), "k", now);
        }
        for _ in 0..4 {
            let _ = tries.turn(address("192.0.2.2"), "k", now);
        }
        for number in 1..u32::try_from(REMEMBERED_MAX).expect("few") {
            assert!(tries.turn(IpAddr::V4(number.into()), "k", now + Duration::from_secs(1)).is_ok());
        }
        assert_eq!(tries.wrong.lock().expect("nobody panics").len(), REMEMBERED_MAX);
        assert!(tries.may_try(address("192.0.2.1"), "k", last).is_err(), "its turn is not over");
        assert_eq!(tries.turn(address("192.0.2.2"), "k", last), Ok(last));
        assert!(tries.may_try(address("192.0.2.2"), "k", last).is_ok(), "it was forgotten");
    }
}
