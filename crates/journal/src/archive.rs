//! The archive: done orders by id, on disk, so that memory follows open orders and not history.
//!
//! It is derived from the journal: whatever is lost of it comes back by replay, as long as the segments are kept. It
//! does not know open orders, accounts or commands. Source: docs/JOURNAL.md, archive.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{AccountId, DoneOrder, OrderId, Sequence};
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, ReadableTable, StorageBackend, StorageError,
    TableDefinition, WriteTransaction,
};

use crate::archive_row::{
    ArchiveBatch, Entry, RowError, SHARED_BYTES_MAX, decode_order, decode_order_if, decode_row, encode_row, merge,
    row_of,
};
use crate::backend::Backend;
use crate::guard::{guarded, guarded_for_client};
use crate::overlay::Overlay;
use crate::recover::TEMPORARY_SUFFIX;
use crate::storage::{File, Storage};
use crate::varint::CodecError;

/// The archive's file in the data folder.
pub const ARCHIVE_NAME: &str = "archive.redb";

/// Memory for pages. More makes near-sequential inserts no faster: see docs/JOURNAL.md, archive.
const CACHE_BYTES: usize = 64 << 20;

/// Rows of neighbouring orders, by `row_of`.
const SHARED: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("shared");
/// Rows of one order each, by its id: those of many executions.
const LONG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("long");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const POSITION: &str = "position";
const FORMAT: &str = "format";
/// 1 had a row for each order.
const FORMAT_VERSION: u64 = 2;

/// Both tables of rows, and what makes of a key there the one that the row was encoded with.
type Table = (TableDefinition<'static, u64, &'static [u8]>, fn(u64) -> u64);
const TABLES: [Table; 2] = [(SHARED, |key| key), (LONG, |order| row_of(OrderId(order)))];

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
        "row {row} in {ARCHIVE_NAME} cannot be read ({source}) though its checksum is right: it was written by another \
         version of the program or by a fault in it; start the program that wrote it"
    )]
    Undecodable {
        /// Its key.
        row: u64,
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
    /// Closed with care.
    database: Option<Database>,
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
        let opened = guarded(|| {
            let database = open_database(Backend(file))?;
            let position = position_in(&database)?;
            Ok(Archive { database: Some(database), position: AtomicU64::new(position.0) })
        });
        opened.unwrap_or_else(damaged)
    }

    fn database(&self) -> &Database {
        self.database.as_ref().expect("invariant: a database is there until its archive goes")
    }

    /// All orders done by commands at or before this one are durably here.
    pub fn position(&self) -> Sequence {
        Sequence(self.position.load(Ordering::Acquire))
    }

    /// Stores done orders, over any rows of the same ids. With this and what was stored before, all orders done at or
    /// before `up_to` are here; durably so once a call with `sync` returns. After an error the archive takes nothing more.
    pub fn store(&self, batch: &ArchiveBatch, up_to: Sequence, sync: bool) -> Result<(), ArchiveError> {
        let mut transaction = self.database().begin_write().map_err(failed("write"))?;
        if sync {
            prepare_sync(&mut transaction);
        } else {
            transaction.set_durability(Durability::None).map_err(failed("write"))?;
        }
        insert(&transaction, &batch.sorted())?;
        set_position(&transaction, up_to)?;
        transaction.commit().map_err(failed("sync"))?;
        if sync {
            self.position.store(up_to.0, Ordering::Release);
        }
        Ok(())
    }

    /// The done order of this id, if it is here. Errors: `Damaged` when its row fails its checksum, or the way there. Whatever
    /// it meets, the archive can be asked and stored to as before.
    pub fn get(&self, order: OrderId) -> Result<Option<DoneOrder>, ArchiveError> {
        self.get_if(order, |_, _| true)
    }

    /// The same, without its executions unless they are `wanted`, who is told whose order it is and how many executions it
    /// has: what is not wanted takes no memory.
    pub fn get_if(
        &self,
        order: OrderId,
        wanted: impl FnOnce(AccountId, usize) -> bool,
    ) -> Result<Option<DoneOrder>, ArchiveError> {
        guarded_for_client(|| self.find_if(order, wanted)).unwrap_or_else(damaged)
    }

    fn find_if(
        &self,
        order: OrderId,
        wanted: impl FnOnce(AccountId, usize) -> bool,
    ) -> Result<Option<DoneOrder>, ArchiveError> {
        let transaction = self.database().begin_read().map_err(failed("read"))?;
        for (table, key) in [(SHARED, row_of(order)), (LONG, order.0)] {
            let table = transaction.open_table(table).map_err(failed("read"))?;
            let Some(row) = table.get(key).map_err(failed("read"))? else { continue };
            for (found, bytes) in read_row(row_of(order), row.value())? {
                if found == order {
                    let done = decode_order_if(order, bytes, wanted);
                    return done.map(Some).map_err(|source| undecodable(order, source));
                }
            }
        }
        Ok(None)
    }

    /// How many orders are here. Takes the time of reading the whole file.
    pub fn orders(&self) -> Result<u64, ArchiveError> {
        let mut orders = Ok(0);
        each_row(self.database(), &mut |row| match (&mut orders, row) {
            (Ok(orders), Ok(in_it)) => *orders += in_it,
            (Ok(_), Err(error)) => orders = Err(error),
            (Err(_), _) => {}
        })?;
        orders
    }

    /// Says, durably, that only orders done at or before `sequence` are surely here: for a journal that ends before the
    /// archive, as after both came from different backups. Does nothing if the position is not after it.
    pub fn set_position_back(&self, sequence: Sequence) -> Result<(), ArchiveError> {
        if sequence >= self.position() {
            return Ok(());
        }
        self.store(&ArchiveBatch::new(), sequence, true)
    }

    /// Verifies all pages and rows; returns how many orders. Takes the time of reading the whole file.
    pub fn check(&mut self) -> Result<u64, ArchiveError> {
        let database = self.database.as_mut().expect("invariant: a database is there until its archive goes");
        if !guarded(|| database.check_integrity().map_err(database_error)).unwrap_or_else(damaged)? {
            return Err(ArchiveError::Damaged { found: "its pages did not pass their check".to_owned() });
        }
        guarded(|| self.orders()).unwrap_or_else(damaged)
    }
}

