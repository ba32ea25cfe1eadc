//! Wrong proofs of each source address: each makes its next one wait longer, and no other address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use exchange::source_of;

/// What the second wrong proof waits; each further one waits twice as long, up to the most.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(16);
/// Whoever would have to wait longer is told so at once.
const WAIT_MAX: Duration = Duration::from_secs(16);
/// After so long without a try an address is as any other.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);
/// So many addresses are remembered. Those that come when there is no room have one line together.
const ADDRESSES_MAX: usize = 1 << 16;

/// Of each source address that gave a wrong proof lately.
#[derive(Default)]
pub(crate) struct Tries(Mutex<HashMap<IpAddr, Source>>);

struct Source {
    wrong: u32,
    /// When its next try is looked at.
    next: Instant,
}

impl Tries {
    /// Counts a try as a wrong one, and gives when it is to be looked at, or answered. None if that is too far off: then it was
    /// not looked at.
    pub(crate) fn turn(&self, address: IpAddr, now: Instant) -> Option<Instant> {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut name = source_of(address);
        if !sources.contains_key(&name) && sources.len() >= ADDRESSES_MAX {
            sources.retain(|_, source| source.next + FORGOTTEN_AFTER > now);
            if sources.len() >= ADDRESSES_MAX {
                name = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
            }
        }
        let its = sources.entry(name).or_insert(Source { wrong: 0, next: now });
        if its.next + FORGOTTEN_AFTER <= now {
            its.wrong = 0;
        }
        let turn = its.next.max(now);
        if turn > now + WAIT_MAX {
            return None;
        }
        its.next = turn + pause(its.wrong);
        its.wrong = its.wrong.saturating_add(1);
        Some(turn)
    }

    /// The last try was none of these.
    pub(crate) fn was_right(&self, address: IpAddr) {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(its) = sources.get_mut(&source_of(address)) {
            its.wrong = its.wrong.saturating_sub(1);
        }
    }
}

/// What comes behind so many wrong ones waits.
fn pause(wrong: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << wrong.min(16)).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_proof_of_an_address_waits_longer_and_no_other_address_does() {
        let (tries, now) = (Tries::default(), Instant::now());
        let one: IpAddr = "192.0.2.1".parse().expect("an address");
        let waits: Vec<Option<u128>> =
            (0..10).map(|_| tries.turn(one, now).map(|turn| (turn - now).as_millis())).collect();
        let expected = [Some(0), Some(250), Some(750), Some(1_750), Some(3_750), Some(7_750), Some(15_750), None];
        assert_eq!(waits[..8], expected);
        assert_eq!(waits[8..], [None, None], "what was not looked at does not count");
        let other = "192.0.2.2".parse().expect("an address");
        assert_eq!(tries.turn(other, now), Some(now));
        let later = now + Duration::from_secs(2000);
        assert_eq!(tries.turn(one, later), Some(later));
        assert_eq!(tries.turn(one, later), Some(later + FIRST_PAUSE));
    }

    #[test]
    fn a_right_one_does_not_count_and_one_network_is_one_source() {
        let (tries, mut now) = (Tries::default(), Instant::now());
        let address = |text: &str| text.parse().expect("an address");
        for _ in 0..20 {
            now += PAUSE_MAX;
            assert!(tries.turn(address("2001:db8::1"), now).is_some());
            tries.was_right(address("2001:db8::1"));
        }
        assert!(tries.turn(address("2001:db8::2"), now).is_some());
        assert_ne!(tries.turn(address("2001:db8::3"), now), Some(now));
        assert_eq!(tries.turn(address("2001:db9::3"), now), Some(now));
    }

    #[test]
    fn addresses_past_the_bound_wait_together() {
        let (tries, now) = (Tries::default(), Instant::now());
        for number in 0..=u32::try_from(ADDRESSES_MAX).expect("few") {
            assert_eq!(tries.turn(IpAddr::V4(number.into()), now), Some(now));
        }
        assert_eq!(tries.turn(address_past_all(), now), Some(now + FIRST_PAUSE));
    }

    fn address_past_all() -> IpAddr {
        IpAddr::V4(u32::MAX.into())
    }
}
