//! The journal while it is written: append, mark, rotate, retire. This file does not know what commands do, nor how a
//! folder is restored after a crash.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use terms::{Sequence, Time};

use crate::JournalError;
use crate::batch::{BATCH_HEADER_BYTES, BatchHeader, Kind, PAYLOAD_BYTES_MAX, batch_bytes, payload_bytes};
use crate::point::JournalPoint;
use crate::segment::{FORMAT_VERSION, HEADER_BYTES, RULES_VERSION, SegmentHeader, segment_name, segments_among};
use crate::storage::{File, Storage, TEMPORARY_SUFFIX};

/// The point at which an appended batch counts as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The disk has it: it survives a power cut.
    Synced,
    /// The operating system has it: it survives the end of the process. After a power cut the journal may be refused as
    /// damaged.
    Written,
}

/// Settings of the journal.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The length with which a segment is made; a batch that needs more gets a segment of its own.
    pub segment_bytes: u64,
    /// The point at which an appended batch counts as stored.
    pub durability: Durability,
}

impl Default for Options {
    fn default() -> Options {
        Options { segment_bytes: 64 << 20, durability: Durability::Synced }
    }
}

/// A segment, as the journal knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// The file.
    pub name: String,
    /// Its first command.
    pub first: Sequence,
    /// The last command; the one before `first` while the segment has none.
    pub last: Sequence,
    /// Whether it is never written again.
    pub closed: bool,
}

/// The journal, open at its end. One thread writes it.
#[derive(Debug)]
pub struct Journal<S: Storage> {
    storage: S,
    options: Options,
    closed: Vec<SegmentInfo>,
    active: Active<S::File>,
    point: JournalPoint,
    time: Time,
    batch: Vec<u8>,
    sync_time: Option<Duration>,
    /// Whether `sync` has something to do.
    is_unsynced: bool,
    poisoned: bool,
}

/// The segment being written.
#[derive(Debug)]
pub(crate) struct Active<F> {
    pub name: String,
    pub header: SegmentHeader,
    pub file: F,
    /// The offset of the next batch.
    pub end: u64,
    pub written: LastWritten,
}

/// The last thing in the active segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastWritten {
    Nothing,
    Commands,
    Mark,
}

impl<S: Storage> Journal<S> {
    /// Makes a journal that continues behind `point`, in a folder without segments: for a snapshot whose journal is
    /// lost, at the price of all commands behind it. `time` is that of the state there.
    pub fn begin_behind(storage: S, options: Options, point: JournalPoint, time: Time) -> Result<Self, JournalError> {
        let names = storage.list().map_err(JournalError::io("list the data folder"))?;
        match segments_among(names).into_iter().next() {
            Some((_, segment)) => Err(JournalError::NotEmpty { segment }),
            None => Journal::begin(storage, options, point, time),
        }
    }

    /// Stores a batch of `count` commands, encoded one after another, the first of which has sequence `first`. When it
    /// returns, they are stored as the options say. After any error the journal takes no more. Panics unless `first`
    /// continues the journal and `time` is not before the last batch's.
    pub fn append(&mut self, first: Sequence, time: Time, count: u32, payload: &[u8]) -> Result<(), JournalError> {
        self.append_asked(first, time, count, (&[], payload))
    }

    /// Stores a batch with callers, as a [`crate::CallerWriter`] encoded them.
    pub fn append_asked(
        &mut self,
        first: Sequence,
        time: Time,
        count: u32,
        payload: (&[u8], &[u8]),
    ) -> Result<(), JournalError> {
        self.append_unsynced(first, time, count, payload)?;
        self.sync()
    }

    /// Stores one of several batches that are synced together: it is stored when `sync` returns, and not before.
    pub fn append_unsynced(
        &mut self,
        first: Sequence,
        time: Time,
        count: u32,
        (callers, commands): (&[u8], &[u8]),
    ) -> Result<(), JournalError> {
        let payload_bytes = payload_bytes(callers, commands);
        assert!(count > 0 && !commands.is_empty(), "invariant: a batch has commands");
        assert!(payload_bytes <= PAYLOAD_BYTES_MAX, "invariant: a batch is at most {PAYLOAD_BYTES_MAX} bytes");
        self.guarded(|journal| {
            // A batch whose sync failed has moved the point, so a caller that repeats it gets the failure.
            assert_eq!(first, journal.point.sequence.next(), "invariant: commands are journaled in sequence");
            assert!(time >= journal.time, "invariant: the time of commands never runs back");
            journal.make_room(batch_bytes(payload_bytes) as u64)?;
            let (payload_bytes, has_callers) = (payload_bytes as u32, !callers.is_empty());
            let chain_before = journal.point.chain;
            let (kind, behind_unsynced) = (Kind::Commands, journal.is_unsynced);
            let header =
                BatchHeader { kind, has_callers, behind_unsynced, payload_bytes, count, first, time, chain_before };
            let chain = header.write(callers, commands, journal.active.header.folder, &mut journal.batch);
            journal.write_batch()?;
            journal.is_unsynced = journal.options.durability == Durability::Synced;
            journal.active.written = LastWritten::Commands;
            journal.point = JournalPoint { sequence: Sequence(first.0.saturating_add(u64::from(count) - 1)), chain };
            journal.time = time;
            Ok(())
        })
    }

