//! Reads a snapshot item by item, one block in memory at a time. This file does not know what the items mean.

use terms::StateItem;

use super::SnapshotError;
use super::format::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, HEADER_BYTES, Header, TRAILER_BYTES, Trailer, block_checksum, block_lengths,
};
use crate::point::JournalPoint;
use crate::segment::{RULES_VERSION, is_known_format, is_unreleased};
use crate::state_codec::decode_item;
use crate::storage::{File, Storage};
use crate::varint::CodecError;

/// The items of a snapshot. The iterator ends with `None` only when the whole file was verified; an error is its last
/// item.
#[derive(Debug)]
pub struct Items<S: Storage> {
    name: String,
    file: S::File,
    file_bytes: u64,
    header: Header,
    /// The offset of the next block.
    offset: u64,
    block: Vec<u8>,
    /// The number of decoded bytes of the block.
    taken: usize,
    block_items_left: u32,
    items: u64,
    chain: u64,
    done: bool,
}

impl<S: Storage> Items<S> {
    pub(super) fn open(storage: &S, name: &str) -> Result<Items<S>, SnapshotError> {
        let failed = |source| SnapshotError::Io { action: format!("read {name}"), source };
        let damaged =
            |found: &str| SnapshotError::Damaged { name: name.to_owned(), offset: 0, found: found.to_owned() };
        let file = storage.open(name).map_err(failed)?;
        let file_bytes = file.len().map_err(failed)?;
        if file_bytes < (HEADER_BYTES + TRAILER_BYTES) as u64 {
            return Err(damaged("the file is shorter than an empty snapshot"));
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        if is_unreleased(&bytes) {
            return Err(SnapshotError::Unreleased { name: name.to_owned() });
        }
        let (header, chain) = Header::from_bytes(&bytes).ok_or_else(|| damaged("the header fails its checksum"))?;
        let Header { format, rules, .. } = header;
        if !is_known_format(format) || rules > RULES_VERSION {
            return Err(SnapshotError::UnknownVersion { name: name.to_owned(), format, rules });
        }
        Ok(Items {
            name: name.to_owned(),
            file,
            file_bytes,
            header,
            offset: HEADER_BYTES as u64,
            block: Vec::with_capacity(BLOCK_BYTES_MAX),
            taken: 0,
            block_items_left: 0,
            items: 0,
            chain,
            done: false,
        })
    }

    /// The point of the journal at which the snapshot was made.
    pub fn point(&self) -> JournalPoint {
        self.header.point
    }

    /// The hash of the state.
    pub fn state_hash(&self) -> u64 {
        self.header.state_hash
    }

    fn take(&mut self) -> Result<Option<StateItem>, SnapshotError> {
        if self.block_items_left == 0 {
            if self.taken < self.block.len() {
                return Err(self.undecodable(CodecError::TrailingBytes));
            }
            let left = self.file_bytes - self.offset;
            if left <= TRAILER_BYTES as u64 {
                self.check_trailer(left)?;
                return Ok(None);
            }
            self.read_block()?;
        }
        let mut rest = &self.block[self.taken..];
        let item = decode_item(&mut rest).map_err(|source| self.undecodable(source))?;
        self.taken = self.block.len() - rest.len();
        self.block_items_left -= 1;
        self.items += 1;
        Ok(Some(item))
    }

    fn read_block(&mut self) -> Result<(), SnapshotError> {
        let left = self.file_bytes - self.offset - TRAILER_BYTES as u64;
        if left < BLOCK_HEADER_BYTES as u64 {
            return Err(self.damaged("no block fits before the trailer"));
        }
        self.block.resize(BLOCK_HEADER_BYTES, 0);
        self.read_into_block(0)?;
        let (payload_bytes, items) = block_lengths(&self.block);
        let block_bytes = BLOCK_HEADER_BYTES + payload_bytes;
        if block_bytes as u64 > left || block_bytes > BLOCK_BYTES_MAX || items == 0 {
            return Err(self.damaged("a block of impossible length"));
        }
        self.block.resize(block_bytes, 0);
        self.read_into_block(BLOCK_HEADER_BYTES)?;
        let checksum = block_checksum(&self.block, self.chain);
        self.chain = checksum.ok_or_else(|| self.damaged("a block that fails its checksum"))?;
        self.offset += block_bytes as u64;
        self.taken = BLOCK_HEADER_BYTES;
        self.block_items_left = items;
        Ok(())
    }

    fn read_into_block(&mut self, start: usize) -> Result<(), SnapshotError> {
        let read = self.file.read_exact_at(&mut self.block[start..], self.offset + start as u64);
        read.map_err(SnapshotError::io(format!("read {}", self.name)))
    }

    fn check_trailer(&self, left: u64) -> Result<(), SnapshotError> {
        let mut found = [0; TRAILER_BYTES];
        if left < TRAILER_BYTES as u64 {
            return Err(self.damaged("the file ends before its trailer"));
        }
        self.file.read_exact_at(&mut found, self.offset).map_err(SnapshotError::io(format!("read {}", self.name)))?;
        let Header { point, state_hash, .. } = self.header;
        // The expected trailer is known by now, so the bytes can be compared as a whole.
        let expected = Trailer { items: self.items, point, state_hash, chain: self.chain }.to_bytes();
        if found == expected { Ok(()) } else { Err(self.damaged("the trailer does not fit what stands before it")) }
    }

    fn damaged(&self, found: &str) -> SnapshotError {
        SnapshotError::Damaged { name: self.name.clone(), offset: self.offset, found: found.to_owned() }
    }

    fn undecodable(&self, source: CodecError) -> SnapshotError {
        SnapshotError::Undecodable { name: self.name.clone(), item: self.items, source }
    }
}

impl<S: Storage> Iterator for Items<S> {
    type Item = Result<StateItem, SnapshotError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let taken = self.take().transpose();
        self.done = !matches!(taken, Some(Ok(_)));
        taken
    }
}
