//! The archive of the version before: done orders by id, in a redb database. A conversion reads it once, and nothing
//! writes it. This file does not know what happens to the orders. Source: docs/JOURNAL.md, the archive of the version
//! before.

use engine::{DoneOrder, OrderId, Sequence};
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition};

use crate::archive_row::{Entry, RowError, decode_order, decode_row, row_of};
use crate::guard::guarded;
use crate::overlay::Overlay;
use crate::storage::Storage;
use crate::varint::CodecError;

/// The archive's file in the data folder.
pub const ARCHIVE_NAME: &str = "archive.redb";
/// The file whose lock kept backups and the archive's writer apart.
const GATE_NAME: &str = "archive.gate";

/// Memory for redb's pages.
const CACHE_BYTES: usize = 64 << 20;

/// Rows of neighbouring orders, by `row_of`.
const SHARED: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("shared");
/// Rows of one order each, by its id: those of many executions.
const LONG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("long");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const POSITION: &str = "position";
const FORMAT: &str = "format";
/// Format 1 had a row for each order.
const FORMAT_VERSION: u64 = 2;

/// The reason why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file fails its checks.
    #[error("{ARCHIVE_NAME}, of the version before, is damaged ({found}): restore it from a backup")]
    Damaged {
        /// The fault that was found.
        found: String,
    },
    /// A row holds bytes that are no done order.
    #[error(
        "row {row} in {ARCHIVE_NAME} cannot be read ({source}) though its checksum is right: it was written by another \
         version of the program or by a fault in it; start the program that wrote it"
    )]
    Undecodable {
        /// The key of the row.
        row: u64,
        /// The reason.
        source: CodecError,
    },
    /// The disk refused an operation.
    #[error("cannot {action} {ARCHIVE_NAME}: {source}; see to the disk, then start again")]
    Failed {
        /// The operation that was refused.
        action: &'static str,
        /// The words of redb or the system.
        source: Box<redb::Error>,
    },
}

/// Whether a folder has an archive.
pub fn has_archive<S: Storage>(storage: &S) -> std::io::Result<bool> {
    Ok(storage.list()?.iter().any(|name| name == ARCHIVE_NAME))
}

/// Removes a folder's archive, when it is no longer needed.
pub fn remove_archive<S: Storage>(storage: &S) -> std::io::Result<()> {
    for name in storage.list()?.iter().filter(|name| [ARCHIVE_NAME, GATE_NAME].contains(&name.as_str())) {
        storage.remove(name)?;
    }
    storage.sync_directory()
}

/// An open archive, to be read only.
#[derive(Debug)]
pub struct Archive {
    database: Database,
}

impl Archive {
    /// Opens a folder's archive. Errors: `Damaged`, for one.
    pub fn open<S: Storage>(storage: &S) -> Result<Archive, ArchiveError> {
        let file = storage.open(ARCHIVE_NAME).map_err(failed("open"))?;
        let file = Overlay::over(file).map_err(failed("open"))?;
        let opened = guarded(|| {
            let database = Builder::new().set_cache_size(CACHE_BYTES).create_with_backend(file);
            let database = database.map_err(database_error)?;
            check_format(&database)?;
            Ok(Archive { database })
        });
        opened.unwrap_or_else(damaged)
    }

    /// Visits all orders, by id. Errors: those of `open`, and those of `visit`.
    pub fn each<E: From<ArchiveError>>(&self, visit: &mut dyn FnMut(DoneOrder) -> Result<(), E>) -> Result<(), E> {
        guarded(|| each_order(&self.database, visit))
            .unwrap_or_else(|found| Err(ArchiveError::Damaged { found }.into()))
    }

    /// The last command whose done orders are in the archive.
    pub fn position(&self) -> Result<Sequence, ArchiveError> {
        guarded(|| position_in(&self.database)).unwrap_or_else(damaged)
    }
}

/// Makes an error of a panic of redb with this message.
fn damaged<T>(found: String) -> Result<T, ArchiveError> {
    Err(ArchiveError::Damaged { found })
}

