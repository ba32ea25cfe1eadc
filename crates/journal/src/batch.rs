//! Batches: units of group commit, each checksummed as a whole and chained to the batch before. A mark is a batch
//! without commands. This file does not know files. Source: docs/JOURNAL.md, batches.

use terms::{Sequence, Time};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::segment::{u32_at, u64_at};

/// The length of a batch's header, and of a whole mark.
pub(crate) const BATCH_HEADER_BYTES: usize = 48;
/// Batches begin at multiples of this.
pub(crate) const ALIGN_BYTES: usize = 8;
/// The most bytes of commands in one batch.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 30;

const MAGIC: &[u8; 4] = b"PTBA";
/// The flag, in bytes 14 and 15, of a payload that begins with the callers of the commands.
const HAS_CALLERS: u16 = 1;
/// The flag, in bytes 14 and 15, of a batch whose predecessor may not be durable.
const BEHIND_UNSYNCED: u16 = 2;
/// The length of the number that gives the length of the callers.
const CALLERS_LENGTH_BYTES: usize = 4;

/// The kind of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Commands.
    Commands,
    /// A proof that the batch before it was durable.
    Mark,
    /// A proof that the segment is full and the next one is durable.
    Closing,
}

/// The header of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchHeader {
    pub kind: Kind,
    /// The length of the commands with their callers, without padding.
    pub payload_bytes: u32,
    /// Whether the payload begins with the callers of the commands.
    pub has_callers: bool,
    /// Whether it was written before the batch before it was synced, so that it does not prove that one durable.
    pub behind_unsynced: bool,
    /// The number of commands.
    pub count: u32,
    /// The sequence of the first command; of a mark, that of the next command to come.
    pub first: Sequence,
    /// The time of all its commands; of a mark, that of the last command before it.
    pub time: Time,
    /// The checksum of the last batch of commands before it.
    pub chain_before: u64,
}

/// The content of a place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceContent {
    /// A header, if the checksum confirms it.
    Header(BatchHeader),
    /// Zeros: no batch was written here.
    Nothing,
    /// Other bytes.
    Bad(&'static str),
}

impl BatchHeader {
    /// The length of the batch with header and padding.
    pub fn batch_bytes(&self) -> usize {
        batch_bytes(self.payload_bytes as usize)
    }

    /// Writes the whole batch over `out`; returns its checksum. `callers` is empty if the callers are unknown.
    pub fn write(&self, callers: &[u8], commands: &[u8], folder: u64, out: &mut Vec<u8>) -> u64 {
        let payload_bytes = payload_bytes(callers, commands);
        assert_eq!(payload_bytes, self.payload_bytes as usize, "invariant: the header tells the payload's length");
        assert_eq!(self.has_callers, !callers.is_empty(), "invariant: the header tells what the payload begins with");
        out.clear();
        out.resize(BATCH_HEADER_BYTES, 0);
        out[8..12].copy_from_slice(MAGIC);
        out[12..14].copy_from_slice(&self.kind.code().to_le_bytes());
        let has_callers = if self.has_callers { HAS_CALLERS } else { 0 };
        let behind_unsynced = if self.behind_unsynced { BEHIND_UNSYNCED } else { 0 };
        out[14..16].copy_from_slice(&(has_callers | behind_unsynced).to_le_bytes());
        out[16..20].copy_from_slice(&self.payload_bytes.to_le_bytes());
        out[20..24].copy_from_slice(&self.count.to_le_bytes());
        out[24..32].copy_from_slice(&self.first.0.to_le_bytes());
        out[32..40].copy_from_slice(&self.time.0.to_le_bytes());
        out[40..48].copy_from_slice(&self.chain_before.to_le_bytes());
        if self.has_callers {
            out.extend_from_slice(&(callers.len() as u32).to_le_bytes());
            out.extend_from_slice(callers);
        }
        out.extend_from_slice(commands);
        out.resize(self.batch_bytes(), 0);
        let checksum = xxh3_64_with_seed(&out[8..], folder);
        out[..8].copy_from_slice(&checksum.to_le_bytes());
        checksum
    }
}

impl Kind {
    fn code(self) -> u16 {
        match self {
            Kind::Commands => 1,
            Kind::Mark => 2,
            Kind::Closing => 3,
        }
    }

    fn from_code(code: u16) -> Option<Kind> {
        match code {
            1 => Some(Kind::Commands),
            2 => Some(Kind::Mark),
            3 => Some(Kind::Closing),
            _ => None,
        }
    }
}

/// The length of a payload with these callers and commands.
pub(crate) fn payload_bytes(callers: &[u8], commands: &[u8]) -> usize {
    let before = if callers.is_empty() { 0 } else { CALLERS_LENGTH_BYTES + callers.len() };
    before + commands.len()
}

/// The callers of a payload and its commands; none if it ends before the commands.
pub(crate) fn split_payload(payload: &[u8], has_callers: bool) -> Option<(&[u8], &[u8])> {
    if !has_callers {
        return Some((&[], payload));
    }
    let (length, rest) = payload.split_at_checked(CALLERS_LENGTH_BYTES)?;
    rest.split_at_checked(u32_at(length, 0) as usize)
}

/// The length of a batch with this many bytes of payload.
pub(crate) fn batch_bytes(payload_bytes: usize) -> usize {
    (BATCH_HEADER_BYTES + payload_bytes).next_multiple_of(ALIGN_BYTES)
}

/// Reads a header of exactly [`BATCH_HEADER_BYTES`].
pub(crate) fn read_header(bytes: &[u8]) -> PlaceContent {
    if bytes.iter().all(|&byte| byte == 0) {
        return PlaceContent::Nothing;
    }
    if &bytes[8..12] != MAGIC {
        return PlaceContent::Bad("no batch begins here");
    }
    let code = u16::from_le_bytes([bytes[12], bytes[13]]);
    let flags = u16::from_le_bytes([bytes[14], bytes[15]]);
    let header = Kind::from_code(code).map(|kind| BatchHeader {
        kind,
        has_callers: flags & HAS_CALLERS != 0,
        behind_unsynced: flags & BEHIND_UNSYNCED != 0,
        payload_bytes: u32_at(bytes, 16),
        count: u32_at(bytes, 20),
        first: Sequence(u64_at(bytes, 24)),
        time: Time(u64_at(bytes, 32)),
        chain_before: u64_at(bytes, 40),
    });
    match header {
        Some(header) if header.payload_bytes as usize > PAYLOAD_BYTES_MAX => {
            PlaceContent::Bad("a batch of impossible length")
        }
        Some(_) if flags & !(HAS_CALLERS | BEHIND_UNSYNCED) != 0 => {
            PlaceContent::Bad("a batch with what this program does not know")
        }
        Some(header) if header.has_callers && header.kind != Kind::Commands => PlaceContent::Bad("a mark with callers"),
        Some(header) if header.behind_unsynced && header.kind != Kind::Commands => {
            PlaceContent::Bad("a mark that proves nothing")
        }
        Some(header) if (header.kind == Kind::Commands) == (header.count > 0 && header.payload_bytes > 0) => {
            PlaceContent::Header(header)
        }
        Some(_) | None => PlaceContent::Bad("a batch of no known kind"),
    }
}

/// The checksum of a whole batch, if it equals the one written in it.
pub(crate) fn checksum_of(batch: &[u8], folder: u64) -> Option<u64> {
    let checksum = xxh3_64_with_seed(&batch[8..], folder);
    (checksum == u64_at(batch, 0)).then_some(checksum)
}

/// Whether a batch's magic number stands at its place in `bytes`, which are at least twelve.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    &bytes[8..12] == MAGIC
}
