//! The header, block headers and trailer of a snapshot as bytes. This file does not know items or files. Source:
//! docs/JOURNAL.md, snapshots.

use terms::Sequence;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::point::JournalPoint;
use crate::segment::{u32_at, u64_at};

pub(super) const HEADER_BYTES: usize = 48;
pub(super) const BLOCK_HEADER_BYTES: usize = 16;
pub(super) const TRAILER_BYTES: usize = 48;
/// The length at which a block is handed to the disk.
pub(super) const BLOCK_BYTES: usize = 64 << 10;
/// The longest block: an item fits many times into the extra room.
pub(super) const BLOCK_BYTES_MAX: usize = BLOCK_BYTES + 1024;

const HEADER_MAGIC: &[u8; 4] = b"PTSS";
const TRAILER_MAGIC: &[u8; 4] = b"PTSE";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub format: u32,
    pub rules: u32,
    pub point: JournalPoint,
    pub state_hash: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub items: u64,
    pub point: JournalPoint,
    pub state_hash: u64,
    /// The checksum of the last block; the header's if there is none.
    pub chain: u64,
}

impl Header {
    /// The bytes and their checksum, with which the chain of blocks begins.
    pub fn to_bytes(self) -> ([u8; HEADER_BYTES], u64) {
        let mut bytes = [0; HEADER_BYTES];
        bytes[8..12].copy_from_slice(HEADER_MAGIC);
        bytes[12..16].copy_from_slice(&self.format.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.rules.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.point.sequence.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.point.chain.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.state_hash.to_le_bytes());
        let checksum = xxh3_64(&bytes[8..]);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        (bytes, checksum)
    }

    /// Reads a header; none unless the checksum holds.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<(Header, u64)> {
        let checksum = xxh3_64(&bytes[8..]);
        (u64_at(bytes, 0) == checksum && &bytes[8..12] == HEADER_MAGIC).then(|| {
            let point = JournalPoint { sequence: Sequence(u64_at(bytes, 24)), chain: u64_at(bytes, 32) };
            let (format, rules) = (u32_at(bytes, 12), u32_at(bytes, 16));
            (Header { format, rules, point, state_hash: u64_at(bytes, 40) }, checksum)
        })
    }
}

impl Trailer {
    pub fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[8..12].copy_from_slice(TRAILER_MAGIC);
        bytes[16..24].copy_from_slice(&self.items.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.point.sequence.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.point.chain.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.state_hash.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[8..], self.chain);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// Completes a block whose payload stands behind room for its header; returns its checksum.
pub(super) fn seal_block(block: &mut [u8], items: u32, chain_before: u64) -> u64 {
    let payload_bytes = (block.len() - BLOCK_HEADER_BYTES) as u32;
    block[8..12].copy_from_slice(&payload_bytes.to_le_bytes());
    block[12..16].copy_from_slice(&items.to_le_bytes());
    let checksum = xxh3_64_with_seed(&block[8..], chain_before);
    block[..8].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The length of a block's payload and the number of its items.
pub(super) fn block_lengths(header: &[u8]) -> (usize, u32) {
    (u32_at(header, 8) as usize, u32_at(header, 12))
}

/// The checksum of a block, if it equals the one written in it.
pub(super) fn block_checksum(block: &[u8], chain_before: u64) -> Option<u64> {
    let checksum = xxh3_64_with_seed(&block[8..], chain_before);
    (checksum == u64_at(block, 0)).then_some(checksum)
}
