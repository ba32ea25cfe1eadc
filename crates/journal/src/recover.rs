//! Recovery: restores a journal for appending from the data folder after a stop, a crash or a power cut. This file does
//! not know what the commands do.
//!
//! A crash during a recovery leaves a folder that the next recovery handles in the same way. Source: docs/JOURNAL.md,
//! recovery.

use terms::{Entry, Sequence, Time};

use crate::JournalError;
use crate::batch::Kind;
use crate::batch_view::BatchView;
use crate::cut::Cut;
use crate::error::VisitError;
use crate::journal::{Active, Journal, LastWritten, Options, SegmentInfo, mark_bytes};
use crate::point::JournalPoint;
use crate::segment::segments_among;
use crate::segment_reader::{SegmentReader, Tail};
use crate::storage::{File, Storage, TEMPORARY_SUFFIX};
use crate::walk::{Ends, Walk, Walked};

/// The findings and acts of a recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The point behind the last command.
    pub point: JournalPoint,
    /// The time of the last command, or the floor given if that is later.
    pub time: Time,
    /// The number of commands visited.
    pub commands: u64,
    /// The number of batches visited.
    pub batches: u64,
    /// The unfinished bytes of a power cut, which were cut off.
    pub cut: Option<Cut>,
}

impl<S: Storage> Journal<S> {
    /// Restores the folder's journal, visiting all commands after `from`, in order; in an empty folder, makes one.
    /// `time_floor` is the time of the state at `from`: no later command may have an earlier time. It cuts off the
    /// unfinished bytes of a power cut and removes temporary files. The visited commands are certainly durable once it
    /// returns. Errors: damage and missing files, each with what to do. Source: docs/JOURNAL.md, recovery.
    pub fn recover(
        storage: S,
        options: Options,
        from: JournalPoint,
        time_floor: Time,
        visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>,
    ) -> Result<(Journal<S>, Recovery), JournalError> {
        Journal::recover_known(storage, options, (from, time_floor), Sequence::ZERO, visit)
    }

    /// Restores the folder's journal like [`Journal::recover`], where it is known that the commands up to `known` were
    /// durable: bytes that are no whole batch and stand before the end of these are damage, and not cut off.
    pub fn recover_known(
        storage: S,
        options: Options,
        (from, time_floor): (JournalPoint, Time),
        known: Sequence,
        visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>,
    ) -> Result<(Journal<S>, Recovery), JournalError> {
        let names = storage.list().map_err(JournalError::io("list the data folder"))?;
        for name in names.iter().filter(|name| name.ends_with(TEMPORARY_SUFFIX)) {
            storage.remove(name).map_err(JournalError::io(format!("remove {name}")))?;
        }
        let segments = segments_among(names);
        let visit_batch = &mut |batch: &BatchView<'_>| batch.entries(visit);
        let mut walk = Walk::new(&storage, from, time_floor, None, visit_batch);
        let Ends { last, before_last } = walk.run(&segments)?;
        let (point, time) = (walk.point, walk.time);
        let mut recovery = Recovery { point, time, commands: walk.commands, batches: walk.batches, cut: None };
        let Some((last, tail)) = last else {
            return Ok((Journal::begin(storage, options, from, recovery.time)?, recovery));
        };
        recovery.cut = Cut::of(&last, &tail);
        if let Some(Cut { segment, offset, .. }) = recovery.cut.clone().filter(|_| point.sequence < known) {
            let bad = last.bad.unwrap_or("nothing");
            let found = format!("{bad}, though the history has what the commands up to {known} did");
            return Err(JournalError::Damaged { segment, offset, first: point.sequence.next(), found });
        }
        repair(&last, &tail)?;
        // The name of the newest segment must be durable before the segment before it says that there is a next one.
        storage.sync_directory().map_err(JournalError::io("sync the data folder"))?;
        if let Some(before_last) = before_last.filter(|before_last| !before_last.closed) {
            close(before_last, &last)?;
        }
        let journal = continued(storage, options, &segments, last, point, time);
        Ok((journal, recovery))
    }
}

/// Makes the newest segment valid on the disk: zeros the bytes behind the last whole batch, and makes that batch, and
/// those that were to be synced with it, durable. They may have been written and not synced. After a failed sync the
/// system may consider their bytes clean, so that another sync would do nothing. So they are written again.
fn repair<F: File>(walked: &Walked<F>, tail: &Tail) -> Result<(), JournalError> {
    let zeros = vec![0; 1 << 16];
    let SegmentReader { name, file, .. } = &walked.reader;
    let failed = |source| JournalError::Io { action: format!("repair the end of {name}"), source };
    let mut offset = walked.end;
    while offset < tail.written_end {
        let bytes = (zeros.len() as u64).min(tail.written_end - offset);
        file.write_all_at(&zeros[..bytes as usize], offset).map_err(failed)?;
        offset += bytes;
    }
    let start = walked.last_commands.unwrap_or(0);
    let mut again = vec![0; (walked.end - start) as usize];
    file.read_exact_at(&mut again, start).map_err(failed)?;
    file.write_all_at(&again, start).map_err(failed)?;
    file.sync().map_err(failed)
}

/// Writes the closing mark of the segment before the newest, which a crash prevented.
fn close<F: File>(mut before_last: Walked<F>, last: &Walked<F>) -> Result<(), JournalError> {
    let header = last.reader.header;
    let point = JournalPoint { sequence: Sequence(header.first.0 - 1), chain: header.chain };
    let tail = before_last.reader.tail(before_last.end)?;
    repair(&before_last, &tail)?;
    let SegmentReader { name, file, .. } = &before_last.reader;
    let mark = mark_bytes(Kind::Closing, point, header.time, header.folder);
    let failed = |source| JournalError::Io { action: format!("close {name}"), source };
    file.write_all_at(&mark, before_last.end).map_err(failed)?;
    file.sync().map_err(failed)
}

fn continued<S: Storage>(
    storage: S,
    options: Options,
    segments: &[(Sequence, String)],
    last: Walked<S::File>,
    point: JournalPoint,
    time: Time,
) -> Journal<S> {
    let closed = segments.windows(2).map(|pair| SegmentInfo {
        name: pair[0].1.clone(),
        first: pair[0].0,
        last: Sequence(pair[1].0.0 - 1),
        closed: true,
    });
    let closed = closed.collect();
    let written = match (last.marked, last.last_commands) {
        (true, _) => LastWritten::Mark,
        (false, Some(_)) => LastWritten::Commands,
        (false, None) => LastWritten::Nothing,
    };
    let SegmentReader { name, header, file, .. } = last.reader;
    let active = Active { name, header, file, end: last.end, written };
    Journal::continued(storage, options, closed, active, point, time)
}
