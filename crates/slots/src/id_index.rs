//! Finds the slots of orders by their ids. It does not know what an order is: the caller checks that the slot has the
//! id.
//!
//! One look-up reads one cache line. A bucket fills a line: it has seven pairs (the low 32 bits of an id, and a slot)
//! and counts the pairs that found it full and went on to the next bucket. Four neighbouring ids share a bucket, so
//! that the entries of recent orders lie together. The index has 64 shards, and each grows alone: this stalls the
//! engine for a 64th of the time that growing everything would take.

use terms::OrderId;

use crate::slab::NONE;

const PAIRS: usize = 7;
const SHARDS: usize = 64;
/// Ids that share a bucket: 1 << GROUP_BITS.
const GROUP_BITS: u32 = 2;
/// A shard grows when its buckets hold more than this many pairs on average.
const LOAD_MAX: usize = 5;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    ids: [u32; PAIRS],
    slots: [u32; PAIRS],
    /// Pairs that passed by because this bucket was full.
    passed: u32,
}

const EMPTY: Bucket = Bucket { ids: [0; PAIRS], slots: [NONE; PAIRS], passed: 0 };

/// The index.
pub struct IdIndex {
    shards: Vec<Shard>,
}

struct Shard {
    /// A power of two of them.
    buckets: Vec<Bucket>,
    pairs: usize,
}

impl Default for IdIndex {
    fn default() -> IdIndex {
        IdIndex::new()
    }
}

impl IdIndex {
    /// An empty index.
    pub fn new() -> IdIndex {
        IdIndex { shards: (0..SHARDS).map(|_| Shard { buckets: vec![EMPTY], pairs: 0 }).collect() }
    }

    /// The slot of an id, if `is_it` confirms it: the low bits alone may be those of another id.
    #[inline]
    pub fn find(&self, id: OrderId, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = hash(id);
        let shard = &self.shards[shard(hash)];
        let home = shard.home(hash);
        let mut at = home;
        loop {
            let bucket = &shard.buckets[at];
            for pair in pairs_with(&bucket.ids, low(id)) {
                let slot = bucket.slots[pair];
                if slot != NONE && is_it(slot) {
                    return Some(slot);
                }
            }
            at = shard.next(at);
            // In a small shard, orders may have passed every bucket: then the walk ends where it began.
            if bucket.passed == 0 || at == home {
                return None;
            }
        }
    }

    /// Reads the bucket where an id is or will be.
    #[inline]
    pub fn touch(&self, id: OrderId) -> u64 {
        let hash = hash(id);
        let shard = &self.shards[shard(hash)];
        u64::from(shard.buckets[shard.home(hash)].passed)
    }

    /// A slot that may have this id, or `NONE`.
    #[inline]
    pub fn guess(&self, id: OrderId) -> u32 {
        let hash = hash(id);
        let shard = &self.shards[shard(hash)];
        let bucket = &shard.buckets[shard.home(hash)];
        pairs_with(&bucket.ids, low(id)).next().map_or(NONE, |pair| bucket.slots[pair])
    }

    /// Adds an id that is not in the index. `id_of` gives the id of a slot, for when the shard grows.
    pub fn insert(&mut self, id: OrderId, slot: u32, id_of: impl Fn(u32) -> OrderId) {
        let hash = hash(id);
        let shard = &mut self.shards[shard(hash)];
        if shard.pairs >= shard.buckets.len().saturating_mul(LOAD_MAX) {
            shard.grow(id_of);
        }
        shard.insert(hash, low(id), slot);
    }

    /// Removes an id and returns its slot, which `is_it` confirms. Panics if the id is missing.
    pub fn remove(&mut self, id: OrderId, is_it: impl Fn(u32) -> bool) -> u32 {
        let hash = hash(id);
        let shard = &mut self.shards[shard(hash)];
        let home = shard.home(hash);
        let mut at = home;
        let slot = loop {
            let bucket = &mut shard.buckets[at];
            let mut pairs = pairs_with(&bucket.ids, low(id));
            if let Some(pair) = pairs.find(|&pair| bucket.slots[pair] != NONE && is_it(bucket.slots[pair])) {
                break std::mem::replace(&mut bucket.slots[pair], NONE);
            }
            assert!(bucket.passed > 0, "invariant: an order that is kept has its id in the index");
            at = shard.next(at);
        };
        shard.pairs = shard.pairs.saturating_sub(1);
        let mut passed = home;
        while passed != at {
            let bucket = &mut shard.buckets[passed];
            bucket.passed = bucket.passed.saturating_sub(1);
            passed = shard.next(passed);
        }
        slot
    }
}

