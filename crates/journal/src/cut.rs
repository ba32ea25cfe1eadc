//! The bytes that a power cut left of a batch, which a recovery cuts off. It does not cut them.

use crate::segment_reader::Tail;
use crate::storage::File;
use crate::walk::Walked;

/// Bytes behind the last whole batch: of a batch that was never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub segment: String,
    /// Where they began.
    pub offset: u64,
    /// How far they reached.
    pub bytes: u64,
}

impl Cut {
    pub(crate) fn of<F: File>(walked: &Walked<F>, tail: &Tail) -> Option<Cut> {
        let bytes = tail.written_end - walked.end;
        (bytes > 0).then(|| Cut { segment: walked.reader.name.clone(), offset: walked.end, bytes })
    }
}
