//! Points of the journal: the place between two commands, and the history. This file knows no file.

use terms::Sequence;

/// A point between two commands of one history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalPoint {
    /// The last command before the point.
    pub sequence: Sequence,
    /// The checksum of that command's batch, which covers those of all batches before it.
    pub chain: u64,
}

impl JournalPoint {
    /// The point before the first command ever.
    pub const ZERO: JournalPoint = JournalPoint { sequence: Sequence::ZERO, chain: 0 };
}
