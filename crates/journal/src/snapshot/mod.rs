//! Snapshots: the whole state of the market at one point of the journal, in a file of its own.
//!
//! A snapshot was read back and verified before its file got its name. This module does not know what the items mean.
//! Source: docs/JOURNAL.md, snapshots.

mod format;
mod reader;
mod writer;

use std::io;

use terms::{Sequence, StateItem};

use crate::error::VisitError;
use crate::point::JournalPoint;
use crate::segment::{FORMAT_VERSION, RULES_VERSION, numbered_among};
use crate::storage::Storage;
use crate::varint::CodecError;

pub use reader::Items;
pub use writer::write;

pub(crate) const NAME_PREFIX: &str = "snapshot-";
pub(crate) const NAME_SUFFIX: &str = ".snap";

/// A function that passes all items of a state, in their order, to its argument.
pub type ItemSource<'a> = dyn FnMut(&mut dyn FnMut(StateItem)) + 'a;

/// A snapshot in the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// The file.
    pub name: String,
    /// The last command in it.
    pub sequence: Sequence,
    /// The length of the file.
    pub bytes: u64,
}

/// The header of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHead {
    /// The point of the journal from which a replay goes on.
    pub point: JournalPoint,
    /// The hash of the state.
    pub state_hash: u64,
    /// The number of items.
    pub items: u64,
}

/// The reason why a snapshot could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The disk refused an operation.
    #[error("cannot {action}: {source}; see to the disk; the snapshots before this one and the journal stand")]
    Io {
        /// The operation that was refused, with the file's name.
        action: String,
        /// The words of the system.
        source: io::Error,
    },
    /// The file fails its checks.
    #[error(
        "{name} is damaged at byte {offset} ({found}): remove it to start from an older snapshot and more of the \
         journal, or restore it from a backup"
    )]
    Damaged {
        /// The file.
        name: String,
        /// The offset in the file.
        offset: u64,
        /// The fault that was found there.
        found: String,
    },
    /// The snapshot is of a build before release 0.1.0.
    #[error(
        "{name} was made by a build before 0.1.0, the first release, and no release reads its format; nothing is changed: keep this \
         folder for the build that made it, and name another folder for a new market"
    )]
    Unreleased {
        /// The file.
        name: String,
    },
    /// The snapshot has a format or matching rules that this program does not know.
    #[error(
        "{name} has format version {format} and matching rules {rules}, and this program knows formats up to \
         {FORMAT_VERSION} and rules up to {RULES_VERSION}: start the program that wrote it"
    )]
    UnknownVersion {
        /// The file.
        name: String,
        /// The version of its layout.
        format: u32,
        /// The version of the rules.
        rules: u32,
    },
    /// A whole block holds bytes that are no items.
    #[error(
        "{name}: item {item} cannot be read ({source}) though its checksum is right: it was written by another version \
         of the program or by a fault in it; start the program that wrote it"
    )]
    Undecodable {
        /// The file.
        name: String,
        /// The number of the item, from 0.
        item: u64,
        /// The reason.
        source: CodecError,
    },
    /// The visitor of the items failed.
    #[error("reading the snapshot stopped: {0}")]
    Visit(VisitError),
}

impl SnapshotError {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> SnapshotError {
        let action = action.into();
        move |source| SnapshotError::Io { action, source }
    }
}

/// The snapshots in the data folder, newest first. They are not opened.
pub fn list<S: Storage>(storage: &S) -> Result<Vec<SnapshotInfo>, SnapshotError> {
    let names = storage.list().map_err(SnapshotError::io("list the data folder"))?;
    let mut found = Vec::new();
    for (sequence, name) in numbered_among(names, NAME_PREFIX, NAME_SUFFIX).into_iter().rev() {
        let length = storage.open(&name).and_then(|file| crate::File::len(&file));
        let bytes = length.map_err(SnapshotError::io(format!("open {name}")))?;
        found.push(SnapshotInfo { name, sequence, bytes });
    }
    Ok(found)
}

/// Whether a file of this name is a snapshot.
pub fn is_snapshot(name: &str) -> bool {
    !numbered_among(vec![name.to_owned()], NAME_PREFIX, NAME_SUFFIX).is_empty()
}

/// Opens a snapshot to read its items one by one.
pub fn open<S: Storage>(storage: &S, info: &SnapshotInfo) -> Result<Items<S>, SnapshotError> {
    Items::open(storage, &info.name)
}

/// Visits all items of a snapshot and verifies all of it.
pub fn read<S: Storage>(
    storage: &S,
    info: &SnapshotInfo,
    visit: &mut dyn FnMut(StateItem) -> Result<(), VisitError>,
) -> Result<SnapshotHead, SnapshotError> {
    let mut items = open(storage, info)?;
    let mut count = 0;
    for item in &mut items {
        visit(item?).map_err(SnapshotError::Visit)?;
        count += 1;
    }
    Ok(SnapshotHead { point: items.point(), state_hash: items.state_hash(), items: count })
}

/// The `count` newest snapshots that can be read back whole, newest first; fewer if there are no more. A snapshot that
/// cannot be read back is no generation: nothing may be given up in reliance on it.
fn sound<S: Storage>(storage: &S, count: usize) -> Result<Vec<SnapshotInfo>, SnapshotError> {
    let mut found = Vec::new();
    for info in list(storage)? {
        if found.len() == count {
            break;
        }
        match read(storage, &info, &mut |_| Ok(())) {
            Ok(_) => found.push(info),
            Err(error) => tracing::error!(%error, "a snapshot cannot be read back: it does not count"),
        }
    }
    Ok(found)
}

/// The sequence of the oldest of the `count` newest sound snapshots: with any one of them, everything behind it can be
/// replayed. None while there are fewer.
pub fn oldest_of<S: Storage>(storage: &S, count: usize) -> Result<Option<Sequence>, SnapshotError> {
    let found = sound(storage, count)?;
    Ok(found.last().filter(|_| found.len() == count).map(|oldest| oldest.sequence))
}

/// Removes all snapshots older than the `keep` newest sound ones, oldest first, and returns the sequence of the oldest
/// of these. None, and nothing is removed, while there are fewer.
pub fn retire<S: Storage>(storage: &S, keep: usize) -> Result<Option<Sequence>, SnapshotError> {
    let Some(oldest) = oldest_of(storage, keep)? else { return Ok(None) };
    let old: Vec<_> = list(storage)?.into_iter().filter(|info| info.sequence < oldest).collect();
    for SnapshotInfo { name, .. } in old.iter().rev() {
        let failed = || SnapshotError::io(format!("remove {name}"));
        storage.remove(name).map_err(failed())?;
        storage.sync_directory().map_err(failed())?;
    }
    Ok(Some(oldest))
}
