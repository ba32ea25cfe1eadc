//! A hash table in parts. A table that is full moves all of its entries into one of twice the size, and everybody waits
//! for that: 0.3 s at four million entries that have to be looked up. Here each part does so by itself, with a 64th of
//! them.

use std::fmt;

use hashbrown::HashTable;

const PARTS: usize = 64;

/// A hash table whose parts grow by themselves.
#[derive(Clone)]
pub struct SpreadTable<T> {
    parts: [HashTable<T>; PARTS],
}

impl<T> Default for SpreadTable<T> {
    fn default() -> SpreadTable<T> {
        SpreadTable { parts: std::array::from_fn(|_| HashTable::new()) }
    }
}

impl<T> fmt::Debug for SpreadTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table of {}", self.parts.iter().map(HashTable::len).sum::<usize>())
    }
}

impl<T> SpreadTable<T> {
    /// The part that has the entries of a hash.
    #[inline(always)]
    pub fn of(&self, hash: u64) -> &HashTable<T> {
        &self.parts[part_of(hash)]
    }

    /// The part that has, and gets, the entries of a hash.
    #[inline(always)]
    pub fn of_mut(&mut self, hash: u64) -> &mut HashTable<T> {
        &mut self.parts[part_of(hash)]
    }

    /// All entries, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(HashTable::iter)
    }
}

/// A table finds its place by the lowest bits of a hash, and marks it with the highest ones: those between are free.
#[inline(always)]
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn a_part_has_its_share_of_the_entries_and_all_parts_have_each_once() {
        let (mut table, hasher) = (SpreadTable::default(), foldhash::fast::FixedState::with_seed(7));
        for number in 0..64_000u32 {
            let hash = hasher.hash_one(number);
            table.of_mut(hash).insert_unique(hash, number, |other| hasher.hash_one(other));
        }
        let most = table.parts.iter().map(HashTable::len).max();
        assert!(most.is_some_and(|most| most < 1_300), "{most:?} of about 1,000");
        assert!((0..64_000).all(|number| {
            let hash = hasher.hash_one(number);
            table.of(hash).find(hash, |other| *other == number) == Some(&number)
        }));
        assert_eq!(table.iter().count(), 64_000);
    }
}
