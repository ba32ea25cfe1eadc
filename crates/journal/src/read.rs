//! Reads the journal without writing anything: to verify it, to show it, to make snapshots of it. This file does not
//! know what the commands do.
//!
//! A folder in use may be read: the reading includes batches that are appended meanwhile, and ends at a half-written
//! one like at one that a power cut left. It fails only if segments are retired meanwhile.

use terms::{Entry, Sequence, Time};

use crate::batch_view::BatchView;
use crate::callers::CallerReader;
use crate::cut::Cut;
use crate::error::{JournalError, VisitError};
use crate::oldest::point_before;
use crate::point::JournalPoint;
use crate::segment::segments_among;
use crate::storage::Storage;
use crate::walk::Walk;

/// The end of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEnd {
    /// The point behind the last batch read.
    pub point: JournalPoint,
    /// The time of the last batch read.
    pub time: Time,
    /// The number of commands read.
    pub commands: u64,
    /// The number of batches read.
    pub batches: u64,
    /// The bytes after the last batch that are no batch. A power cut left them, and the next recovery cuts them off.
    pub unfinished: Option<Cut>,
}

/// Reads the commands after `from` and up to `up_to`, to replay them. If a batch reaches beyond `up_to`, none of its
/// commands is read.
pub fn read<S: Storage>(
    storage: &S,
    from: JournalPoint,
    up_to: Option<Sequence>,
    visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>,
) -> Result<ReadEnd, JournalError> {
    read_with(storage, from, up_to, &mut |batch| batch.entries(visit))
}

/// Reads batch by batch, as [`read`] does command by command.
pub fn visit_batches<S: Storage>(
    storage: &S,
    from: JournalPoint,
    up_to: Option<Sequence>,
    visit: &mut dyn FnMut(&BatchView<'_>) -> Result<(), VisitError>,
) -> Result<ReadEnd, JournalError> {
    read_with(storage, from, up_to, &mut |batch| visit(batch).map_err(JournalError::Visit))
}

/// Reads everything from the beginning of a segment on, also the callers, only to find faults.
pub fn check<S: Storage>(storage: &S, from: JournalPoint) -> Result<ReadEnd, JournalError> {
    check_through(storage, from, None)
}

/// Checks each segment by itself, for a journal with a fault. Returns the fault of each that has one. Those between two
/// segments are not among them.
pub fn faults<S: Storage>(storage: &S) -> Vec<JournalError> {
    let segments = segments_among(storage.list().unwrap_or_default());
    let ends = segments.iter().skip(1).map(|(next, _)| Some(Sequence(next.0.saturating_sub(1)))).chain([None]);
    let check = |((first, name), end): (&(Sequence, String), Option<Sequence>)| {
        point_before(storage, name, *first).and_then(|from| check_through(storage, from, end)).err()
    };
    segments.iter().zip(ends).filter_map(check).collect()
}

fn check_through<S: Storage>(
    storage: &S,
    from: JournalPoint,
    up_to: Option<Sequence>,
) -> Result<ReadEnd, JournalError> {
    let mut callers = CallerReader::default();
    read_with(storage, from, up_to, &mut |batch| {
        callers.read(batch, drop).map_err(|source| batch.undecodable(batch.first, source))?;
        batch.entries_to_show(&mut |_| Ok(()))
    })
}

fn read_with<S: Storage>(
    storage: &S,
    from: JournalPoint,
    up_to: Option<Sequence>,
    visit: &mut dyn FnMut(&BatchView<'_>) -> Result<(), JournalError>,
) -> Result<ReadEnd, JournalError> {
    let segments = segments_among(storage.list().map_err(JournalError::io("list the data folder"))?);
    let mut walk = Walk::new(storage, from, Time::ZERO, up_to, visit);
    let last = walk.run(&segments)?.last;
    let unfinished = last.and_then(|(walked, tail)| Cut::of(&walked, &tail));
    Ok(ReadEnd { point: walk.point, time: walk.time, commands: walk.commands, batches: walk.batches, unfinished })
}
