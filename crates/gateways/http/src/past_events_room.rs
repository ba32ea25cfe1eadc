//! The room for pages of past events that wait for their clients, of which each member takes its share at most.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::member_shares::MemberShares;

/// Events and changes of past markets that wait to be told, over all clients: some 200 bytes each.
const ALL: u32 = 1 << 18;
/// Events and changes of one member that wait, at most: a page has some 11,000.
const OF_MEMBER: u32 = ALL / 8;

/// A permit for each event and change of a page that its client has not taken yet.
pub(crate) struct PastEventsRoom {
    all: Arc<Semaphore>,
    shares: MemberShares,
}

/// The place of a page, until it is dropped.
pub(crate) struct PagePlace {
    _of_member: Option<OwnedSemaphorePermit>,
    _place: OwnedSemaphorePermit,
}

/// The reason why a page has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The member's own pages have its share.
    Member,
    /// The pages of all have the room.
    All,
}

impl Default for PastEventsRoom {
    fn default() -> PastEventsRoom {
        PastEventsRoom { all: Arc::new(Semaphore::new(ALL as usize)), shares: MemberShares::new(OF_MEMBER as usize) }
    }
}

impl PastEventsRoom {
    /// Takes room for a page of this many events and changes. Clients without a name have no share.
    pub(crate) fn take(&self, member: Option<String>, count: usize) -> Result<PagePlace, NoRoom> {
        let permits = u32::try_from(count).unwrap_or(OF_MEMBER).min(OF_MEMBER);
        let of_member = member.map(|member| self.shares.of(member).try_acquire_many_owned(permits)).transpose();
        let of_member = of_member.map_err(|_| NoRoom::Member)?;
        let place = Arc::clone(&self.all).try_acquire_many_owned(permits).map_err(|_| NoRoom::All)?;
        Ok(PagePlace { _of_member: of_member, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member with 24 slow clients kept pages of the past from everybody else.
    #[test]
    fn a_member_takes_its_share_and_leaves_the_rest() {
        let room = PastEventsRoom::default();
        let alice = || room.take(Some("alice".to_owned()), 11_000);
        let hers: Vec<PagePlace> = std::iter::from_fn(|| alice().ok()).collect();
        assert_eq!((hers.len(), alice().err()), (2, Some(NoRoom::Member)));
        assert!(room.take(Some("bob".to_owned()), 11_000).is_ok());
        drop(hers);
        assert!(alice().is_ok());
    }

    #[test]
    fn clients_without_a_name_take_what_is_left_and_a_great_page_counts_as_a_share() {
        let room = PastEventsRoom::default();
        let all: Vec<PagePlace> = std::iter::from_fn(|| room.take(None, usize::MAX).ok()).collect();
        assert_eq!((all.len(), room.take(Some("alice".to_owned()), 1).err()), (8, Some(NoRoom::All)));
        drop(all);
        assert!(room.take(Some("alice".to_owned()), usize::MAX).is_ok(), "what was refused is given back");
    }
}
