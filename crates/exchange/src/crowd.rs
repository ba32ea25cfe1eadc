//! Numbered members of groups, and the group with the most of them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Numbers by the group that they belong to. A higher number is newer.
#[derive(Debug)]
pub(crate) struct Crowd<Group> {
    groups: HashMap<Group, BTreeSet<u64>>,
    /// The size of each group, and its oldest number: the last group is the largest, and among equal ones the one with
    /// the oldest number.
    ranks: BTreeSet<(usize, Reverse<u64>, Group)>,
    len: usize,
}

impl<Group> Default for Crowd<Group> {
    fn default() -> Crowd<Group> {
        Crowd { groups: HashMap::new(), ranks: BTreeSet::new(), len: 0 }
    }
}

impl<Group: Clone + Hash + Ord> Crowd<Group> {
    pub(crate) fn add(&mut self, group: Group, number: u64) {
        self.change(group, |numbers| numbers.insert(number));
    }

    pub(crate) fn remove(&mut self, group: &Group, number: u64) {
        self.change(group.clone(), |numbers| numbers.remove(&number));
    }

    /// The size of a group.
    pub(crate) fn count(&self, group: &Group) -> usize {
        self.groups.get(group).map_or(0, BTreeSet::len)
    }

    /// The size of all groups together.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The size of the largest group, and its oldest number.
    pub(crate) fn heaviest(&self) -> Option<(usize, u64)> {
        self.ranks.last().map(|(count, Reverse(oldest), _)| (*count, *oldest))
    }

    fn change(&mut self, group: Group, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) {
        let numbers = self.groups.entry(group.clone()).or_default();
        let before = numbers.len();
        if let Some(oldest) = numbers.first() {
            self.ranks.remove(&(before, Reverse(*oldest), group.clone()));
        }
        change(numbers);
        self.len = self.len - before + numbers.len();
        match numbers.first() {
            Some(oldest) => drop(self.ranks.insert((numbers.len(), Reverse(*oldest), group))),
            None => drop(self.groups.remove(&group)),
        }
    }
}
