//! Finds where a folder's journal begins: at the first command of all, or after the segments that were retired.

use engine::Sequence;

use crate::JournalError;
use crate::point::JournalPoint;
use crate::segment::segments_among;
use crate::segment_reader::SegmentReader;
use crate::storage::Storage;

/// The point before the first command of the oldest segment; none in a folder without one. Reading from it goes through
/// everything that is kept. Errors: a folder or header that cannot be read.
pub fn oldest_point<S: Storage>(storage: &S) -> Result<Option<JournalPoint>, JournalError> {
    let names = storage.list().map_err(JournalError::io("list the data folder"))?;
    let Some((first, name)) = segments_among(names).into_iter().next() else { return Ok(None) };
    let header = SegmentReader::open(storage, &name, first)?.header;
    Ok(Some(JournalPoint { sequence: Sequence(header.first.0.saturating_sub(1)), chain: header.chain }))
}
