//! The identity of a connection that protects accounts: its id differs from all others for as long as the server runs.
//! Nothing here knows what kind of connection it is.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most accounts that one connection may protect.
pub const PROTECTED_ACCOUNTS_MAX: usize = 1_000;

/// A connection that protects accounts, or did. When it ends, its gateway calls [`Requests::depart`], behind everything
/// that came over it.
///
/// [`Requests::depart`]: crate::Requests::depart
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtectorId(NonZeroU64);

impl ProtectorId {
    /// Makes an id that differs from all before it.
    #[expect(clippy::new_without_default, reason = "no two are equal")]
    pub fn new() -> ProtectorId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed));
        ProtectorId(number.expect("invariant: 2^64 connections take centuries"))
    }
}
