//! Tables: records of one size, numbered from 0, in parts. The newest parts are plain, older ones sealed, and the
//! oldest may be removed. New records wait in memory until there are enough to write, or as long as they are likely to
//! change, because changing them there costs no system call. Changes of written records also wait, for others near
//! them.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use journal::File;
use terms::Sequence;

use crate::columns::{Field, Packed};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::parts::{Form, Parts};
use crate::sealed::{self, Newest};
use crate::write_back::{Change, WriteBack};

/// The length of one write. The system caches a larger write in larger pieces of memory, and changing one record of it
/// then takes longer than the whole write did.
const WRITTEN_AT_ONCE: usize = 16 * 1024;

/// The number of writes of changes between which readers get a turn: about a millisecond.
const WRITES_AT_A_TIME: usize = 128;

/// The number of written bytes after which the file is synced. If the checkpoint had to sync everything, the disk would
/// be busy with hundreds of megabytes, and the journal and all replies would wait.
const SYNCED_AT_ONCE: usize = 1024 * 1024;
/// The number of written bytes after which it is synced between two turns, where no reader waits for it.
const SYNCED_EARLY: usize = SYNCED_AT_ONCE / 2;

/// The number of bytes read at once for a reader of many neighbouring records: one page of the system. More would slow
/// down readers whose records lie far apart.
const READ_AT_ONCE: usize = 4096;

/// Sizes of a history.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The most bytes of orders, trades and candles that wait to be written; notes have the bound of trades.
    pub waiting_max: [usize; 3],
    /// The number of orders, trades and notes in a part.
    pub part_records: u64,
    /// The number of records in a block of a sealed part.
    pub block_records: u64,
}

/// Removes from record `at` everything that can be computed, and events after the command `covered`. Returns the newest
/// event left, and whether an ending is still to come; none if the record is damaged.
pub(crate) type Strip<const N: usize> = fn(at: u64, record: &mut [u8; N], covered: Sequence) -> Option<(Newest, bool)>;

/// The kind of records in a table.
#[derive(Debug)]
pub(crate) struct Kind<const N: usize> {
    /// The names of its files, before the number.
    pub(crate) stem: &'static str,
    /// Whether all records are in one file.
    pub(crate) single: bool,
    /// The seed of the checksums of its sealed parts.
    pub(crate) seed: u64,
    /// The fields that a sealed part keeps of a record.
    pub(crate) fields: &'static [Field],
    /// Removes from a record the bytes that a sealed part does not keep.
    pub(crate) strip: Strip<N>,
    /// Restores the bytes that `strip` removed.
    pub(crate) restore: fn(at: u64, record: &mut [u8; N]),
}

/// The sealed and the removed parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The first part that is not removed.
    pub(crate) gone: u64,
    /// The time and command of the newest removed event.
    pub(crate) gone_until: Newest,
    /// The first part that is neither sealed nor removed.
    pub(crate) sealed: u64,
    /// The parts before `sealed` that are damaged, and so stay plain.
    pub(crate) unsealed: BTreeSet<u64>,
}

impl Default for Reach {
    /// Makes all parts plain.
    fn default() -> Reach {
        Reach { gone: 0, gone_until: Newest::NOTHING, sealed: 0, unsealed: BTreeSet::new() }
    }
}

impl Reach {
    pub(crate) fn is_sealed(&self, part: u64) -> bool {
        part < self.sealed && !self.unsealed.contains(&part)
    }
}

