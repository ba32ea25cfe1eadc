//! Writes a snapshot: aside, synced, read back, and only then under its name. This file does not know what the items
//! mean.

use terms::StateItem;

use super::format::{BLOCK_BYTES, BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, Header, Trailer, seal_block};
use super::reader::Items;
use super::{ItemSource, NAME_PREFIX, NAME_SUFFIX, SnapshotError, SnapshotInfo};
use crate::point::JournalPoint;
use crate::segment::{FORMAT_VERSION, RULES_VERSION, numbered_name};
use crate::state_codec::encode_item;
use crate::storage::{File, Storage, TEMPORARY_SUFFIX};

/// Writes the state at `point`, whose hash is `state_hash`; `items` is called once and passes all items. When it
/// returns, the snapshot is durable and was read back. After an error the folder is unchanged, except for a temporary
/// file.
pub fn write<S: Storage>(
    storage: &S,
    point: JournalPoint,
    state_hash: u64,
    items: &mut ItemSource<'_>,
) -> Result<SnapshotInfo, SnapshotError> {
    let name = numbered_name(NAME_PREFIX, point.sequence, NAME_SUFFIX);
    let aside = format!("{name}{TEMPORARY_SUFFIX}");
    let there = storage.list().map_err(SnapshotError::io("list the data folder"))?;
    if there.contains(&aside) {
        storage.remove(&aside).map_err(SnapshotError::io(format!("remove {aside}")))?;
    }
    let written = write_aside(storage, &aside, point, state_hash, items).and_then(|bytes| {
        storage.rename(&aside, &name).map_err(SnapshotError::io(format!("rename {aside}")))?;
        storage.sync_directory().map_err(SnapshotError::io("sync the data folder"))?;
        Ok(bytes)
    });
    match written {
        Ok(bytes) => Ok(SnapshotInfo { name, sequence: point.sequence, bytes }),
        Err(error) => {
            // Room on the disk may be what is missing; if the file cannot be removed, the next recovery removes it.
            let _ = storage.remove(&aside);
            // A snapshot whose name is not durable must not count as one.
            if !there.contains(&name) {
                let _ = storage.remove(&name);
            }
            Err(error)
        }
    }
}

fn write_aside<S: Storage>(
    storage: &S,
    aside: &str,
    point: JournalPoint,
    state_hash: u64,
    items: &mut ItemSource<'_>,
) -> Result<u64, SnapshotError> {
    let failed = |source| SnapshotError::Io { action: format!("write {aside}"), source };
    let file = storage.create(aside).map_err(failed)?;
    let (format, rules) = (FORMAT_VERSION, RULES_VERSION);
    let (header, chain) = Header { format, rules, point, state_hash }.to_bytes();
    file.write_all_at(&header, 0).map_err(failed)?;
    let mut writer =
        Writer { file: &file, end: header.len() as u64, block: Vec::new(), block_items: 0, items: 0, chain };
    let mut result = Ok(());
    items(&mut |item| {
        // The source of items cannot be stopped, so those after a failure are ignored.
        if result.is_ok() {
            result = writer.push(&item);
        }
    });
    result.and_then(|()| writer.finish(point, state_hash)).map_err(failed)?;
    file.sync().map_err(failed)?;
    read_back(storage, aside, &writer)?;
    Ok(writer.end)
}

fn read_back<S: Storage>(storage: &S, aside: &str, writer: &Writer<'_, S::File>) -> Result<(), SnapshotError> {
    let mut items = 0;
    for item in Items::open(storage, aside)? {
        item?;
        items += 1;
    }
    assert_eq!(items, writer.items, "invariant: a snapshot whose checksums hold has the items written");
    Ok(())
}

#[derive(Debug)]
struct Writer<'a, F> {
    file: &'a F,
    end: u64,
    /// The room for the block's header, then its items.
    block: Vec<u8>,
    block_items: u32,
    items: u64,
    chain: u64,
}

impl<F: File> Writer<'_, F> {
    fn push(&mut self, item: &StateItem) -> std::io::Result<()> {
        if self.block.is_empty() {
            self.block.reserve(BLOCK_BYTES_MAX);
            self.block.resize(BLOCK_HEADER_BYTES, 0);
        }
        encode_item(item, &mut self.block);
        self.block_items += 1;
        self.items += 1;
        if self.block.len() >= BLOCK_BYTES { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> std::io::Result<()> {
        assert!(self.block.len() <= BLOCK_BYTES_MAX, "invariant: an item is short");
        self.chain = seal_block(&mut self.block, self.block_items, self.chain);
        self.file.write_all_at(&self.block, self.end)?;
        self.end += self.block.len() as u64;
        self.block.clear();
        self.block_items = 0;
        Ok(())
    }

    fn finish(&mut self, point: JournalPoint, state_hash: u64) -> std::io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let trailer = Trailer { items: self.items, point, state_hash, chain: self.chain }.to_bytes();
        self.file.write_all_at(&trailer, self.end)?;
        self.end += trailer.len() as u64;
        Ok(())
    }
}
