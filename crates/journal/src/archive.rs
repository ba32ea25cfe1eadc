//! The archive: done orders by id, on disk, so that memory follows open orders and not history.
//!
//! It is derived from the journal: whatever is lost of it comes back by replay, as long as the segments are kept. It
//! does not know open orders, accounts or commands. Source: docs/JOURNAL.md, archive.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{DoneOrder, OrderId, Sequence};
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError,
    TableDefinition, WriteTransaction,
};

use crate::archive_row::{ArchiveBatch, decode_row};
use crate::backend::Backend;
use crate::recover::TEMPORARY_SUFFIX;
use crate::storage::{File, Storage};
use crate::varint::CodecError;

/// The archive's file in the data folder.
pub const ARCHIVE_NAME: &str = "archive.redb";

/// Memory for pages. More makes near-sequential inserts no faster: see docs/JOURNAL.md, archive.
const CACHE_BYTES: usize = 64 << 20;

const ORDERS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("orders");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const POSITION: &str = "position";

/// Why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file fails its checks.
    #[error(
        "{ARCHIVE_NAME} is damaged ({found}): if all journal segments from the first on are kept, remove this file and \
         all snapshots, and it is rebuilt by replay; otherwise restore it from a backup (docs/JOURNAL.md, recovering by \
         hand)"
    )]
    Damaged {
        /// What was found.
        found: String,
    },
    /// A row holds bytes that are no done order.
    #[error(
        "order {} in {ARCHIVE_NAME} cannot be read ({source}) though its checksum is right: it was written by another \
         version of the program or by a fault in it; start the program that wrote it", order.0
    )]
    Undecodable {
        /// The order.
        order: OrderId,
        /// Why.
        source: CodecError,
    },
    /// The disk refused an operation.
    #[error("cannot {action} {ARCHIVE_NAME}: {source}; see to the disk, then start again to recover")]
    Failed {
        /// What was being done.
        action: &'static str,
        /// What redb or the system said.
        source: Box<redb::Error>,
    },
}

/// The open archive. It may be read by many threads beside the one that stores.
#[derive(Debug)]
pub struct Archive {
    database: Database,
    position: AtomicU64,
}

impl Archive {
    /// Opens the folder's archive, or makes an empty one. Errors: `Damaged`, with what to do.
    pub fn open<S: Storage>(storage: &S) -> Result<Archive, ArchiveError> {
        let names = storage.list().map_err(failed("find"))?;
        if !names.iter().any(|name| name == ARCHIVE_NAME) {
            make(storage, &names)?;
        }
        let file = storage.open(ARCHIVE_NAME).map_err(failed("open"))?;
        if file.is_empty().map_err(failed("open"))? {
            return Err(ArchiveError::Damaged { found: "the file is empty".to_owned() });
        }
        let database = open_database(file)?;
        let position = position_in(&database)?;
        Ok(Archive { database, position: AtomicU64::new(position.0) })
    }

    /// All orders done by commands at or before this one are durably here.
    pub fn position(&self) -> Sequence {
        Sequence(self.position.load(Ordering::Acquire))
    }

    /// Stores done orders, over any rows of the same ids. With this and what was stored before, all orders done at or
    /// before `up_to` are here; durably so once a call with `sync` returns. After an error the archive takes nothing more.
    pub fn store(&self, batch: &ArchiveBatch, up_to: Sequence, sync: bool) -> Result<(), ArchiveError> {
        let mut transaction = self.database.begin_write().map_err(failed("write"))?;
        if sync {
            prepare_sync(&mut transaction);
        } else {
            transaction.set_durability(Durability::None).map_err(failed("write"))?;
        }
        {
            let mut orders = transaction.open_table(ORDERS).map_err(failed("write"))?;
            for (order, row) in batch.sorted() {
                orders.insert(order.0, row).map_err(failed("write"))?;
            }
        }
        set_position(&transaction, up_to)?;
        transaction.commit().map_err(failed("sync"))?;
        if sync {
            self.position.store(up_to.0, Ordering::Release);
        }
        Ok(())
    }

    /// The done order of this id, if it is here. Errors: `Damaged` when its row fails its checksum.
    pub fn get(&self, order: OrderId) -> Result<Option<DoneOrder>, ArchiveError> {
        let transaction = self.database.begin_read().map_err(failed("read"))?;
        let orders = transaction.open_table(ORDERS).map_err(failed("read"))?;
        match orders.get(order.0).map_err(failed("read"))? {
            Some(row) => read_row(order, row.value()).map(Some),
            None => Ok(None),
        }
    }

