//! A map whose table grows in parts.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry;

use crate::spread_table::SpreadTable;

/// A map of small keys and values over a [`SpreadTable`].
#[derive(Clone)]
pub struct SpreadMap<K, V, S> {
    table: SpreadTable<(K, V)>,
    len: usize,
    hasher: S,
}

impl<K, V, S: Default> Default for SpreadMap<K, V, S> {
    fn default() -> SpreadMap<K, V, S> {
        SpreadMap { table: SpreadTable::default(), len: 0, hasher: S::default() }
    }
}

impl<K, V, S> fmt::Debug for SpreadMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map of {}", self.len)
    }
}

impl<K, V, S> SpreadMap<K, V, S> {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All keys and values, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.table.iter()
    }
}

impl<K: Copy + Eq + Hash, V: Copy + PartialEq, S: BuildHasher> PartialEq for SpreadMap<K, V, S> {
    fn eq(&self, other: &SpreadMap<K, V, S>) -> bool {
        self.len == other.len && self.iter().all(|(key, value)| other.get(*key) == Some(*value))
    }
}

impl<K: Copy + Eq + Hash, V: Copy + Eq, S: BuildHasher> Eq for SpreadMap<K, V, S> {}

impl<K: Copy + Eq + Hash, V: Copy, S: BuildHasher> SpreadMap<K, V, S> {
    /// The value of a key.
    pub fn get(&self, key: K) -> Option<V> {
        // Most markets have nothing in most maps.
        if self.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        self.table.of(hash).find(hash, |(its, _)| *its == key).map(|(_, value)| *value)
    }

    /// Sets the value of a key. Returns the one before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.len;
        let its = self.value_or(key, value);
        let old = std::mem::replace(its, value);
        (self.len == before).then_some(old)
    }

    /// The value of a key, to change it. A key that is not there gets this one.
    pub fn value_or(&mut self, key: K, value: V) -> &mut V {
        let SpreadMap { table, len, hasher } = self;
        let hash = hasher.hash_one(key);
        let its = |(its, _): &(K, V)| *its == key;
        let entry = match table.of_mut(hash).entry(hash, its, |(key, _)| hasher.hash_one(key)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                *len = len.saturating_add(1);
                entry.insert((key, value)).into_mut()
            }
        };
        &mut entry.1
    }

    /// Removes a key. Returns its value.
    pub fn remove(&mut self, key: K) -> Option<V> {
        if self.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let found = self.table.of_mut(hash).find_entry(hash, |(its, _)| *its == key).ok()?;
        self.len = self.len.saturating_sub(1);
        let ((_, value), _) = found.remove();
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::hash::DefaultHasher;

    use super::*;

    thread_local! {
        static HASHED: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts the keys that it hashes: a table that grows hashes each of its keys again.
    #[derive(Clone, Default)]
    struct Counting;

    impl BuildHasher for Counting {
        type Hasher = DefaultHasher;

        fn build_hasher(&self) -> DefaultHasher {
            HASHED.set(HASHED.get().saturating_add(1));
            DefaultHasher::new()
        }
    }

    /// The most keys that one of these insertions hashes.
    fn most(mut insert: impl FnMut(u64)) -> usize {
        (0..200_000).map(|key| (HASHED.set(0), insert(key), HASHED.get()).2).max().unwrap_or_default()
    }

    /// Maps of all open orders doubled whole, for which all questions to the feed waited: 0.1 s at four million.
    #[test]
    fn no_insertion_moves_more_than_a_part_of_the_entries() {
        let mut whole = HashMap::<u64, u64, Counting>::default();
        let mut spread = SpreadMap::<u64, u64, Counting>::default();
        assert!(most(|key| _ = whole.insert(key, key)) > 100_000);
        let moved = most(|key| _ = spread.insert(key, key));
        assert!(moved < 5_000, "{moved}");
    }

    #[test]
    fn it_has_what_a_map_has() {
        let (mut map, mut spread) = (HashMap::new(), SpreadMap::<u64, u64, Counting>::default());
        let mut drawn = 7u64;
        for step in 0..20_000 {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (drawn >> 33) % 500;
            match drawn >> 62 {
                0 => assert_eq!(spread.remove(key), map.remove(&key)),
                1 => assert_eq!(spread.get(key), map.get(&key).copied()),
                2 => {
                    let [one, other] = [map.entry(key).or_insert(step), spread.value_or(key, step)];
                    assert_eq!(one, other);
                    (*one, *other) = (step.wrapping_mul(3), step.wrapping_mul(3));
                }
                _ => assert_eq!(spread.insert(key, step), map.insert(key, step)),
            }
            assert_eq!((spread.len(), spread.is_empty()), (map.len(), map.is_empty()));
        }
        let mut all: Vec<(u64, u64)> = spread.iter().copied().collect();
        all.sort_unstable();
        let mut expected: Vec<(u64, u64)> = map.into_iter().collect();
        expected.sort_unstable();
        assert_eq!(all, expected);
        let (same, mut other) = (spread.clone(), spread.clone());
        assert!(same == spread);
        if let Some((key, _)) = all.first() {
            other.remove(*key);
            assert!(other != spread);
            other.insert(*key, u64::MAX);
            assert!(other != spread);
        }
    }
}
