//! Wrong proofs, by source address: after a few each has the next one of that address wait longer. No other address waits.

use std::collections::HashMap;
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
/// After so long without a wrong one an address is as any other.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);
/// Addresses remembered at once. Beyond, the one is forgotten whose turn came the longest ago.
const ADDRESSES_MAX: usize = 16_384;

/// Of each source address that gave a wrong proof lately, whatever protocol it came by.
#[derive(Debug, Default)]
pub struct Tries(Mutex<HashMap<IpAddr, Source>>);

#[derive(Debug)]
struct Source {
    wrong: u32,
    /// When its next try has its turn.
    next: Instant,
}

impl Tries {
    /// Whether an address's turn has come. Errors: how long it has to wait.
    pub fn may_try(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = sources.get(&source_of(address)).map_or(now, |source| source.next);
        if next <= now { Ok(()) } else { Err(next - now) }
    }

    /// Counts a try as a wrong one, and gives its turn: when it is to be looked at, or answered. Errors: that is too far off, by so much;
    /// then it does not count, and is not to be looked at.
    pub fn turn(&self, address: IpAddr, now: Instant) -> Result<Instant, Duration> {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = source_of(address);
        if sources.len() >= ADDRESSES_MAX && !sources.contains_key(&name) {
            let oldest = sources.iter().min_by_key(|(_, source)| source.next).map(|(name, _)| *name);
            oldest.map(|name| sources.remove(&name));
        }
        let its = sources.entry(name).or_insert(Source { wrong: 0, next: now });
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
    pub fn was_right(&self, address: IpAddr) {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(its) = sources.get_mut(&source_of(address)) {
            its.wrong = its.wrong.saturating_sub(1);
        }
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
    fn each_wrong_proof_of_an_address_has_its_next_wait_longer_and_no_other_address_waits() {
        let (tries, now, one) = (Tries::default(), Instant::now(), address("192.0.2.1"));
        let waits: Vec<Option<u128>> =
            (0..12).map(|_| tries.turn(one, now).ok().map(|turn| (turn - now).as_millis())).collect();
        let waited = [0, 0, 0, 0, 250, 750, 1_750, 3_750, 7_750, 15_750].map(Some);
        assert_eq!(waits[..10], waited);
        assert_eq!(waits[10..], [None, None], "what has no turn does not count");
        assert_eq!(tries.may_try(one, now), Err(Duration::from_millis(31_750)));
        let other = address("192.0.2.2");
        assert_eq!((tries.may_try(other, now), tries.turn(other, now)), (Ok(()), Ok(now)));
        let later = now + Duration::from_secs(2000);
        assert!((0..4).all(|_| tries.turn(one, later) == Ok(later)), "it is forgotten");
        assert_eq!(tries.turn(one, later), Ok(later + FIRST_WAIT));
    }

    #[test]
    fn a_right_one_does_not_count_and_one_network_is_one_source() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        for _ in 0..20 {
            now += LONGEST_WAIT;
            assert!(tries.turn(address("2001:db8::1"), now).is_ok());
            tries.was_right(address("2001:db8::1"));
        }
        assert!((2..6).all(|host| tries.turn(address(&format!("2001:db8::{host}")), now) == Ok(now)));
        assert!(
            tries.may_try(address("2001:db8::7"), now).is_err() && tries.may_try(address("2001:db9::7"), now).is_ok()
        );
    }

    #[test]
    fn so_many_addresses_are_remembered_and_the_one_of_the_longest_ago_is_forgotten() {
        let (tries, now) = (Tries::default(), Instant::now());
        let last = now + Duration::from_secs(20);
        for _ in 0..10 {
            let _ = tries.turn(address("192.0.2.1"), now);
        }
        for _ in 0..4 {
            let _ = tries.turn(address("192.0.2.2"), now);
        }
        for number in 1..u32::try_from(ADDRESSES_MAX).expect("few") {
            assert!(tries.turn(IpAddr::V4(number.into()), now + Duration::from_secs(1)).is_ok());
        }
        assert_eq!(tries.0.lock().expect("nobody panics").len(), ADDRESSES_MAX);
        assert!(tries.may_try(address("192.0.2.1"), last).is_err(), "its turn is not over");
        assert_eq!(tries.turn(address("192.0.2.2"), last), Ok(last));
        assert!(tries.may_try(address("192.0.2.2"), last).is_ok(), "it was forgotten");
    }
}