impl Drop for Archive {
    /// All that counts was synced before.
    fn drop(&mut self) {
        let database = self.database.take();
        if let Err(found) = guarded(|| drop(database)) {
            tracing::error!("{ARCHIVE_NAME} is damaged ({found}), as its closing shows");
        }
    }
}

/// redb panicked, and said this.
fn damaged<T>(found: String) -> Result<T, ArchiveError> {
    Err(ArchiveError::Damaged { found })
}

/// Reads all of a folder's archive, which nobody may have open, and changes nothing. Whatever is damaged is told to `fault`, row by
/// row as far as rows are found. Gives how many orders can be read, none without an archive. Errors: what keeps it from being
/// read at all, damage among it.
pub fn verify_archive<S: Storage>(
    storage: &S,
    fault: &mut dyn FnMut(ArchiveError),
) -> Result<Option<u64>, ArchiveError> {
    if !storage.list().map_err(failed("find"))?.iter().any(|name| name == ARCHIVE_NAME) {
        return Ok(None);
    }
    let open = || Overlay::over(storage.open(ARCHIVE_NAME).map_err(failed("open"))?).map_err(failed("open"));
    let mut orders = 0;
    let rows = guarded(|| {
        let database = open_database(open()?)?;
        position_in(&database)?;
        each_row(&database, &mut |row| match row {
            Ok(in_it) => orders += in_it,
            Err(error) => fault(error),
        })
    });
    rows.unwrap_or_else(damaged)?;
    // A check of the pages may change them.
    let sound = guarded(|| open_database(open()?)?.check_integrity().map_err(database_error));
    match sound.unwrap_or_else(damaged) {
        Ok(true) => {}
        Ok(false) => fault(ArchiveError::Damaged { found: "its pages did not pass their check".to_owned() }),
        Err(error) => fault(error),
    }
    Ok(Some(orders))
}

