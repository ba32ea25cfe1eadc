//! Failed tries to log in, by source address: each has the next one of that address wait longer. Others do not wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use exchange::source_of;

/// Failures that cost nothing: people mistype.
const FREE: u32 = 3;
/// The wait after the next one. It doubles with each further one,
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// An address that did not fail for this long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Addresses remembered at once. Beyond, the one is forgotten that failed the longest ago.
const ADDRESSES_MAX: usize = 16_384;

/// The failures of each source address. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Tries(Arc<Mutex<HashMap<IpAddr, Failures>>>);

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn wait(&self) -> Duration {
        match self.count.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(doublings) => FIRST_WAIT.saturating_mul(1 << doublings.min(16)).min(LONGEST_WAIT),
        }
    }
}

impl Tries {
    /// Whether somebody at this address may try now. Errors: how long it has to wait. Nothing is compared meanwhile, so
    /// that guesses in the meantime tell nothing.
    pub fn may_try(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(failures) = tries.get(&source_of(address)) else { return Ok(()) };
        let over = failures.last + failures.wait();
        if now < over { Err(over - now) } else { Ok(()) }
    }

    /// Notes a failed try.
    pub fn failed(&self, address: IpAddr, now: Instant) {
        let mut tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let source = source_of(address);
        if tries.len() >= ADDRESSES_MAX && !tries.contains_key(&source) {
            let oldest = tries.iter().min_by_key(|(_, failures)| failures.last).map(|(source, _)| *source);
            oldest.map(|source| tries.remove(&source));
        }
        let failures = tries.entry(source).or_insert(Failures { count: 0, last: now });
        let forgotten = now.saturating_duration_since(failures.last) >= FORGOTTEN_AFTER;
        *failures = Failures { count: if forgotten { 1 } else { failures.count.saturating_add(1) }, last: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn each_failure_has_the_next_try_of_that_address_wait_longer() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        let guesser = address("10.0.0.1");
        let waits = (0..12).map(|_| {
            tries.failed(guesser, now);
            let wait = tries.may_try(guesser, now).err().unwrap_or_default();
            assert!(tries.may_try(guesser, now + wait).is_ok() && tries.may_try(address("10.0.0.2"), now).is_ok());
            now += wait;
            wait.as_secs()
        });
        assert_eq!(waits.collect::<Vec<u64>>(), [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        now += FORGOTTEN_AFTER;
        tries.failed(guesser, now);
        assert!(tries.may_try(guesser, now).is_ok());
    }

    #[test]
    fn addresses_of_one_network_of_version_6_wait_together_and_so_many_are_remembered() {
        let (tries, now) = (Tries::default(), Instant::now());
        (1..=4).for_each(|host| tries.failed(address(&format!("fd00::{host}")), now));
        assert!(
            tries.may_try(address("fd00::5"), now).is_err() && tries.may_try(address("fd00:0:0:1::5"), now).is_ok()
        );
        for number in 0..20_000u32 {
            tries.failed(IpAddr::V4(number.into()), now + Duration::from_millis(number.into()));
        }
        assert_eq!(tries.0.lock().expect("nobody panics").len(), ADDRESSES_MAX);
        assert!(tries.may_try(address("fd00::5"), now).is_ok(), "it failed the longest ago");
    }
}