    /// Stores everything appended so far, as the options say.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.guarded(|journal| if journal.is_unsynced { journal.sync_active() } else { Ok(()) })
    }

    /// Whether a batch of these would begin another segment than that of the last batch.
    pub fn begins_segment(&self, callers: &[u8], commands: &[u8]) -> bool {
        self.active.written == LastWritten::Nothing
            || !self.has_room(batch_bytes(payload_bytes(callers, commands)) as u64)
    }

    /// Writes a synced mark if the last thing written is none: damage to the last batch can then be told from a power
    /// cut. For a server that is idle or stops.
    pub fn mark(&mut self) -> Result<(), JournalError> {
        self.sync()?;
        self.guarded(|journal| {
            if journal.active.written == LastWritten::Commands {
                journal.batch = mark_bytes(Kind::Mark, journal.point, journal.time, journal.active.header.folder);
                journal.write_batch()?;
                journal.sync_active()?;
                journal.active.written = LastWritten::Mark;
            }
            Ok(())
        })
    }

    /// Closes the active segment, if it holds any command, and begins the next.
    pub fn close_segment(&mut self) -> Result<(), JournalError> {
        self.guarded(|journal| match journal.active.written {
            LastWritten::Nothing => Ok(()),
            LastWritten::Commands | LastWritten::Mark => journal.rotate(0),
        })
    }

    /// Removes, oldest first, the closed segments whose commands are all at or before `up_to`; returns their number.
    pub fn retire(&mut self, up_to: Sequence) -> Result<usize, JournalError> {
        self.guarded(|journal| {
            let retired = journal.closed.iter().take_while(|segment| segment.last <= up_to).count();
            for segment in journal.closed.drain(..retired) {
                let failed = || JournalError::io(format!("remove {}", segment.name));
                journal.storage.remove(&segment.name).map_err(failed())?;
                // One by one, so that a power cut never leaves an older segment without a newer one.
                journal.storage.sync_directory().map_err(failed())?;
            }
            Ok(retired)
        })
    }

    /// The time that the disk took to sync the last batch or mark; none if it was only written.
    pub fn sync_time(&self) -> Option<Duration> {
        self.sync_time
    }

    /// The point behind the last batch, synced or not.
    pub fn point(&self) -> JournalPoint {
        self.point
    }

    /// The time of the last batch, or the floor given to the recovery if that is later.
    pub fn time(&self) -> Time {
        self.time
    }

    /// All segments, oldest first. The last one is active, all others are closed.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let active = SegmentInfo {
            name: self.active.name.clone(),
            first: self.active.header.first,
            last: self.point.sequence,
            closed: false,
        };
        self.closed.iter().cloned().chain([active]).collect()
    }
}

impl<S: Storage> Journal<S> {
    /// Makes a journal in a folder that has none, to be continued from `point`.
    pub(crate) fn begin(storage: S, options: Options, point: JournalPoint, time: Time) -> Result<Self, JournalError> {
        let folder = RandomState::new().hash_one(std::process::id());
        let active = make_segment(&storage, options, 0, point, time, folder)?;
        Ok(Journal::continued(storage, options, Vec::new(), active, point, time))
    }

    pub(crate) fn continued(
        storage: S,
        options: Options,
        closed: Vec<SegmentInfo>,
        active: Active<S::File>,
        point: JournalPoint,
        time: Time,
    ) -> Self {
        let (batch, sync_time, is_unsynced, poisoned) = (Vec::new(), None, false, false);
        Journal { storage, options, closed, active, point, time, batch, sync_time, is_unsynced, poisoned }
    }

