//! The order in which runs are made: shuffled, so that what drifts with time (heat, a neighbour's load) does not look
//! like an effect of the axis; the same for the same seed.

use crate::load::Random;

/// Puts the items in an order that only the seed decides (Fisher and Yates, by SplitMix64).
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Random(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(count: usize, seed: u64) -> Vec<usize> {
        let mut items: Vec<usize> = (0..count).collect();
        shuffle(&mut items, seed);
        items
    }

    #[test]
    fn a_shuffle_keeps_every_item_once() {
        for count in [0, 1, 2, 30] {
            let mut items = shuffled(count, 7);
            items.sort_unstable();
            assert_eq!(items, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_seed_alone_decides() {
        assert_eq!(shuffled(30, 7), shuffled(30, 7));
        assert_ne!(shuffled(30, 7), shuffled(30, 8));
        assert_ne!(shuffled(30, 7), (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn every_item_comes_first_about_as_often() {
        let mut first = [0_u32; 6];
        for seed in 0..6_000 {
            first[shuffled(6, seed)[0]] += 1;
        }
        // 1,000 each; six deviations of the binomial law are 173.
        assert!(first.iter().all(|&times| times.abs_diff(1_000) < 173), "{first:?}");
    }
}
