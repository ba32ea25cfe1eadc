//! Finds the beginning of a folder's journal, at the first command ever or after the retired segments, and the
//! beginning of a command's segment.

use terms::Sequence;

use crate::JournalError;
use crate::point::JournalPoint;
use crate::segment::{RULES_VERSION, segments_among};
use crate::segment_reader::SegmentReader;
use crate::storage::Storage;

/// The point before the first command of the oldest segment; none in a folder without segments. Reading from it goes
/// through everything that is kept. Errors: a folder or header that cannot be read.
pub fn oldest_point<S: Storage>(storage: &S) -> Result<Option<JournalPoint>, JournalError> {
    let names = storage.list().map_err(JournalError::io("list the data folder"))?;
    let Some((first, name)) = segments_among(names).into_iter().next() else { return Ok(None) };
    point_before(storage, &name, first).map(Some)
}

/// Whether the whole market can be made again from a folder's journal: it begins with the first command, and no segment
/// is of earlier rules, whose commands are not replayed. Errors: the folder or the header of the oldest segment cannot
/// be read. A replay names later segments that cannot be.
pub fn replays_from_start<S: Storage>(storage: &S) -> Result<bool, JournalError> {
    Ok(oldest_point(storage)? == Some(JournalPoint::ZERO) && replays_behind(storage)? == Some(Sequence::ZERO))
}

/// The command behind which the rest of a folder's journal can be replayed: no later segment is of earlier rules. None
/// if the last one is, or there is none. Errors: the folder or the header of the next segment cannot be read. A replay
/// names later segments that cannot be.
pub fn replays_behind<S: Storage>(storage: &S) -> Result<Option<Sequence>, JournalError> {
    let segments = segments_among(storage.list().map_err(JournalError::io("list the data folder"))?);
    let is_earlier = |(first, name): &(Sequence, String)| {
        SegmentReader::open(storage, name, *first).is_ok_and(|segment| segment.header.rules < RULES_VERSION)
    };
    let replayed = segments.iter().rposition(is_earlier).map_or(0, |at| at + 1);
    let Some((first, name)) = segments.get(replayed) else { return Ok(None) };
    point_before(storage, name, *first)?;
    Ok(Some(Sequence(first.0.saturating_sub(1))))
}

/// The point before the first command of the segment that holds a command, or will: a reader that begins there knows
/// all callers. None if all that is kept is newer. Errors: a folder or header that cannot be read.
pub fn file_point<S: Storage>(storage: &S, sequence: Sequence) -> Result<Option<JournalPoint>, JournalError> {
    let segments = segments_among(storage.list().map_err(JournalError::io("list the data folder"))?);
    let older = segments.partition_point(|(first, _)| *first <= sequence);
    let Some((first, name)) = older.checked_sub(1).and_then(|at| segments.get(at)) else { return Ok(None) };
    point_before(storage, name, *first).map(Some)
}

/// The name of the segment that is being written, or none in a folder without a segment. Errors: the folder cannot be
/// read.
pub fn newest_segment<S: Storage>(storage: &S) -> Result<Option<String>, JournalError> {
    let names = storage.list().map_err(JournalError::io("list the data folder"))?;
    Ok(segments_among(names).pop().map(|(_, name)| name))
}

pub(crate) fn point_before<S: Storage>(storage: &S, name: &str, first: Sequence) -> Result<JournalPoint, JournalError> {
    let header = SegmentReader::open(storage, name, first)?.header;
    Ok(JournalPoint { sequence: Sequence(header.first.0.saturating_sub(1)), chain: header.chain })
}