    /// Runs an operation unless an earlier one failed. After a failure the state of the disk is unknown, so no
    /// operation follows.
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, JournalError>) -> Result<T, JournalError> {
        if self.poisoned {
            return Err(JournalError::Poisoned);
        }
        self.poisoned = true;
        let result = run(self)?;
        self.poisoned = false;
        Ok(result)
    }

    /// Rotates unless a batch fits together with the marks that may follow it: one of its own and the closing one. A
    /// segment of an earlier format or of earlier rules gets no further batch: its header would not be true of it.
    fn make_room(&mut self, batch_bytes: u64) -> Result<(), JournalError> {
        if self.has_room(batch_bytes) { Ok(()) } else { self.rotate(batch_bytes) }
    }

    fn has_room(&self, batch_bytes: u64) -> bool {
        let room = self.active.header.file_bytes.saturating_sub(self.active.end);
        let SegmentHeader { format, rules, .. } = self.active.header;
        let is_current = (format, rules) == (FORMAT_VERSION, RULES_VERSION);
        is_current && batch_bytes + MARKS_BYTES <= room
    }

    fn write_batch(&mut self) -> Result<(), JournalError> {
        let Active { name, file, end, .. } = &mut self.active;
        file.write_all_at(&self.batch, *end).map_err(JournalError::io(format!("write {name}")))?;
        self.sync_time = None;
        *end += self.batch.len() as u64;
        Ok(())
    }

    fn sync_active(&mut self) -> Result<(), JournalError> {
        let Active { name, file, .. } = &self.active;
        let begun = Instant::now();
        file.sync().map_err(JournalError::io(format!("sync {name}")))?;
        self.sync_time = Some(begun.elapsed());
        self.is_unsynced = false;
        Ok(())
    }

    /// Makes the next segment with room for a batch, and then writes the closing mark into the one before. If the next
    /// one is ever missing, the mark shows it.
    fn rotate(&mut self, batch_bytes: u64) -> Result<(), JournalError> {
        if self.is_unsynced || self.options.durability == Durability::Written {
            self.sync_active()?;
        }
        let folder = self.active.header.folder;
        let next = make_segment(&self.storage, self.options, batch_bytes, self.point, self.time, folder)?;
        let replaces = next.name == self.active.name;
        if !replaces {
            self.batch = mark_bytes(Kind::Closing, self.point, self.time, folder);
            self.write_batch()?;
            self.sync_active()?;
        }
        let full = std::mem::replace(&mut self.active, next);
        // An empty segment was too short for the batch, and a longer one has replaced it under its name.
        if !replaces {
            let (first, last) = (full.header.first, self.point.sequence);
            self.closed.push(SegmentInfo { name: full.name, first, last, closed: true });
        }
        Ok(())
    }
}

/// The room kept behind every batch.
const MARKS_BYTES: u64 = 2 * BATCH_HEADER_BYTES as u64;

/// Makes a whole mark behind `point`.
pub(crate) fn mark_bytes(kind: Kind, point: JournalPoint, time: Time, folder: u64) -> Vec<u8> {
    let first = point.sequence.next();
    let (has_callers, behind_unsynced, chain_before) = (false, false, point.chain);
    let (payload_bytes, count) = (0, 0);
    let header = BatchHeader { kind, has_callers, behind_unsynced, payload_bytes, count, first, time, chain_before };
    let mut bytes = Vec::with_capacity(BATCH_HEADER_BYTES);
    header.write(&[], &[], folder, &mut bytes);
    bytes
}

/// Makes a segment under a temporary name and renames it when it is durable, so a file with a segment's name is always
/// whole.
fn make_segment<S: Storage>(
    storage: &S,
    options: Options,
    batch_bytes: u64,
    point: JournalPoint,
    time: Time,
    folder: u64,
) -> Result<Active<S::File>, JournalError> {
    let first = point.sequence.next();
    let name = segment_name(first);
    let failed = |source| JournalError::Io { action: format!("make {name}"), source };
    let end = HEADER_BYTES as u64;
    let file_bytes = options.segment_bytes.max(end + batch_bytes + MARKS_BYTES);
    let (format, rules, chain) = (FORMAT_VERSION, RULES_VERSION, point.chain);
    let header = SegmentHeader { format, rules, folder, first, chain, file_bytes, time };
    let aside = format!("{name}{TEMPORARY_SUFFIX}");
    let file = storage.create(&aside).map_err(failed)?;
    file.allocate(file_bytes).map_err(failed)?;
    file.write_all_at(&header.to_bytes(), 0).map_err(failed)?;
    file.sync().map_err(failed)?;
    storage.rename(&aside, &name).map_err(failed)?;
    storage.sync_directory().map_err(failed)?;
    Ok(Active { name, header, file, end, written: LastWritten::Nothing })
}