/// Records that were read at once, kept for reading their neighbours.
#[derive(Debug, Default)]
pub(crate) struct Near {
    held: BlockContent,
    first: u64,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BlockContent {
    #[default]
    Nothing,
    Records,
    /// A sound block of a sealed part, with this many records.
    Block(u64),
}

#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    kind: &'static Kind<N>,
    parts: Parts,
    part_records: u64,
    block_records: u64,
    /// The number of the first record, as links count.
    own: u64,
    reach: Reach,
    /// The number of records in the files.
    written: u64,
    /// The records after those, which wait to be written.
    waiting: Vec<u8>,
    /// The most bytes that wait; at that number the older half is written.
    waiting_max: usize,
    /// The changes of written records that wait to be written, with at most half as many bytes.
    changes: WriteBack<N>,
    /// The bytes added and changed in the files since the last sync.
    unsynced: AtomicUsize,
    /// Set after a failed write or sync: the content of the file is then unknown, and a later sync that succeeds would
    /// prove nothing.
    failed: AtomicBool,
}

impl<const N: usize> Table<N> {
    /// Opens a table of the first `len` records; later ones will be written again. `own` is the number of the first
    /// one, as links count.
    pub(crate) fn open(
        folder: &Arc<dyn Folder>,
        kind: &'static Kind<N>,
        (own, len, reach): (u64, u64, Reach),
        sizes: &Sizes,
        waiting_max: usize,
    ) -> Result<Table<N>, HistoryError> {
        Table::unchecked(folder, kind, (own, len, reach), sizes, waiting_max).checked()
    }

    /// Checks that the plain parts are complete.
    pub(crate) fn checked(self) -> Result<Table<N>, HistoryError> {
        for part in (self.reach.gone..self.part_count()).filter(|part| !self.reach.is_sealed(*part)) {
            self.check_length(part)?;
        }
        Ok(self)
    }

    /// The table in the file with this number, for a kind with one file.
    pub(crate) fn in_file(self, number: u64) -> Table<N> {
        Table { parts: self.parts.numbered(number), ..self }
    }