    /// How many orders are here.
    pub fn orders(&self) -> Result<u64, ArchiveError> {
        let transaction = self.database.begin_read().map_err(failed("read"))?;
        transaction.open_table(ORDERS).map_err(failed("read"))?.len().map_err(failed("read"))
    }

    /// Says, durably, that only orders done at or before `sequence` are surely here: for a journal that ends before the
    /// archive, as after both came from different backups. Does nothing if the position is not after it.
    pub fn set_position_back(&self, sequence: Sequence) -> Result<(), ArchiveError> {
        if sequence >= self.position() {
            return Ok(());
        }
        self.store(&ArchiveBatch::new(), sequence, true)
    }

    /// Verifies all pages and rows; returns how many rows. Takes the time of reading the whole file.
    pub fn check(&mut self) -> Result<u64, ArchiveError> {
        if !self.database.check_integrity().map_err(database_error)? {
            return Err(ArchiveError::Damaged { found: "its pages did not pass their check".to_owned() });
        }
        let transaction = self.database.begin_read().map_err(failed("read"))?;
        let orders = transaction.open_table(ORDERS).map_err(failed("read"))?;
        let mut rows = 0;
        for row in orders.iter().map_err(failed("read"))? {
            let (order, row) = row.map_err(failed("read"))?;
            read_row(OrderId(order.value()), row.value())?;
            rows += 1;
        }
        Ok(rows)
    }
}

/// Makes an empty archive aside and renames it when it is durable: a file of the archive's name is always whole.
fn make<S: Storage>(storage: &S, names: &[String]) -> Result<(), ArchiveError> {
    let aside = format!("{ARCHIVE_NAME}{TEMPORARY_SUFFIX}");
    if names.contains(&aside) {
        storage.remove(&aside).map_err(failed("make"))?;
    }
    let file = storage.create(&aside).map_err(failed("make"))?;
    let database = open_database(file)?;
    let mut transaction = database.begin_write().map_err(failed("make"))?;
    prepare_sync(&mut transaction);
    transaction.open_table(ORDERS).map_err(failed("make"))?;
    set_position(&transaction, Sequence::ZERO)?;
    transaction.commit().map_err(failed("make"))?;
    drop(database);
    storage.rename(&aside, ARCHIVE_NAME).map_err(failed("make"))?;
    storage.sync_directory().map_err(failed("make"))
}

fn open_database<F: File>(file: F) -> Result<Database, ArchiveError> {
    Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(|progress| {
            tracing::info!(percent = progress.progress() * 100.0, "checking {ARCHIVE_NAME} after an unclean stop");
        })
        .create_with_backend(Backend(file))
        .map_err(database_error)
}

/// A synced commit also says which pages are free, so that opening after a crash need not walk through all of them.
fn prepare_sync(transaction: &mut WriteTransaction) {
    transaction.set_quick_repair(true);
}

fn set_position(transaction: &WriteTransaction, position: Sequence) -> Result<(), ArchiveError> {
    let mut meta = transaction.open_table(META).map_err(failed("write"))?;
    meta.insert(POSITION, position.0).map_err(failed("write"))?;
    Ok(())
}

fn position_in(database: &Database) -> Result<Sequence, ArchiveError> {
    let transaction = database.begin_read().map_err(failed("read"))?;
    let meta = transaction.open_table(META).map_err(failed("read"))?;
    let position = meta.get(POSITION).map_err(failed("read"))?;
    let position = position.ok_or_else(|| ArchiveError::Damaged { found: "it has no position".to_owned() })?;
    Ok(Sequence(position.value()))
}

fn read_row(order: OrderId, row: &[u8]) -> Result<DoneOrder, ArchiveError> {
    match decode_row(order, row) {
        Some(decoded) => decoded.map_err(|source| ArchiveError::Undecodable { order, source }),
        None => Err(ArchiveError::Damaged { found: format!("the row of order {order} fails its checksum") }),
    }
}

fn failed<E: Into<redb::Error>>(action: &'static str) -> impl FnOnce(E) -> ArchiveError {
    move |source| match source.into() {
        redb::Error::Corrupted(found) => ArchiveError::Damaged { found },
        source => ArchiveError::Failed { action, source: Box::new(source) },
    }
}

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
