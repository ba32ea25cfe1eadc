//! The source addresses of connections. The system finds a free port for each by itself, until those of one address run
//! short: a port waits for a minute after its connection was closed. Then this module takes loopback addresses and
//! ports in turn, since the system's search takes longer than the request once most of them wait.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Connections for which the system finds ports, also when earlier loads left many waiting.
const SYSTEM_CONNECTIONS_MAX: u64 = 1_000;
/// Connections that one address makes without running short.
const CONNECTIONS_PER_ADDRESS: u64 = 10_000;
const ADDRESSES_MIN: u32 = 4;
const ADDRESSES_MAX: u32 = 64;
const PORT_RANGE_DEFAULT: [u16; 2] = [32_768, 60_999];

/// Source addresses and ports to take in turn.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The number of addresses; 1 when the system chooses the ports.
    pub addresses: u32,
    first_port: u16,
    ports: u32,
    /// The start of the turn, so that loads at once or in a row use other ports.
    offset: u32,
}

impl Sources {
    /// Lets the system choose.
    pub fn system() -> Sources {
        Sources { addresses: 1, first_port: 0, ports: 1, offset: 0 }
    }

    /// Returns as many as keep ports from running short, for this many connections; `None` for an unknown number.
    pub fn for_connections(to: SocketAddr, connections: Option<u64>) -> Sources {
        let loopback = matches!(to.ip(), IpAddr::V4(ip) if ip.is_loopback());
        let few = connections.is_some_and(|connections| connections <= SYSTEM_CONNECTIONS_MAX);
        if !loopback || few {
            return Sources::system();
        }
        let needed = connections.map_or(u64::MAX, |connections| connections.div_ceil(CONNECTIONS_PER_ADDRESS));
        let addresses = needed.clamp(ADDRESSES_MIN.into(), ADDRESSES_MAX.into()) as u32;
        let [first_port, last_port] = port_range().unwrap_or(PORT_RANGE_DEFAULT);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let ports = u32::from(last_port.saturating_sub(first_port)) + 1;
        Sources { addresses, first_port, ports, offset: now.as_micros() as u32 }
    }

    /// Returns the source of this connection; `None` to let the system choose.
    pub fn address(&self, number: u32) -> Option<SocketAddr> {
        let turn = self.offset.wrapping_add(number);
        let ip = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + turn % self.addresses);
        let port = u32::from(self.first_port) + turn / self.addresses % self.ports;
        (self.addresses > 1).then(|| SocketAddr::new(IpAddr::V4(ip), port as u16))
    }
}

fn port_range() -> Option<[u16; 2]> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn few_connections_leave_ports_to_the_system_and_many_get_each_another() {
        let to = "127.0.0.1:1".parse().expect("an address");
        assert_eq!(Sources::for_connections(to, Some(1_000)).address(0), None);
        assert_eq!(Sources::for_connections("192.0.2.1:1".parse().expect("an address"), None).address(0), None);
        assert_eq!(Sources::for_connections(to, Some(1_001)).addresses, 4);
        let sources = Sources::for_connections(to, Some(50_000));
        assert_eq!(sources.addresses, 5);
        let all: HashSet<_> = (0..50_000).filter_map(|number| sources.address(number)).collect();
        assert_eq!(all.len(), 50_000);
        assert!(all.iter().all(|source| source.ip().is_loopback() && source.port() >= 1024));
    }
}
