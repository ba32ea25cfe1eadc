//! The ways in which a power cut can leave a disk, and the random numbers that choose among them.

/// The effect of a power cut on unsynced changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCut {
    /// All of them are lost.
    LosesAll,
    /// All of them are there: only the process ended.
    LosesNothing,
    /// A prefix of them is there, file by file; the last write is torn between sectors.
    Tears,
    /// Any of their sectors are there, in any order. Changes of names are there up to some point.
    Reorders,
}

impl PowerCut {
    /// All effects.
    pub const ALL: [PowerCut; 4] = [PowerCut::LosesAll, PowerCut::LosesNothing, PowerCut::Tears, PowerCut::Reorders];
}

/// Steele, Lea and Flood's SplitMix64: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
