//! The source of a batch. The market's loop lets sources take turns, so that a flood from one of them delays none of
//! the others.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The source of heavy batches: a member with all its connections, or a connection of an unknown client. For other work
/// that takes long an address is the source of unknown clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(u64);

/// A bit that is set in the numbers of members and addresses, so that none equals a connection's.
const MEMBER: u64 = 1 << 63;

/// The number of the last counted connection.
static LAST_CONNECTION: AtomicU64 = AtomicU64::new(0);

impl Source {
    /// Makes the source of a connection, which differs from all others of this process.
    pub fn connection() -> Source {
        Source(LAST_CONNECTION.fetch_add(1, Ordering::Relaxed) & !MEMBER)
    }

    /// Makes the source of a member. Two members whose names have the same hash take turns as one.
    pub fn member(name: &str) -> Source {
        Source::hashed(name)
    }

    /// Makes the source of an address, as [`source_of`](crate::source_of) gives one.
    pub fn address(address: IpAddr) -> Source {
        Source::hashed(address)
    }

    fn hashed(whose: impl Hash) -> Source {
        let mut hasher = DefaultHasher::new();
        whose.hash(&mut hasher);
        Source(hasher.finish() | MEMBER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_one_source_and_each_connection_another() {
        assert_eq!(Source::member("alice"), Source::member("alice"));
        assert_ne!(Source::member("alice"), Source::member("bob"));
        assert_ne!(Source::connection(), Source::connection());
        assert_ne!(Source::connection(), Source::member(""));
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
        assert_eq!(Source::address(one), Source::address(one));
        assert_ne!(Source::address(one), Source::address(other));
    }
}
