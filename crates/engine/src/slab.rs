//! Room for many small values that are named by 32-bit slots, reused when freed.
//! Grows in chunks, so that growing neither copies what is there nor doubles the memory. Knows nothing of the market.

use std::ops::{Index, IndexMut};

/// A slot that names nothing.
pub(crate) const NONE: u32 = u32::MAX;

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

pub(crate) struct Slab<T> {
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
    /// Slots given out at least once.
    used: u32,
}

impl<T: Copy> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab { chunks: Vec::new(), free: Vec::new(), used: 0 }
    }

    /// Whether another value fits.
    pub(crate) fn has_room(&self) -> bool {
        self.used < NONE || !self.free.is_empty()
    }

    /// Values held.
    pub(crate) fn len(&self) -> usize {
        (self.used as usize).saturating_sub(self.free.len())
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self[slot] = value;
            return slot;
        }
        let slot = self.used;
        assert!(slot < NONE, "invariant: the slab has room for 2^32 - 1 values");
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(value),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        self.used = slot.saturating_add(1);
        slot
    }

    /// Frees a slot that `insert` gave out. Its value must not be read again.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize & (CHUNK - 1)]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.chunks[(slot >> CHUNK_BITS) as usize][slot as usize & (CHUNK - 1)]
    }
}
