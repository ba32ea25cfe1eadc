//! A point of the journal: between which two commands, and of which history. It knows no file.

use engine::Sequence;

/// A point between two commands of one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalPoint {
    /// The last command before it.
    pub sequence: Sequence,
    /// The checksum of that command's batch, which covers those of all batches before it.
    pub chain: u64,
}

impl JournalPoint {
    /// Before the first command of all.
    pub const ZERO: JournalPoint = JournalPoint { sequence: Sequence::ZERO, chain: 0 };
}