fn each_order<E: From<ArchiveError>>(
    database: &Database,
    visit: &mut dyn FnMut(DoneOrder) -> Result<(), E>,
) -> Result<(), E> {
    let transaction = database.begin_read().map_err(failed("read"))?;
    let long = transaction.open_table(LONG).map_err(failed("read"))?;
    let mut long = long.iter().map_err(failed("read"))?.peekable();
    let shared = transaction.open_table(SHARED).map_err(failed("read"))?;
    for row in shared.iter().map_err(failed("read"))? {
        let (key, row) = row.map_err(failed("read"))?;
        for (order, bytes) in read_row(key.value(), row.value())? {
            while let Some(row) = long.next_if(|row| row.as_ref().map_or(true, |(id, _)| id.value() < order.0)) {
                let (id, row) = row.map_err(failed("read"))?;
                each_of(row_of(OrderId(id.value())), row.value(), visit)?;
            }
            visit(read_order(order, bytes)?)?;
        }
    }
    for row in long {
        let (id, row) = row.map_err(failed("read"))?;
        each_of(row_of(OrderId(id.value())), row.value(), visit)?;
    }
    Ok(())
}

fn each_of<E: From<ArchiveError>>(
    key: u64,
    row: &[u8],
    visit: &mut dyn FnMut(DoneOrder) -> Result<(), E>,
) -> Result<(), E> {
    read_row(key, row)?.into_iter().try_for_each(|(order, bytes)| visit(read_order(order, bytes)?))
}

fn check_format(database: &Database) -> Result<(), ArchiveError> {
    let transaction = database.begin_read().map_err(failed("read"))?;
    let meta = transaction.open_table(META).map_err(failed("read"))?;
    let format = meta.get(FORMAT).map_err(failed("read"))?.map_or(1, |format| format.value());
    if format != FORMAT_VERSION {
        let found = format!("its format is {format}, this program knows {FORMAT_VERSION}");
        return Err(ArchiveError::Damaged { found });
    }
    Ok(())
}

fn position_in(database: &Database) -> Result<Sequence, ArchiveError> {
    let transaction = database.begin_read().map_err(failed("read"))?;
    let meta = transaction.open_table(META).map_err(failed("read"))?;
    let position = meta.get(POSITION).map_err(failed("read"))?;
    let position = position.ok_or_else(|| ArchiveError::Damaged { found: "it has no position".to_owned() })?;
    Ok(Sequence(position.value()))
}

fn read_row(key: u64, row: &[u8]) -> Result<Vec<Entry<'_>>, ArchiveError> {
    decode_row(key, row).map_err(|error| match error {
        RowError::Damaged => ArchiveError::Damaged { found: format!("row {key} fails its checksum") },
        RowError::Undecodable(source) => ArchiveError::Undecodable { row: key, source },
    })
}

fn read_order(order: OrderId, bytes: &[u8]) -> Result<DoneOrder, ArchiveError> {
    decode_order(order, bytes).map_err(|source| undecodable(order, source))
}

fn undecodable(order: OrderId, source: CodecError) -> ArchiveError {
    ArchiveError::Undecodable { row: row_of(order), source }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "redb may name faults that it does not yet")]
fn failed<E: Into<redb::Error>>(action: &'static str) -> impl FnOnce(E) -> ArchiveError {
    move |source| match source.into() {
        redb::Error::Corrupted(found) => ArchiveError::Damaged { found },
        redb::Error::Io(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            ArchiveError::Damaged { found: "its pages lead beyond its end".to_owned() }
        }
        // Each table is made with the file, and has its type.
        missing @ (redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }) => ArchiveError::Damaged { found: missing.to_string() },
        source => ArchiveError::Failed { action, source: Box::new(source) },
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "redb may name faults that it does not yet")]
fn database_error(error: DatabaseError) -> ArchiveError {
    match error {
        DatabaseError::Storage(StorageError::Io(source)) if source.kind() == std::io::ErrorKind::InvalidData => {
            ArchiveError::Damaged { found: source.to_string() }
        }
        DatabaseError::UpgradeRequired(version) => {
            ArchiveError::Damaged { found: format!("it has format version {version}") }
        }
        other => failed("open")(other),
    }
}
