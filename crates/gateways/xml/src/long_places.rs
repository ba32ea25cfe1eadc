//! Places for long replies, over all workers: a client has one at a time, and clients have theirs in turn. It knows
//! nothing of connections or of what replies are made of.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use exchange::Source;

/// All places, and the clients that wait for one. A member is one client with all its connections; so is an address
/// where nobody has proven to be a member.
pub(crate) struct LongPlaces {
    /// The number of places.
    max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The clients that have a place.
    taken: HashSet<Source>,
    /// The connections of each client that wait for a place. No count is zero.
    waiting: HashMap<Source, usize>,
    /// The clients that wait, the next one first.
    round: VecDeque<Source>,
}

impl LongPlaces {
    pub fn new(max: usize) -> LongPlaces {
        LongPlaces { max, state: Mutex::default() }
    }

    /// Counts a connection that waits from now on.
    pub fn wait(&self, client: Source) {
        let mut state = self.state();
        let State { waiting, round, .. } = &mut *state;
        let count = waiting.entry(client).or_default();
        *count += 1;
        if *count == 1 {
            round.push_back(client);
        }
    }

    /// Counts a connection that waits no more.
    pub fn leave(&self, client: Source) {
        let mut state = self.state();
        if state.waits_no_more(client) {
            state.round.retain(|other| *other != client);
        }
    }

    /// Returns the client that may have a place now: the next one that waits and has none.
    pub fn next(&self) -> Option<Source> {
        self.next_of(&self.state())
    }

    /// Gives a place to a client that waits. Returns false if it is not its turn any more.
    pub fn enter(&self, client: Source) -> bool {
        let mut state = self.state();
        if self.next_of(&state) != Some(client) {
            return false;
        }
        state.taken.insert(client);
        if state.waits_no_more(client) {
            state.round.retain(|other| *other != client);
        }
        true
    }

    /// Takes a client's place back. If it waits for another one, its turn is behind all others.
    pub fn give_back(&self, client: Source) {
        let mut state = self.state();
        state.taken.remove(&client);
        if let Some(place) = state.round.iter().position(|other| *other == client) {
            state.round.remove(place);
            state.round.push_back(client);
        }
    }

    /// Returns how many connections wait.
    pub fn waiting(&self) -> usize {
        self.state().waiting.values().sum()
    }

    fn next_of(&self, state: &State) -> Option<Source> {
        let has_room = state.taken.len() < self.max;
        state.round.iter().copied().find(|client| has_room && !state.taken.contains(client))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a connection of a client that waits no more. Returns whether none is left that does.
    fn waits_no_more(&mut self, client: Source) -> bool {
        if let Some(count) = self.waiting.get_mut(&client) {
            *count -= 1;
            if *count > 0 {
                return false;
            }
            self.waiting.remove(&client);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member with a thousand connections, each of which read slowly, held both places until it had all its replies.
    #[test]
    fn a_client_has_one_place_and_clients_have_theirs_in_turn() {
        let places = LongPlaces::new(2);
        let [alice, bob, carol] = ["alice", "bob", "carol"].map(Source::member);
        [alice, alice, alice, bob, carol].into_iter().for_each(|client| places.wait(client));
        assert_eq!(places.next(), Some(alice));
        assert!(!places.enter(bob), "it is not his turn");
        assert!(places.enter(alice));
        assert_eq!(places.next(), Some(bob), "she has one");
        assert!(places.enter(bob));
        assert_eq!((places.next(), places.waiting()), (None, 3), "both are taken");
        places.give_back(alice);
        assert_eq!(places.next(), Some(carol), "she has waited longer");
        places.leave(carol);
        assert_eq!(places.next(), Some(alice));
        assert!(places.enter(alice));
        places.give_back(bob);
        assert_eq!((places.next(), places.waiting()), (None, 1), "one waits for a place of its own member");
        places.give_back(alice);
        assert!(places.enter(alice));
        assert_eq!(places.waiting(), 0);
        let state = places.state();
        assert!(state.round.is_empty() && state.waiting.is_empty());
    }
}
