//! Sealed parts: an index and blocks of packed records, which never change. A part is written block by block under
//! another name, and synced before it gets its own. This file does not know what the records mean.

use std::sync::Arc;

use journal::File;
use terms::{Sequence, Time};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::codec::{Put, Take};
use crate::error::HistoryError;

const HEAD_BYTES: usize = 64;
/// The magic number, whose last byte is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"pt-part\x01");
/// The length of an index entry: the offset of a block, its length, its checksum.
const ENTRY_BYTES: usize = 16;
/// The length above which a block counts as damaged: a packed block is at most about as long as its records.
const BLOCK_BYTES_MAX: u32 = 1 << 20;
/// The bytes written at once, and synced at once, as for a table.
const WRITTEN_AT_ONCE: usize = 64 * 1024;
const SYNCED_AT_ONCE: usize = 1024 * 1024;

/// The head of a sealed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) part: u64,
    pub(crate) records: u64,
    pub(crate) block_records: u64,
    pub(crate) newest: Newest,
}

/// The time and command of the newest event in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
}

impl Newest {
    pub(crate) const NOTHING: Newest = Newest { time: Time::ZERO, sequence: Sequence::ZERO };

    pub(crate) fn or(self, other: Newest) -> Newest {
        Newest { time: self.time.max(other.time), sequence: self.sequence.max(other.sequence) }
    }
}

/// A sealed part that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    name: String,
    file: Arc<dyn File>,
    seed: u64,
    index: Vec<u8>,
    /// The bytes that wait to be written, and their offset.
    waiting: Vec<u8>,
    position: u64,
    unsynced: usize,
}

impl Writer {
    /// Makes a writer of a part with this many blocks.
    pub(crate) fn new(name: String, file: Arc<dyn File>, seed: u64, blocks: u64) -> Writer {
        let position = HEAD_BYTES as u64 + blocks * ENTRY_BYTES as u64;
        Writer { name, file, seed, index: Vec::new(), waiting: Vec::new(), position, unsynced: 0 }
    }

    /// Adds a block, whose first record has this number.
    pub(crate) fn add(&mut self, first: u64, block: &[u8]) -> Result<(), HistoryError> {
        let at = self.position + self.waiting.len() as u64;
        let sum = xxh3_64_with_seed(block, self.seed ^ first) as u32;
        Put(&mut self.index).u64(at).u32(block.len() as u32).u32(sum);
        self.waiting.extend_from_slice(block);
        if self.waiting.len() >= WRITTEN_AT_ONCE { self.write() } else { Ok(()) }
    }

    /// Writes the rest, and makes everything durable. Returns the length.
    pub(crate) fn finish(mut self, head: &Head) -> Result<u64, HistoryError> {
        self.write()?;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.index.len());
        Put(&mut bytes)
            .u64(MAGIC)
            .u64(self.seed)
            .u64(head.part)
            .u64(head.records)
            .u64(head.block_records)
            .u64(head.newest.time.0)
            .u64(head.newest.sequence.0);
        let sum = xxh3_64_with_seed(&bytes, self.seed);
        Put(&mut bytes).u64(sum);
        bytes.extend_from_slice(&self.index);
        let written = self.file.write_all_at(&bytes, 0).and_then(|()| self.file.sync());
        written.map_err(|source| HistoryError::Io { name: self.name, source })?;
        Ok(self.position)
    }

    fn write(&mut self) -> Result<(), HistoryError> {
        let failed = |source| HistoryError::Io { name: self.name.clone(), source };
        self.file.write_all_at(&self.waiting, self.position).map_err(failed)?;
        self.position += self.waiting.len() as u64;
        self.unsynced += self.waiting.len();
        self.waiting.clear();
        if self.unsynced >= SYNCED_AT_ONCE {
            self.unsynced = 0;
            self.file.sync().map_err(failed)?;
        }
        Ok(())
    }
}

/// The offset of a block's index entry.
pub(crate) fn entry_at(block: u64) -> u64 {
    HEAD_BYTES as u64 + block * ENTRY_BYTES as u64
}

/// Reads the head of a sealed part; none if it is damaged or of another table.
pub(crate) fn read_head(file: &dyn File, seed: u64) -> std::io::Result<Option<Head>> {
    let mut bytes = [0; HEAD_BYTES];
    if file.len()? < HEAD_BYTES as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, 0)?;
    Ok(decode_head(&bytes, seed))
}

fn decode_head(bytes: &[u8; HEAD_BYTES], seed: u64) -> Option<Head> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    let mut take = Take(body);
    let ours = take.u64()? == MAGIC && take.u64()? == seed;
    if !ours || xxh3_64_with_seed(body, seed) != u64::from_le_bytes(*sum) {
        return None;
    }
    let (part, records, block_records) = (take.u64()?, take.u64()?, take.u64()?);
    let newest = Newest { time: take.time()?, sequence: take.sequence()? };
    Some(Head { part, records, block_records, newest })
}

/// Reads a block into `bytes`; returns false if it is not sound. `first` is the number of its first record.
pub(crate) fn read_block(
    file: &dyn File,
    seed: u64,
    block: u64,
    first: u64,
    bytes: &mut Vec<u8>,
) -> std::io::Result<bool> {
    bytes.clear();
    let mut entry = [0; ENTRY_BYTES];
    let read = file.read_exact_at(&mut entry, entry_at(block));
    if !whole(read)? {
        return Ok(false);
    }
    let mut take = Take(&entry);
    let (Some(at), Some(length), Some(sum)) = (take.u64(), take.u32(), take.u32()) else { return Ok(false) };
    if length > BLOCK_BYTES_MAX {
        return Ok(false);
    }
    bytes.resize(length as usize, 0);
    // Beyond this offset the system reports an invalid argument, and not the end of the file.
    let sound = at <= i64::MAX as u64 / 2
        && whole(file.read_exact_at(bytes, at))?
        && xxh3_64_with_seed(bytes, seed ^ first) as u32 == sum;
    if !sound {
        bytes.clear();
    }
    Ok(sound)
}

/// Whether a read got as many bytes as it wanted.
fn whole(read: std::io::Result<()>) -> std::io::Result<bool> {
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
