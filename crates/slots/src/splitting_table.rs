//! A hash table that is one while it is small, and in parts from then on: there may be very many of them, and a few
//! that are large.

use std::fmt;

use hashbrown::HashTable;

use crate::spread_table::SpreadTable;

/// The most entries of a table that is one: they are moved in some 0.5 ms.
const WHOLE_MAX: usize = 8_192;

/// A hash table that splits into the parts of a [`SpreadTable`] when it is large. It stays split.
pub struct SplittingTable<T> {
    whole: HashTable<T>,
    /// The parts, once it is split: then `whole` is empty.
    parts: Option<Box<SpreadTable<T>>>,
}

impl<T> Default for SplittingTable<T> {
    fn default() -> SplittingTable<T> {
        SplittingTable { whole: HashTable::new(), parts: None }
    }
}

impl<T> fmt::Debug for SplittingTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parts {
            Some(parts) => parts.fmt(f),
            None => write!(f, "a table of {}", self.whole.len()),
        }
    }
}

impl<T> SplittingTable<T> {
    /// The table that has the entries of a hash.
    #[inline]
    pub fn of(&self, hash: u64) -> &HashTable<T> {
        match &self.parts {
            Some(parts) => parts.of(hash),
            None => &self.whole,
        }
    }

    /// The table that has the entries of a hash, to change or remove some.
    #[inline]
    pub fn of_mut(&mut self, hash: u64) -> &mut HashTable<T> {
        match &mut self.parts {
            Some(parts) => parts.of_mut(hash),
            None => &mut self.whole,
        }
    }

    /// Adds an entry that is not in the table. `hash_of` gives the hash of an entry, for when it is moved.
    pub fn insert_unique(&mut self, hash: u64, entry: T, hash_of: impl Fn(&T) -> u64) {
        if self.whole.len() >= WHOLE_MAX {
            self.split(&hash_of);
        }
        self.of_mut(hash).insert_unique(hash, entry, hash_of);
    }

    #[cold]
    fn split(&mut self, hash_of: &impl Fn(&T) -> u64) {
        let mut parts = Box::<SpreadTable<T>>::default();
        for entry in std::mem::take(&mut self.whole) {
            let hash = hash_of(&entry);
            parts.of_mut(hash).insert_unique(hash, entry, hash_of);
        }
        self.parts = Some(parts);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::BuildHasher;

    use super::*;

    /// The table of a book's prices doubled whole, for which all questions to the feed waited: 0.3 s at four million.
    #[test]
    fn no_insertion_moves_more_than_a_small_table_or_a_part_of_a_large_one() {
        let (mut table, hasher) = (SplittingTable::default(), foldhash::fast::FixedState::with_seed(7));
        let (moved, mut most) = (Cell::new(0usize), 0);
        let mut removed = 0;
        for number in 0..400_000u32 {
            moved.set(0);
            let hash_of = |other: &u32| {
                moved.set(moved.get().saturating_add(1));
                hasher.hash_one(other)
            };
            table.insert_unique(hasher.hash_one(number), number, hash_of);
            most = most.max(moved.get());
            if number % 5 == 0 {
                let hash = hasher.hash_one(number / 5);
                let found = table.of_mut(hash).find_entry(hash, |other| *other == number / 5);
                removed = u32::from(found.map(|entry| entry.remove()).is_ok()).saturating_add(removed);
            }
        }
        assert!((WHOLE_MAX..3 * WHOLE_MAX).contains(&most), "{most}");
        let is_there = |number: u32| {
            let hash = hasher.hash_one(number);
            table.of(hash).find(hash, |other| *other == number).is_some()
        };
        assert!(removed == 80_000 && (0..80_000).all(|number| !is_there(number)));
        assert!((80_000..400_000).all(is_there));
    }
}