/// Reads every row, and tells how many orders are in it.
fn each_row(database: &Database, row_read: &mut dyn FnMut(Result<u64, ArchiveError>)) -> Result<(), ArchiveError> {
    let transaction = database.begin_read().map_err(failed("read"))?;
    for (table, key_bits) in TABLES {
        let table = transaction.open_table(table).map_err(failed("read"))?;
        for row in table.iter().map_err(failed("read"))? {
            let (key, row) = row.map_err(failed("read"))?;
            let orders = read_row(key_bits(key.value()), row.value()).and_then(|orders| {
                orders.iter().try_for_each(|(order, bytes)| read_order(*order, bytes).map(drop))?;
                Ok(orders.len() as u64)
            });
            row_read(orders);
        }
    }
    Ok(())
}

/// Puts orders, which come by id, into their rows.
fn insert(transaction: &WriteTransaction, orders: &[Entry<'_>]) -> Result<(), ArchiveError> {
    let mut shared = transaction.open_table(SHARED).map_err(failed("write"))?;
    let mut long = transaction.open_table(LONG).map_err(failed("write"))?;
    let mut bytes = Vec::new();
    let mut short = Vec::new();
    for neighbours in orders.chunk_by(|one, other| row_of(one.0) == row_of(other.0)) {
        let key = row_of(neighbours[0].0);
        short.clear();
        for &entry in neighbours {
            if entry.1.len() <= SHARED_BYTES_MAX {
                short.push(entry);
            } else {
                encode_row(key, std::iter::once(entry), &mut bytes);
                long.insert(entry.0.0, bytes.as_slice()).map_err(failed("write"))?;
            }
        }
        if short.is_empty() {
            continue;
        }
        {
            let row = shared.get(key).map_err(failed("read"))?;
            let there = row.as_ref().map_or(Ok(Vec::new()), |row| read_row(key, row.value()))?;
            encode_row(key, merge(&there, &short), &mut bytes);
        }
        shared.insert(key, bytes.as_slice()).map_err(failed("write"))?;
    }
    Ok(())
}

/// Makes an empty archive aside and renames it when it is durable: a file of the archive's name is always whole.
fn make<S: Storage>(storage: &S, names: &[String]) -> Result<(), ArchiveError> {
    let aside = format!("{ARCHIVE_NAME}{TEMPORARY_SUFFIX}");
    if names.contains(&aside) {
        storage.remove(&aside).map_err(failed("make"))?;
    }
    let file = storage.create(&aside).map_err(failed("make"))?;
    let database = open_database(Backend(file))?;
    let mut transaction = database.begin_write().map_err(failed("make"))?;
    prepare_sync(&mut transaction);
    transaction.open_table(SHARED).map_err(failed("make"))?;
    transaction.open_table(LONG).map_err(failed("make"))?;
    transaction.open_table(META).map_err(failed("make"))?.insert(FORMAT, FORMAT_VERSION).map_err(failed("make"))?;
    set_position(&transaction, Sequence::ZERO)?;
    transaction.commit().map_err(failed("make"))?;
    drop(database);
    storage.rename(&aside, ARCHIVE_NAME).map_err(failed("make"))?;
    storage.sync_directory().map_err(failed("make"))
}

fn open_database(backend: impl StorageBackend) -> Result<Database, ArchiveError> {
    Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(|progress| {
            tracing::info!(percent = progress.progress() * 100.0, "checking {ARCHIVE_NAME} after an unclean stop");
        })
        .create_with_backend(backend)
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
    let format = meta.get(FORMAT).map_err(failed("read"))?.map_or(1, |format| format.value());
    if format != FORMAT_VERSION {
        let found = format!("its format is {format}, this program's is {FORMAT_VERSION}");
        return Err(ArchiveError::Damaged { found });
    }
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

fn failed<E: Into<redb::Error>>(action: &'static str) -> impl FnOnce(E) -> ArchiveError {
    move |source| match source.into() {
        redb::Error::Corrupted(found) => ArchiveError::Damaged { found },
        redb::Error::Io(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            ArchiveError::Damaged { found: "its pages lead beyond its end".to_owned() }
        }
        // Each table is made with the file, and of its type.
        missing @ (redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }) => ArchiveError::Damaged { found: missing.to_string() },
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