impl Shard {
    fn home(&self, hash: u64) -> usize {
        (hash >> 16) as usize & self.buckets.len().wrapping_sub(1)
    }

    fn next(&self, at: usize) -> usize {
        at.wrapping_add(1) & self.buckets.len().wrapping_sub(1)
    }

    fn insert(&mut self, hash: u64, id: u32, slot: u32) {
        let mut at = self.home(hash);
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(pair) = pairs_with(&bucket.slots, NONE).next() {
                bucket.ids[pair] = id;
                bucket.slots[pair] = slot;
                self.pairs = self.pairs.saturating_add(1);
                return;
            }
            bucket.passed = bucket.passed.saturating_add(1);
            at = self.next(at);
        }
    }

    fn grow(&mut self, id_of: impl Fn(u32) -> OrderId) {
        let buckets = vec![EMPTY; self.buckets.len().saturating_mul(2)];
        let old = std::mem::replace(self, Shard { buckets, pairs: 0 });
        for slot in old.buckets.iter().flat_map(|bucket| bucket.slots).filter(|&slot| slot != NONE) {
            let id = id_of(slot);
            self.insert(hash(id), low(id), slot);
        }
    }
}

/// The places in a bucket that hold `wanted`, in order. It compares all before it looks at any: the branch predictor
/// would miss the end of a loop that stops at the first one nearly every time.
fn pairs_with(values: &[u32; PAIRS], wanted: u32) -> impl Iterator<Item = usize> + use<> {
    let mut left = values.iter().rev().fold(0u32, |bits, &value| (bits << 1) | u32::from(value == wanted));
    std::iter::from_fn(move || {
        let pair = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (pair < PAIRS).then_some(pair)
    })
}

/// The engine makes the ids, so no client can choose ids that collide, and a multiplication mixes enough.
fn hash(id: OrderId) -> u64 {
    let mixed = (id.0 >> GROUP_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}

fn shard(hash: u64) -> usize {
    hash as usize & (SHARDS - 1)
}

fn low(id: OrderId) -> u32 {
    id.0 as u32
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// Compares the index with a plain list through growth, removals and ids that share their low bits.
    #[test]
    fn it_finds_what_was_inserted_and_not_removed() {
        let ids: Vec<OrderId> = (1..=20_000u64)
            .map(|number| if number % 3 == 0 { OrderId((number << 32) | 7) } else { OrderId(number) })
            .collect();
        let mut index = IdIndex::new();
        for (slot, &id) in (0u32..).zip(&ids) {
            assert_eq!(index.find(id, |slot| ids[slot as usize] == id), None);
            index.insert(id, slot, |slot| ids[slot as usize]);
        }
        for (slot, &id) in (0u32..).zip(&ids).filter(|(slot, _)| slot % 2 == 0) {
            assert_eq!(index.remove(id, |slot| ids[slot as usize] == id), slot);
        }
        for (slot, &id) in (0u32..).zip(&ids) {
            let expected = (slot % 2 == 1).then_some(slot);
            assert_eq!(index.find(id, |slot| ids[slot as usize] == id), expected, "{id}");
        }
        for (slot, &id) in (0u32..).zip(&ids).filter(|(slot, _)| slot % 2 == 1) {
            assert_eq!(index.remove(id, |slot| ids[slot as usize] == id), slot);
        }
        let buckets = || index.shards.iter().flat_map(|shard| &shard.buckets);
        assert!(buckets().all(|bucket| bucket.passed == 0 && bucket.slots == [NONE; PAIRS]), "nothing is left behind");
    }

    /// A regression: when orders had passed every bucket of a shard, the look-up of a missing id never ended, so a
    /// query for an archived order stopped the whole exchange.
    #[test]
    fn an_id_that_is_not_there_is_not_found_however_orders_came_and_went() {
        let mut index = IdIndex::new();
        let mut ids = Vec::new();
        let mut live = Vec::new();
        let mut random = 1u64;
        for number in 1..=200_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let slot = ids.len() as u32;
            ids.push(OrderId(number));
            index.insert(OrderId(number), slot, |slot| ids[slot as usize]);
            live.push(slot);
            if live.len() > 400 {
                let gone = live.swap_remove((random >> 33) as usize % live.len());
                index.remove(ids[gone as usize], |slot| slot == gone);
                assert_eq!(index.find(ids[gone as usize], |slot| ids[slot as usize] == ids[gone as usize]), None);
            }
            let asked = OrderId(1 + (random >> 20) % number);
            let expected = live.iter().copied().find(|&slot| ids[slot as usize] == asked);
            assert_eq!(index.find(asked, |slot| ids[slot as usize] == asked), expected, "{asked}");
        }
    }
}
