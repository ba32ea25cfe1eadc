//! Counts the connections of each source address over all listeners, so that one address cannot take every place. This
//! module knows no sockets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of an IPv6 address that tell sources apart: a host with one address of a network of this size has all of them.
const IPV6_NETWORK_BITS: u32 = 64;

/// Counts connections by source address. Clones count together.
#[derive(Clone, Debug)]
pub struct Addresses(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    /// The most connections of one source; zero for no bound.
    max: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection of a source address, counted until this is dropped.
#[derive(Debug)]
pub struct Visitor {
    /// The source; `None` where there is no bound and nothing to count.
    source: Option<IpAddr>,
    counts: Arc<Counts>,
}

impl Addresses {
    /// Makes counts with a bound for each source; zero for no bound.
    pub fn new(max: usize) -> Addresses {
        Addresses(Arc::new(Counts { max, open: Mutex::default() }))
    }

    /// The most connections of one source; zero for no bound.
    pub fn max(&self) -> usize {
        self.0.max
    }

    /// Counts one more connection from this address. Returns `None` when its source has as many as the bound allows.
    pub fn enter(&self, address: IpAddr) -> Option<Visitor> {
        let source = (self.0.max > 0).then(|| source_of(address));
        if let Some(source) = source {
            let mut open = self.0.lock();
            let count = open.entry(source).or_default();
            if *count >= self.0.max {
                return None;
            }
            *count += 1;
        }
        Some(Visitor { source, counts: self.0.clone() })
    }
}

impl Counts {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let Some(source) = self.source else { return };
        let mut open = self.counts.lock();
        if let Some(count) = open.get_mut(&source) {
            *count -= 1;
            // The table keeps no entry without connections, so it is as large as there are sources now.
            if *count == 0 {
                open.remove(&source);
            }
        }
    }
}

/// The source of an address: an IPv4 address, also one written as IPv6, or an IPv6 network.
pub fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::MAX << (u128::BITS - IPV6_NETWORK_BITS);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & network))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_source_has_so_many_places_and_who_leaves_makes_room() {
        let addresses = Addresses::new(2);
        let first = addresses.enter(address("192.0.2.1")).unwrap();
        let _second = addresses.clone().enter(address("::ffff:192.0.2.1")).unwrap();
        assert!(addresses.enter(address("192.0.2.1")).is_none());
        let _other = addresses.enter(address("192.0.2.2")).unwrap();
        drop(first);
        assert!(addresses.enter(address("192.0.2.1")).is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_source() {
        let addresses = Addresses::new(1);
        let one = addresses.enter(address("2001:db8:0:1::1")).unwrap();
        assert!(addresses.enter(address("2001:db8:0:1:ffff::2")).is_none());
        let other = addresses.enter(address("2001:db8:0:2::1")).unwrap();
        drop((one, other));
        assert!(addresses.0.lock().is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn without_a_bound_nothing_is_counted() {
        let addresses = Addresses::new(0);
        let all: Vec<_> = (0..1000).map(|_| addresses.enter(address("192.0.2.1")).unwrap()).collect();
        assert!(addresses.0.lock().is_empty());
        drop(all);
    }
}
