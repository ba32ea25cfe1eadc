//! Stores many small values under 32-bit slots, which it uses again when they are freed. It grows in chunks, so growing
//! neither copies values nor doubles the memory. It knows nothing of the market.

use std::ops::{Index, IndexMut};

/// The slot number that stands for no slot.
pub const NONE: u32 = u32::MAX;

const CHUNK_BITS: u32 = 12;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Values and free slots.
pub struct Slab<T> {
    chunks: Vec<Box<[T; CHUNK]>>,
    free: Vec<u32>,
    /// The number of slots given out at least once.
    used: u32,
}

impl<T: Copy> Slab<T> {
    /// An empty slab.
    pub fn new() -> Slab<T> {
        Slab { chunks: Vec::new(), free: Vec::new(), used: 0 }
    }

    /// Whether another value fits.
    pub fn has_room(&self) -> bool {
        self.used < NONE || !self.free.is_empty()
    }

    /// Pretends that all slots are taken, for tests: no machine has the memory to take them.
    #[doc(hidden)]
    pub fn pretend_full(&mut self) {
        assert!(self.free.is_empty(), "only a slab that nothing was removed from");
        self.used = NONE;
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        (self.used as usize).saturating_sub(self.free.len())
    }

    /// Whether the slab is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots given out at least once: all below it.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Whether the slab ever held a value.
    pub fn was_used(&self) -> bool {
        self.used > 0
    }

    /// Puts a value into a slot, and returns the slot.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self[slot] = value;
                slot
            }
            None => {
                let slot = self.used;
                assert!(slot < NONE, "invariant: the slab has room for 2^32 - 1 values");
                self.used = slot.saturating_add(1);
                self.put(slot, value);
                slot
            }
        }
    }

    /// Sets the value of a slot that another slab gave out, for values beside that slab's.
    #[inline]
    pub fn put(&mut self, slot: u32, value: T) {
        match self.chunks.get_mut((slot >> CHUNK_BITS) as usize) {
            Some(chunk) => chunk[slot as usize & (CHUNK - 1)] = value,
            None => self.grow(slot, value),
        }
    }

    /// The value of a slot, if the slab ever grew that far.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.chunks.get((slot >> CHUNK_BITS) as usize).map(|chunk| &chunk[slot as usize & (CHUNK - 1)])
    }

    #[cold]
    fn grow(&mut self, slot: u32, value: T) {
        while self.chunks.len() <= (slot >> CHUNK_BITS) as usize {
            let chunk = vec![value; CHUNK].into_boxed_slice();
            self.chunks.push(chunk.try_into().unwrap_or_else(|_| unreachable!("a chunk has CHUNK values")));
        }
    }

    /// Frees a slot that `insert` gave out. Nobody may read its value afterwards.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }
}

impl<T: Copy> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
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
