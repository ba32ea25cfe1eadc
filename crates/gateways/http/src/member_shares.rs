//! The shares that members have of a room, so that one of them leaves the rest to others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// The share of each member that has asked.
pub(crate) struct MemberShares {
    each: usize,
    shares: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl MemberShares {
    /// Makes shares of this many permits each.
    pub(crate) fn new(each: usize) -> MemberShares {
        MemberShares { each, shares: Mutex::default() }
    }

    /// The share of a member.
    pub(crate) fn of(&self, member: String) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shares.entry(member).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }
}