    /// Opens a table without a check of its files.
    pub(crate) fn unchecked(
        folder: &Arc<dyn Folder>,
        kind: &'static Kind<N>,
        (own, len, reach): (u64, u64, Reach),
        sizes: &Sizes,
        waiting_max: usize,
    ) -> Table<N> {
        let part_records = if kind.single { u64::MAX } else { sizes.part_records };
        Table {
            kind,
            parts: Parts::new(folder.clone(), kind.stem, kind.single),
            part_records,
            block_records: sizes.block_records,
            own,
            reach,
            written: len,
            waiting: Vec::new(),
            waiting_max,
            changes: WriteBack::new(part_records),
            unsynced: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// Checks that a plain part is complete.
    pub(crate) fn check_length(&self, part: u64) -> Result<(), HistoryError> {
        let name = || self.parts.name(Form::Plain, part);
        let file = self.parts.file(Form::Plain, part)?;
        let bytes = file.len().map_err(|source| HistoryError::Io { name: name(), source })?;
        let wanted = self.records_of(part) * N as u64;
        if bytes < wanted {
            let fault = format!("it holds {bytes} bytes and should hold {wanted}");
            return Err(HistoryError::Damaged { name: name(), fault });
        }
        Ok(())
    }

    /// The names of all its files.
    pub(crate) fn names(kind: &Kind<N>, part_records: u64, len: u64, reach: &Reach) -> Vec<String> {
        let part_records = if kind.single { u64::MAX } else { part_records };
        let name = |part| {
            let form = if reach.is_sealed(part) { Form::Sealed } else { Form::Plain };
            crate::parts::name(kind.stem, kind.single, form, part)
        };
        (reach.gone..len.div_ceil(part_records)).map(name).collect()
    }

    /// The number of parts with written records, removed ones included.
    pub(crate) fn part_count(&self) -> u64 {
        self.written.div_ceil(self.part_records)
    }

    /// The number of a part's written records.
    pub(crate) fn records_of(&self, part: u64) -> u64 {
        self.part_records.min(self.written - part * self.part_records)
    }

    pub(crate) fn part_records(&self) -> u64 {
        self.part_records
    }

    pub(crate) fn block_records(&self) -> u64 {
        self.block_records
    }

    pub(crate) fn kind(&self) -> &'static Kind<N> {
        self.kind
    }

    pub(crate) fn own(&self) -> u64 {
        self.own
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Sets which parts are sealed and removed: the sealed files are there, durably.
    pub(crate) fn set_reach(&mut self, reach: Reach) {
        self.reach = reach;
        // Nobody reads the changes that the plain files of these parts were to get.
        let Table { changes, reach, part_records, .. } = self;
        changes.keep(|at| at / *part_records >= reach.gone && !reach.is_sealed(at / *part_records));
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether a record is in a sealed or removed part.
    pub(crate) fn is_settled(&self, at: u64) -> bool {
        at < self.written && {
            let part = at / self.part_records;
            part < self.reach.gone || self.reach.is_sealed(part)
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.written + (self.waiting.len() / N) as u64
    }

    pub(crate) fn append(&mut self, record: &[u8; N]) -> Result<(), HistoryError> {
        self.waiting.extend_from_slice(record);
        if self.waiting.len() >= self.waiting_max {
            self.write(self.waiting.len() / N / 2)?;
        }
        match *self.unsynced.get_mut() >= SYNCED_AT_ONCE {
            true => self.sync_written(),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self, at: u64) -> Result<[u8; N], HistoryError> {
        let mut record = [0; N];
        match at.checked_sub(self.written) {
            _ if at >= self.len() => return Err(self.damaged(at)),
            Some(waiting) => record.copy_from_slice(&self.waiting[waiting as usize * N..][..N]),
            None if self.is_settled(at) => return self.read_near(at, &mut Near::default()),
            None => self.read_plain(&mut record, at)?,
        }
        Ok(record)
    }

    /// Reads a record with some of its neighbours. A record that is in `near` already is as it was when that was read.
    pub(crate) fn read_near(&self, at: u64, near: &mut Near) -> Result<[u8; N], HistoryError> {
        if at >= self.written {
            return self.read(at);
        }
        let part = at / self.part_records;
        if part < self.reach.gone {
            return Err(HistoryError::NoLongerKept { until: self.reach.gone_until.time });
        }
        if self.reach.is_sealed(part) {
            return self.read_sealed(part, at, near);
        }
        let held = near.first..near.first + (near.bytes.len() / N) as u64;
        if near.held != BlockContent::Records || !held.contains(&at) {
            let first_of_part = part * self.part_records;
            let together = (READ_AT_ONCE / N) as u64;
            let in_part = at - first_of_part;
            near.first = first_of_part + in_part - in_part % together;
            let records = together.min(first_of_part + self.records_of(part) - near.first) as usize;
            near.bytes.resize(records * N, 0);
            near.held = BlockContent::Records;
            if self.read_plain(&mut near.bytes, near.first).is_err() {
                near.held = BlockContent::Nothing;
                // Another one of these records may be the unreadable one.
                let mut record = [0; N];
                return self.read_plain(&mut record, at).map(|()| record);
            }
        }
        let mut record = [0; N];
        record.copy_from_slice(&near.bytes[(at - near.first) as usize * N..][..N]);
        Ok(record)
    }

    /// Reads records of one plain part, with their waiting changes.
    pub(crate) fn read_plain(&self, bytes: &mut [u8], first: u64) -> Result<(), HistoryError> {
        let (part, in_part) = (first / self.part_records, first % self.part_records);
        let file = self.parts.file(Form::Plain, part)?;
        file.read_exact_at(bytes, in_part * N as u64).map_err(|source| {
            // The file was longer when it was opened.
            if source.kind() == io::ErrorKind::UnexpectedEof {
                return self.damaged(first);
            }
            HistoryError::Io { name: self.parts.name(Form::Plain, part), source }
        })?;
        self.changes.apply(first, bytes);
        Ok(())
    }

    fn read_sealed(&self, part: u64, at: u64, near: &mut Near) -> Result<[u8; N], HistoryError> {
        let first_of_part = part * self.part_records;
        let block = (at - first_of_part) / self.block_records;
        let first = first_of_part + block * self.block_records;
        let records = self.block_records.min(first_of_part + self.part_records - first);
        if near.held != BlockContent::Block(records) || near.first != first {
            near.held = BlockContent::Nothing;
            let file = self.parts.file(Form::Sealed, part)?;
            let read = sealed::read_block(&*file, self.kind.seed, block, first, &mut near.bytes);
            let sound =
                read.map_err(|source| HistoryError::Io { name: self.parts.name(Form::Sealed, part), source })?;
            if !sound {
                return Err(self.damaged_block(part, block));
            }
            (near.held, near.first) = (BlockContent::Block(records), first);
        }
        let mut record = [0; N];
        let packed = Packed::open(self.kind.fields, records as usize, &near.bytes);
        let packed = packed.ok_or_else(|| self.damaged_block(part, block))?;
        packed.record(self.kind.fields, (at - first) as usize, self.own.wrapping_add(at), &mut record);
        (self.kind.restore)(at, &mut record);
        Ok(record)
    }

    /// The error of a sealed part whose head is damaged.
    pub(crate) fn damaged_head(&self, part: u64) -> HistoryError {
        let fault = "what it says of itself fails its checksum".to_owned();
        HistoryError::Damaged { name: self.parts.name(Form::Sealed, part), fault }
    }

    fn damaged_block(&self, part: u64, block: u64) -> HistoryError {
        HistoryError::Block { name: self.parts.name(Form::Sealed, part), block, byte: sealed::entry_at(block) }
    }

    /// The error of a damaged record.
    pub(crate) fn damaged(&self, at: u64) -> HistoryError {
        let (part, in_part) = (at / self.part_records, at % self.part_records);
        if at < self.written && self.reach.is_sealed(part) {
            return self.damaged_block(part, in_part / self.block_records);
        }
        HistoryError::Record {
            name: self.parts.name(Form::Plain, part),
            record: at,
            byte: in_part.saturating_mul(N as u64),
        }
    }

    /// The error of a record with a value that only a newer version of this program knows.
    pub(crate) fn unknown(&self, at: u64, what: &'static str, code: u8) -> HistoryError {
        let part = at / self.part_records;
        let form = if self.reach.is_sealed(part) { Form::Sealed } else { Form::Plain };
        HistoryError::Unknown { name: self.parts.name(form, part), record: at, what, code }
    }

    /// Drops all records behind the first `len`.
    pub(crate) fn cut(&mut self, len: u64) {
        match len.checked_sub(self.written) {
            Some(waiting) => self.waiting.truncate(waiting as usize * N),
            None => {
                self.waiting.clear();
                self.written = len;
                self.changes.keep(|at| at < len);
            }
        }
    }

    /// Changes the record that was appended last, which always waits.
    pub(crate) fn change_last(&mut self, change: impl FnOnce(u64, &mut [u8; N])) {
        let at = self.len().saturating_sub(1);
        let last = self.waiting.last_chunk_mut().expect("invariant: of what waits the older half is written at most");
        change(at, last);
    }

    /// Changes bytes of a record in no sealed part, from its byte `from` on.
    pub(crate) fn patch(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        match at.checked_sub(self.written) {
            Some(waiting) => {
                self.waiting[waiting as usize * N + from..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            None => {
                self.check()?;
                self.changes.add(at, from, bytes);
                while self.changes.bytes() > self.waiting_max / 2 {
                    self.write_changes()?;
                }
                Ok(())
            }
        }
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) -> Result<(), HistoryError> {
        self.write_all()?;
        self.sync_written()
    }

    /// Writes everything that waits.
    pub(crate) fn write_all(&mut self) -> Result<(), HistoryError> {
        while self.changes.bytes() > 0 {
            self.write_changes()?;
        }
        self.write(self.waiting.len() / N)
    }

    /// Writes some of the waiting changes. Returns false if no more wait.
    pub(crate) fn write_some(&mut self) -> Result<bool, HistoryError> {
        for _ in 0..WRITES_AT_A_TIME {
            self.write_changes()?;
        }
        Ok(self.changes.bytes() > 0)
    }

    /// Makes the written bytes durable. Others may read meanwhile, but change nothing.
    pub(crate) fn sync_written(&self) -> Result<(), HistoryError> {
        self.unsynced.store(0, Ordering::Relaxed);
        self.check()?;
        self.parts.sync().inspect_err(|_| self.fail())
    }

    /// Makes the written bytes durable if they are many, before a change would have to wait for the sync.
    pub(crate) fn sync_if_much(&self) -> Result<(), HistoryError> {
        match self.unsynced.load(Ordering::Relaxed) >= SYNCED_EARLY {
            true => self.sync_written(),
            false => Ok(()),
        }
    }

    /// Writes the first of the waiting records.
    fn write(&mut self, records: usize) -> Result<(), HistoryError> {
        let mut done = 0;
        while done < records {
            let at = self.written + done as u64;
            let (part, in_part) = (at / self.part_records, at % self.part_records);
            let left = (self.part_records - in_part).min((records - done) as u64) as usize;
            let here = left.min(WRITTEN_AT_ONCE.div_ceil(N));
            let file = self.changing(part)?;
            self.tell(part, file.write_all_at(&self.waiting[done * N..][..here * N], in_part * N as u64))?;
            done += here;
        }
        *self.unsynced.get_mut() += records * N;
        self.written += records as u64;
        self.waiting.drain(..records * N);
        Ok(())
    }

    /// Writes the next neighbouring changes, with the unchanged records between them. Records that cannot be read are
    /// left alone: a change needs no bytes that may be damaged.
    fn write_changes(&mut self) -> Result<(), HistoryError> {
        self.check()?;
        let Some(pages) = self.changes.next(WRITTEN_AT_ONCE) else { return Ok(()) };
        let (first, last) = self
            .changes
            .of(&pages)
            .fold((u64::MAX, 0), |(first, last), change| (change.at.min(first), change.at.max(last)));
        let (part, in_part) = (first / self.part_records, first % self.part_records);
        let mut together = vec![0; (last - first + 1) as usize * N];
        let are_many = self.changes.of(&pages).nth(1).is_some();
        let are_read = are_many && self.read_plain(&mut together, first).is_ok();
        let file = self.changing(part)?;
        let written = match are_read {
            true => file.write_all_at(&together, in_part * N as u64),
            false => self.changes.of(&pages).try_for_each(|Change { at, from, bytes }| {
                file.write_all_at(bytes, (in_part + at - first) * N as u64 + *from as u64)
            }),
        };
        self.tell(part, written)?;
        let before = self.changes.bytes();
        self.changes.forget(&pages);
        *self.unsynced.get_mut() += before - self.changes.bytes();
        Ok(())
    }

    /// Checks that the table can still be made durable.
    pub(crate) fn check(&self) -> Result<(), HistoryError> {
        if self.failed.load(Ordering::Relaxed) { Err(HistoryError::Failed { name: self.kind.stem }) } else { Ok(()) }
    }

    /// Ends all changes of the table, and all checkpoints: the content of the disk is unknown.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Opens the file of a part to change it, unless an earlier change failed.
    fn changing(&mut self, part: u64) -> Result<Arc<dyn File>, HistoryError> {
        self.check()?;
        self.parts.changing(part).inspect_err(|_| self.fail())
    }

    /// Notes a failed change of the file of a part.
    fn tell(&self, part: u64, changed: io::Result<()>) -> Result<(), HistoryError> {
        changed.map_err(|source| {
            self.fail();
            HistoryError::Io { name: self.parts.name(Form::Plain, part), source }
        })
    }
}

#[cfg(test)]
mod tests;
