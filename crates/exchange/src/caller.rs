//! The caller of a request, as the server records it: the connection, the protocol, the address and the member.
//! [`crate::Principal`] says what a caller may do.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use terms::Time;

use crate::principal::Principal;

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Xml,
    Rest,
    /// The compatible interface, over HTTP.
    Binance,
    /// The compatible interface, over a WebSocket.
    BinanceWebSocket,
    Fix,
}

impl Protocol {
    /// The name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Xml => "xml",
            Protocol::Rest => "rest",
            Protocol::Binance => "binance",
            Protocol::BinanceWebSocket => "binance-websocket",
            Protocol::Fix => "fix",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A connection. No two have the same number, not even across restarts: it is the microsecond in which the connection
/// began, or the next one that no other connection has, and always later than the market's last command at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    number: u64,
    address: IpAddr,
}

/// The number of the session that began last.
static LAST_SESSION: AtomicU64 = AtomicU64::new(0);
/// The number of the caller that was made last.
static LAST_CALLER: AtomicU64 = AtomicU64::new(0);

impl Session {
    /// Starts the session of a connection from this address.
    pub fn begin(address: IpAddr) -> Session {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since.as_micros()).unwrap_or(0);
        let next = |last: u64| Some(now.max(last.saturating_add(1)));
        let last = LAST_SESSION.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let number = last.map_or(now, |last| now.max(last.saturating_add(1)));
        Session { number, address: address.to_canonical() }
    }

    /// Makes all later sessions have higher numbers than any session that gave a command up to this time.
    pub fn begin_after(time: Time) {
        LAST_SESSION.fetch_max(time.0, Ordering::Relaxed);
    }

    /// The caller on this connection, as far as the gateway knows its principal.
    pub fn caller(self, protocol: Protocol, principal: Option<&Principal>) -> Arc<Caller> {
        let number = LAST_CALLER.fetch_add(1, Ordering::Relaxed);
        Arc::new(Caller { number, session: self, protocol, principal: principal.cloned() })
    }
}

/// A member, or somebody unknown, on a connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Caller {
    number: u64,
    session: Session,
    protocol: Protocol,
    principal: Option<Principal>,
}

impl Caller {
    /// A number that tells this caller from all others of the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The connection's number.
    pub fn session(&self) -> u64 {
        self.session.number
    }

    /// The address that the connection comes from.
    pub fn address(&self) -> IpAddr {
        self.session.address
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The member's name; empty if the caller proved to be none.
    pub fn member(&self) -> &str {
        self.principal.as_ref().map_or("", Principal::member)
    }

    /// The key that the member proved itself with; empty if it is not known.
    pub fn key(&self) -> &str {
        self.principal.as_ref().map_or("", Principal::key)
    }

    /// Whether this is the caller with this protocol and principal.
    pub fn is(&self, protocol: Protocol, principal: Option<&Principal>) -> bool {
        let same = |one: &Principal, other: &Principal| {
            one == other || (one.member(), one.key()) == (other.member(), other.key())
        };
        self.protocol == protocol
            && match (&self.principal, principal) {
                (Some(one), Some(other)) => same(one, other),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::principal::Rights;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn no_two_sessions_have_the_same_number_and_none_one_of_before_the_last_command() {
        let begin = || (0..1000).map(|_| Session::begin(HERE).number).collect::<Vec<u64>>();
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
        });
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
        let later = Time(Session::begin(HERE).number + 3_600_000_000);
        Session::begin_after(later);
        Session::begin_after(Time(1));
        assert!(Session::begin(HERE).number > later.0);
    }

    #[test]
    fn a_caller_is_told_by_its_member_key_and_protocol() {
        let alice = |key| Principal::of_key("alice", key, Rights::default());
        let session = Session::begin("::ffff:192.0.2.1".parse().expect("an address"));
        let caller = session.caller(Protocol::Rest, Some(&alice("k")));
        assert_eq!(
            (caller.member(), caller.key(), caller.address().to_string()),
            ("alice", "k", "192.0.2.1".to_owned())
        );
        assert!(caller.is(Protocol::Rest, Some(&alice("k"))));
        for (protocol, principal) in
            [(Protocol::Binance, Some(alice("k"))), (Protocol::Rest, Some(alice("l"))), (Protocol::Rest, None)]
        {
            assert!(!caller.is(protocol, principal.as_ref()), "{protocol} {principal:?}");
        }
        let nobody = session.caller(Protocol::Xml, None);
        assert!(nobody.is(Protocol::Xml, None) && nobody.member().is_empty() && nobody.key().is_empty());
        assert_ne!(nobody.number(), caller.number());
    }
}
