//! The number of open connections of each member, over all protocols. This module knows neither sockets nor keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::Limit;
use crate::principal::Principal;

/// The open connections of all members. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Connections(Arc<Mutex<HashMap<String, u32>>>);

/// An open connection of a member, until this is dropped.
#[derive(Debug)]
pub struct Connected {
    connections: Connections,
    member: String,
}

impl Connections {
    /// Counts a connection of a member. Errors: the member has as many as it may have. A lower limit closes no
    /// connection that is open already.
    pub fn open(&self, principal: &Principal) -> Result<Connected, Limit> {
        let most = principal.rights().limits.connections();
        let member = principal.member().to_owned();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(member.clone()).or_insert(0);
        match most {
            Some(most) if *count >= most.get() => Err(Limit::Connections(most.get())),
            _ => {
                *count += 1;
                Ok(Connected { connections: self.clone(), member })
            }
        }
    }
}

impl Connected {
    /// Whether the connection is this member's.
    pub fn is_of(&self, principal: &Principal) -> bool {
        self.member == principal.member()
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut open = self.connections.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.member) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.member);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limits::Limits;
    use crate::principal::Rights;

    #[test]
    fn a_member_has_so_many_connections_over_all_its_keys() {
        let limits = || Limits::default().with_connections(NonZeroU32::new(2));
        let key = |member| Principal::new(member, Rights { limits: limits(), ..Rights::default() });
        let (one, two, other) = (key("alice"), key("alice"), key("bob"));
        let connections = Connections::default();
        let first = connections.open(&one);
        let second = connections.open(&two);
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(connections.open(&two).err(), Some(Limit::Connections(2)));
        assert!(connections.open(&other).is_ok(), "each member has its own");
        drop(first);
        let third = connections.open(&two);
        assert!(third.as_ref().is_ok_and(|third| third.is_of(&one) && !third.is_of(&other)));
        one.set_rights(Rights::default());
        assert!(connections.open(&one).is_ok(), "without a limit there is none");
        drop((second, third));
        assert!(connections.0.lock().expect("nobody panics").is_empty(), "who has none takes no room");
    }
}
