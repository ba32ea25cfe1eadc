//! The unfinished bytes of a batch that a power cut left, and that a recovery cuts off. This file does not cut them.

use crate::segment_reader::Tail;
use crate::storage::File;
use crate::walk::Walked;

/// Bytes behind the last whole batch, of a batch that was never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub segment: String,
    /// The offset at which they began.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Cut {
    pub(crate) fn of<F: File>(walked: &Walked<F>, tail: &Tail) -> Option<Cut> {
        let bytes = tail.written_end - walked.end;
        (bytes > 0).then(|| Cut { segment: walked.reader.name.clone(), offset: walked.end, bytes })
    }
}
