//! Permits that members take in turn: a member that asks for them again and again delays others by one turn at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The permits, and those that wait for one.
#[derive(Clone)]
pub(crate) struct MemberTurns(Arc<Mutex<Waiting>>);

struct Waiting {
    /// Permits that nobody has. Nobody waits while there are some.
    free: usize,
    /// The lines of the members that wait.
    lines: HashMap<Box<str>, Line>,
    /// The members that wait, by their rank: the next one first.
    next: BTreeMap<Rank, Box<str>>,
    /// The number of the last turn of each member.
    last: HashMap<Box<str>, u64>,
    turns: u64,
    /// The number of the last place in a line.
    places: u64,
}

/// The rank of a member that waits: the number of its last turn, and the first place in its line when it got there.
type Rank = (u64, u64);

/// The requests that wait for turns of one member. There is at least one.
struct Line {
    rank: Rank,
    /// The way to tell each, by its place, oldest first.
    calls: BTreeMap<u64, oneshot::Sender<Turn>>,
}

/// A place in a line, which is given up when this is dropped.
struct Place {
    turns: MemberTurns,
    member: Box<str>,
    number: u64,
}

/// A permit while it is taken. The next member gets it when this is dropped.
pub struct Turn(MemberTurns);

impl Default for MemberTurns {
    /// Makes one permit.
    fn default() -> MemberTurns {
        MemberTurns::of(1)
    }
}

impl MemberTurns {
    /// Makes this many permits.
    pub(crate) fn of(permits: usize) -> MemberTurns {
        MemberTurns(Arc::new(Mutex::new(Waiting {
            free: permits,
            lines: HashMap::new(),
            next: BTreeMap::new(),
            last: HashMap::new(),
            turns: 0,
            places: 0,
        })))
    }

    /// Waits for a turn of this member; an empty name is that of all clients that are none. Of those that wait, the
    /// member comes next whose last turn was the longest ago.
    pub(crate) async fn take(&self, member: &str) -> Turn {
        let (call, called) = oneshot::channel();
        let number = {
            let mut waiting = self.lock();
            if waiting.free > 0 {
                waiting.free -= 1;
                waiting.begin(member.into());
                return Turn(self.clone());
            }
            waiting.line_up(member, call)
        };
        let _place = Place { turns: self.clone(), member: member.into(), number };
        called.await.expect("invariant: who waits stays in line until called")
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn begin(&mut self, member: Box<str>) {
        self.turns += 1;
        self.last.insert(member, self.turns);
    }

    /// Adds a place to the line of a member, and returns its number.
    fn line_up(&mut self, member: &str, call: oneshot::Sender<Turn>) -> u64 {
        self.places += 1;
        let place = self.places;
        match self.lines.get_mut(member) {
            Some(line) => {
                line.calls.insert(place, call);
            }
            None => self.put(member.into(), BTreeMap::from([(place, call)])),
        }
        place
    }

    /// Puts the line of a member where it belongs among the others, unless it is empty.
    fn put(&mut self, member: Box<str>, calls: BTreeMap<u64, oneshot::Sender<Turn>>) {
        let Some((&first, _)) = calls.first_key_value() else { return };
        let rank = (self.last.get(&member).copied().unwrap_or_default(), first);
        self.next.insert(rank, member.clone());
        self.lines.insert(member, Line { rank, calls });
    }

    /// Removes a place that nobody waits at any more.
    fn leave(&mut self, member: &str, place: u64) {
        let Some(line) = self.lines.get_mut(member) else { return };
        line.calls.remove(&place);
        if line.calls.is_empty() {
            self.next.remove(&line.rank);
            self.lines.remove(member);
        }
    }

    /// Gives a permit that came back to the next member. Returns the way to tell that member; `None` if nobody waits.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let called = self.call_next();
        self.free += usize::from(called.is_none());
        called
    }

    fn call_next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (_, member) = self.next.pop_first()?;
        let mut calls = self.lines.remove(&member)?.calls;
        let (_, call) = calls.pop_first()?;
        self.begin(member.clone());
        self.put(member, calls);
        Some(call)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turns.lock().leave(&self.member, self.number);
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
    use std::collections::VecDeque;
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

    /// Long answers of one member once took both permits for making a piece, one answer after the other, before anybody
    /// else's next piece.
    #[test]
    fn members_take_turns_at_several_permits() {
        let turns = MemberTurns::of(2);
        let mut asking: Vec<Asking> =
            ["alice", "alice", "alice", "alice", "bob", "carol"].map(|who| ask(&turns, who)).into();
        let (mut taken, mut order) = (VecDeque::new(), Vec::new());
        for _ in 0..2 {
            let first = asking.remove(0);
            taken.push_back(begun(&mut vec![first]).expect("two are free"));
        }
        assert!(begun(&mut asking).is_none(), "both are taken");
        while let Some((member, turn)) = taken.pop_front() {
            order.push(member);
            drop(turn);
            taken.extend(begun(&mut asking));
            assert!(taken.len() <= 2 && (taken.len() == 2 || asking.is_empty()));
        }
        assert_eq!(order, ["alice", "alice", "bob", "carol", "alice", "alice"]);
        assert_eq!(turns.lock().free, 2);
    }

    /// A client that came and went left a place behind each time, and each turn looked at all of them.
    #[test]
    fn who_has_gone_leaves_no_place() {
        let turns = MemberTurns::default();
        let (_, first) = begun(&mut vec![ask(&turns, "alice")]).expect("it is free");
        let mut bob = vec![ask(&turns, "bob")];
        assert!(begun(&mut bob).is_none());
        for member in ["alice", "bob", "carol"] {
            let mut gone: Vec<Asking> = (0..100).map(|_| ask(&turns, member)).collect();
            assert!(begun(&mut gone).is_none());
        }
        let places = |waiting: &Waiting| waiting.lines.values().map(|line| line.calls.len()).sum::<usize>();
        let waiting = turns.lock();
        assert_eq!((places(&waiting), waiting.next.len()), (1, 1));
        drop(waiting);
        drop(first);
        assert!(begun(&mut bob).is_some());
    }
}
