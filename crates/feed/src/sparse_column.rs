//! A sparse column beside the slots of a slab: most slots have the default value. A stretch of slots that all have it
//! takes no memory: a market that has no other values pays nothing, and a market that has a million of them pays for no
//! search and no larger table.

/// Slots whose values are allocated together.
const STRETCH: usize = 1024;

/// A value for each slot.
#[derive(Debug)]
pub(crate) struct SparseColumn<T> {
    stretches: Vec<Option<Box<[T; STRETCH]>>>,
}

impl<T> Default for SparseColumn<T> {
    fn default() -> SparseColumn<T> {
        SparseColumn { stretches: Vec::new() }
    }
}

impl<T: Copy + Default + PartialEq> SparseColumn<T> {
    pub(crate) fn get(&self, slot: u32) -> T {
        let (stretch, at) = place(slot);
        match self.stretches.get(stretch) {
            Some(Some(values)) => values.get(at).copied().unwrap_or_default(),
            Some(None) | None => T::default(),
        }
    }

    pub(crate) fn set(&mut self, slot: u32, value: T) {
        let (stretch, at) = place(slot);
        if self.stretches.get(stretch).is_none_or(Option::is_none) {
            if value == T::default() {
                return;
            }
            if self.stretches.len() <= stretch {
                self.stretches.resize_with(stretch + 1, || None);
            }
        }
        let Some(values) = self.stretches.get_mut(stretch) else { return };
        let values = values.get_or_insert_with(|| Box::new([T::default(); STRETCH]));
        if let Some(place) = values.get_mut(at) {
            *place = value;
        }
    }
}

fn place(slot: u32) -> (usize, usize) {
    (slot as usize / STRETCH, slot as usize % STRETCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_was_set_and_the_others_cost_nothing() {
        let mut values = SparseColumn::<u8>::default();
        values.set(5_000, 0);
        assert!(values.stretches.is_empty());
        values.set(5_000, 7);
        assert_eq!([4_999, 5_000, 5_001, 0, u32::MAX].map(|slot| values.get(slot)), [0, 7, 0, 0, 0]);
        assert_eq!(values.stretches.iter().flatten().count(), 1);
        values.set(5_000, 0);
        assert_eq!(values.get(5_000), 0);
    }
}
