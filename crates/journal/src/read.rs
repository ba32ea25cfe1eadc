//! Reading the journal without writing anything: to verify it, to show it, to make snapshots of it.
//! It does not know what the commands do.
//!
//! A folder in use may be read: batches that are appended meanwhile are read too, and one that is half written ends the
//! reading like one that a power cut left. Only segments that are retired meanwhile make it fail.

use engine::{Entry, Sequence, Time};

use crate::codec::decode;
use crate::error::{JournalError, VisitError};
use crate::journal::JournalPoint;
use crate::recover::Cut;
use crate::segment::segments_among;
use crate::storage::Storage;
use crate::varint::CodecError;
use crate::walk::Walk;

/// One batch of commands whose checksum holds.
#[derive(Clone, Copy, Debug)]
pub struct BatchView<'a> {
    /// The file.
    pub segment: &'a str,
    /// Where in the file it begins.
    pub offset: u64,
    /// Its length with header and padding.
    pub bytes: u64,
    /// The sequence of its first command.
    pub first: Sequence,
    /// How many commands.
    pub count: u32,
    /// The time of all its commands.
    pub time: Time,
    /// The commands, encoded one after another.
    pub payload: &'a [u8],
    /// The point behind it.
    pub point: JournalPoint,
}

/// Where a reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEnd {
    /// The point behind the last batch read.
    pub point: JournalPoint,
    /// Its time.
    pub time: Time,
    /// Commands read.
    pub commands: u64,
    /// Batches read.
    pub batches: u64,
    /// What stands behind the last batch and is none: left by a power cut, and cut by the next recovery.
    pub unfinished: Option<Cut>,
}

/// Reads the commands after `from` and at or before `up_to`; of a batch that reaches over `up_to`, none.
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

impl BatchView<'_> {
    /// Decodes the commands one by one.
    pub fn entries(&self, visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>) -> Result<(), JournalError> {
        let mut rest = self.payload;
        let mut sequence = self.first;
        for _ in 0..self.count {
            let command = decode(&mut rest).map_err(|source| self.undecodable(sequence, source))?;
            visit(Entry { sequence, time: self.time, command }).map_err(JournalError::Visit)?;
            sequence = sequence.next();
        }
        if rest.is_empty() { Ok(()) } else { Err(self.undecodable(sequence, CodecError::TrailingBytes)) }
    }

    fn undecodable(&self, sequence: Sequence, source: CodecError) -> JournalError {
        JournalError::Undecodable { segment: self.segment.to_owned(), sequence, source }
    }
}
