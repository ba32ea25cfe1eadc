//! Permits for what takes long: lists of open orders, and long look-ups in the history. A member has one at a time, so
//! that a member with many sessions keeps another one waiting for one piece of work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits that are taken at once, at most; further work of the kind waits for one.
const AT_ONCE: usize = 2;

pub(crate) struct MemberTurns {
    all: Arc<Semaphore>,
    /// The permit of each member that has one or waits; where there are no members, those of all clients.
    members: Mutex<HashMap<Box<str>, Weak<Semaphore>>>,
}

/// A permit, given back when it is dropped.
pub(crate) struct MemberTurn {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl MemberTurns {
    pub(crate) fn new() -> MemberTurns {
        MemberTurns { all: Arc::new(Semaphore::new(AT_ONCE)), members: Mutex::default() }
    }

    /// Waits for a permit for this member; none is a client where there are no members.
    pub(crate) async fn take(&self, member: Option<&str>) -> MemberTurn {
        let own = self.of_member(member).acquire_owned().await.expect("invariant: nobody closes it");
        let of_all = Arc::clone(&self.all).acquire_owned().await.expect("invariant: nobody closes it");
        MemberTurn { _own: own, _of_all: of_all }
    }

    fn of_member(&self, member: Option<&str>) -> Arc<Semaphore> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let name = member.unwrap_or_default();
        if let Some(own) = members.get(name).and_then(Weak::upgrade) {
            return own;
        }
        members.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(if member.is_some() { 1 } else { AT_ONCE }));
        members.insert(name.into(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Asked<'a> = (Option<&'static str>, Pin<Box<dyn Future<Output = MemberTurn> + 'a>>);

    /// Returns the turns that have begun, and their members.
    fn begun(asked: &mut Vec<Asked<'_>>) -> Vec<(Option<&'static str>, MemberTurn)> {
        let mut context = Context::from_waker(Waker::noop());
        let mut begun = Vec::new();
        asked.retain_mut(|(member, turn)| match turn.as_mut().poll(&mut context) {
            Poll::Ready(turn) => {
                begun.push((*member, turn));
                false
            }
            Poll::Pending => true,
        });
        begun
    }

    fn ask<'a>(turns: &'a MemberTurns, members: &[Option<&'static str>]) -> Vec<Asked<'a>> {
        members.iter().map(|member| (*member, Box::pin(turns.take(*member)) as _)).collect()
    }

    /// One member with 200 sessions had all of its lists made before the first one of another.
    #[test]
    fn a_member_makes_one_list_at_a_time() {
        let turns = MemberTurns::new();
        let (alice, bob) = (Some("alice"), Some("bob"));
        let mut asked = ask(&turns, &[alice, alice, alice, bob]);
        let mut members = Vec::new();
        loop {
            let begun = begun(&mut asked);
            if begun.is_empty() {
                break;
            }
            members.push(begun.iter().map(|(member, _)| *member).collect::<Vec<_>>());
        }
        assert_eq!(members, [vec![alice, bob], vec![alice], vec![alice]]);
        assert_eq!(begun(&mut ask(&turns, &[None, None, None])).len(), AT_ONCE, "an open venue has no members");
        let carol = begun(&mut ask(&turns, &[Some("carol")]));
        assert_eq!(
            (carol.len(), turns.members.lock().expect("nobody panics").len()),
            (1, 1),
            "who is done is forgotten"
        );
    }
}
