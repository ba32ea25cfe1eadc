//! Networks of source addresses: finds the narrowest network that contains an address in a few steps, however many
//! networks there are.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The addresses that begin with the same bits. An IPv4 address is the IPv6 address that maps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    first: u128,
    bits: u32,
}

impl Network {
    /// Reads `10.0.0.0/8`, `10.1.2.3` or `fd00::/16`. Errors: it is written otherwise, or has bits set behind the
    /// network's.
    pub(crate) fn parse(text: &str) -> Result<Network, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr =
            address.parse().map_err(|_| "is no address like 10.1.2.3, 10.0.0.0/8 or fd00::/16".to_owned())?;
        let bits_max: u32 = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => bits_max,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|bits| *bits <= bits_max)
                .ok_or(format!("has more than {bits_max} bits behind its /"))?,
        };
        let network = Network::around(address, bits + 128 - bits_max);
        match network.first == number(address) {
            true => Ok(network),
            false => Err("has bits behind those that its / counts".to_owned()),
        }
    }

    fn around(address: IpAddr, bits: u32) -> Network {
        let behind = u128::MAX.checked_shr(bits).unwrap_or(0);
        Network { first: number(address) & !behind, bits }
    }
}

fn number(address: IpAddr) -> u128 {
    let wide = match address {
        IpAddr::V4(short) => short.to_ipv6_mapped(),
        IpAddr::V6(wide) => wide,
    };
    Ipv6Addr::to_bits(wide)
}

/// The keys of networks, by index.
#[derive(Default)]
pub(crate) struct Networks {
    keys: HashMap<Network, u32, RandomState>,
    lengths: BTreeSet<u32>,
}

impl Networks {
    /// Adds a network's key. Returns whether the network had none before.
    pub(crate) fn insert(&mut self, network: Network, key: u32) -> bool {
        self.lengths.insert(network.bits);
        self.keys.insert(network, key).is_none()
    }

    /// Returns the key of the narrowest network around this address.
    pub(crate) fn find(&self, address: IpAddr) -> Option<u32> {
        self.lengths.iter().rev().find_map(|&bits| self.keys.get(&Network::around(address, bits))).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_network_around_an_address_is_found() {
        let mut networks = Networks::default();
        for (key, text) in (0..).zip(["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "fd00::/16"]) {
            assert!(networks.insert(Network::parse(text).expect(text), key));
        }
        for (address, key) in [
            ("10.9.9.9", 0),
            ("10.1.9.9", 1),
            ("10.1.2.3", 2),
            ("::ffff:10.1.2.3", 2),
            ("11.0.0.1", 3),
            ("fd00::1", 4),
            ("fe00::1", 3),
        ] {
            assert_eq!(networks.find(address.parse().expect("an address")), Some(key), "{address}");
        }
        assert_eq!(Networks::default().find("10.0.0.1".parse().expect("an address")), None);
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/x", "10.0.0.1/8", "fd00::/129", "fd00::1/64", "10.0.0.0/-1"]
        {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }
}
