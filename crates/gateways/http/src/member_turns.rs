//! One permit that members take in turn: a member that asks for it again and again delays others by one turn at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The permit, and those that wait for it.
#[derive(Clone, Default)]
pub(crate) struct MemberTurns(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    is_taken: bool,
    /// The members that wait, oldest first, and the way to tell them.
    line: VecDeque<(Box<str>, oneshot::Sender<Turn>)>,
    /// The number of the last turn of each member.
    last: HashMap<Box<str>, u64>,
    turns: u64,
}

/// The permit while it is taken. The next member gets it when this is dropped.
pub(crate) struct Turn(MemberTurns);

impl MemberTurns {
    /// Waits for a turn of this member; an empty name is that of all clients that are none. Of those that wait, the
    /// member comes next whose last turn was the longest ago.
    pub(crate) async fn take(&self, member: &str) -> Turn {
        let called = {
            let mut waiting = self.lock();
            if !waiting.is_taken {
                waiting.begin(member.into());
                return Turn(self.clone());
            }
            let (call, called) = oneshot::channel();
            waiting.line.push_back((member.into(), call));
            called
        };
        called.await.expect("invariant: who waits stays in line until called")
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn begin(&mut self, member: Box<str>) {
        self.is_taken = true;
        self.turns += 1;
        self.last.insert(member, self.turns);
    }

    /// Begins the next turn, if anyone waits for it.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        self.is_taken = false;
        self.line.retain(|(_, call)| !call.is_closed());
        let last = |place: &usize| self.last.get(&self.line[*place].0).copied().unwrap_or_default();
        let place = (0..self.line.len()).min_by_key(last)?;
        let (member, call) = self.line.remove(place)?;
        self.begin(member);
        Some(call)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.0.lock().next();
        if let Some(call) = next {
            // A turn that comes back, because its client has just gone, is dropped and goes on to the next one.
            drop(call.send(Turn(self.0.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Asking = (&'static str, Pin<Box<dyn Future<Output = Turn>>>);

    fn ask(turns: &MemberTurns, member: &'static str) -> Asking {
        let turns = turns.clone();
        (member, Box::pin(async move { turns.take(member).await }))
    }

    /// Returns the member whose turn it is, and the turn.
    fn begun(asking: &mut Vec<Asking>) -> Option<(&'static str, Turn)> {
        let mut context = Context::from_waker(Waker::noop());
        let mut begun = None;
        asking.retain_mut(|(member, turn)| match turn.as_mut().poll(&mut context) {
            Poll::Ready(turn) => {
                assert!(begun.replace((*member, turn)).is_none(), "one turn at a time");
                false
            }
            Poll::Pending => true,
        });
        begun
    }

    /// One member with many questions once had all of them answered before the first one of another.
    #[test]
    fn members_take_turns_and_who_has_gone_is_passed_over() {
        let turns = MemberTurns::default();
        let all = ["alice", "alice", "alice", "bob", "carol", "bob"];
        let mut asking: Vec<Asking> = all.map(|member| ask(&turns, member)).into();
        let mut order = Vec::new();
        while let Some((member, turn)) = begun(&mut asking) {
            order.push(member);
            if order.len() == 4 {
                asking.retain(|(member, _)| *member != "bob");
            }
            drop(turn);
        }
        assert_eq!(order, ["alice", "bob", "carol", "alice", "alice"]);
        assert!(begun(&mut vec![ask(&turns, "zoe")]).is_some(), "the permit is free again");
    }

    #[test]
    fn a_turn_that_comes_to_who_has_just_gone_goes_on() {
        let turns = MemberTurns::default();
        let (_, first) = begun(&mut vec![ask(&turns, "alice")]).expect("it is free");
        let (mut bob, mut carol) = (vec![ask(&turns, "bob")], vec![ask(&turns, "carol")]);
        assert!(begun(&mut bob).is_none() && begun(&mut carol).is_none());
        drop(first);
        // The turn is bob's, who never learns it.
        drop(bob);
        assert!(begun(&mut carol).is_some());
    }
}
