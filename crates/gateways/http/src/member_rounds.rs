//! Items that wait for their turn in rounds, one of each client: a client with many delays others by one at a time. A
//! member is one client, and so is an address where nobody has proven to be a member.

use std::collections::{HashMap, VecDeque};

use exchange::Source;

/// Items that wait.
pub(crate) struct MemberRounds<T> {
    /// The items of each client, oldest first. No line is empty.
    lines: HashMap<Source, VecDeque<T>>,
    /// The clients with items, the next one first.
    round: VecDeque<Source>,
}

impl<T> MemberRounds<T> {
    pub(crate) fn new() -> MemberRounds<T> {
        MemberRounds { lines: HashMap::new(), round: VecDeque::new() }
    }

    /// Adds an item of a client.
    pub(crate) fn push(&mut self, client: Source, item: T) {
        match self.lines.get_mut(&client) {
            Some(line) => line.push_back(item),
            None => {
                self.round.push_back(client);
                self.lines.insert(client, VecDeque::from([item]));
            }
        }
    }

    /// Takes the next item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let client = self.round.pop_front()?;
        let line = self.lines.get_mut(&client)?;
        let item = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&client);
        } else {
            self.round.push_back(client);
        }
        item
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.round.clear();
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member with many connections once kept the subscriptions of all others waiting behind its own.
    #[test]
    fn each_member_has_its_next_one_in_each_round() {
        let mut rounds = MemberRounds::new();
        for (member, number) in [("alice", 1), ("alice", 2), ("alice", 3), ("bob", 4), ("carol", 5), ("bob", 6)] {
            rounds.push(Source::member(member), number);
        }
        let order: Vec<u8> = std::iter::from_fn(|| rounds.pop()).collect();
        assert_eq!(order, [1, 4, 5, 2, 6, 3]);
        assert!(rounds.is_empty() && rounds.lines.is_empty());
    }
}
