//! Reads a data folder or database without changing it, also while a server writes to it.

use std::path::Path;

use engine::{DoneOrders, Engine};
use journal::{Cut, Disk, JournalPoint, SnapshotInfo, VisitError};
use market::recovery;
use store::{Stop, Store, StoreError, StoreUrl};
use terms::Entry;

use crate::unjoined::expect_joined;

/// The content of a data folder.
pub struct Inspected {
    /// The market behind the last whole unit of the journal.
    pub engine: Engine,
    /// The end of the journal.
    pub point: JournalPoint,
    /// The snapshot with which the reading began.
    pub snapshot: Option<SnapshotInfo>,
    /// The bytes behind the last whole unit: being written now, or left by a crash.
    pub unfinished: Option<Cut>,
}

/// Opens a data folder for reading, and changes nothing in it. Errors: it is not a data folder, or was never finished.
pub fn open_disk(folder: &Path) -> Result<Disk, String> {
    journal::expect_finished(folder)?;
    expect_joined(folder)?;
    let disk = Disk::open_to_read(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if journal::oldest_point(&disk).map_err(|error| error.to_string())?.is_none() {
        return Err(format!("{}: there is no journal in this folder", folder.display()));
    }
    Ok(disk)
}

/// Reads the market in a data folder or, by its URL, in a database. Errors: the reason why it cannot be read.
pub fn engine_of(kept: &str) -> Result<Engine, String> {
    match kept.contains("://") {
        true => {
            let mut store = store_at(kept)?;
            let loaded = store.load(recovery::random_seed(), DoneOrders::Drop);
            Ok(loaded.map_err(|error| error.to_string())?.engine)
        }
        false => Ok(inspect(&open_disk(Path::new(kept))?)?.engine),
    }
}

/// Opens a connection to read. Errors: an invalid URL, or a database that cannot be reached.
pub fn store_at(url: &str) -> Result<Store, String> {
    let url: StoreUrl = url.parse().map_err(|error: StoreError| error.to_string())?;
    Store::connect(&url, "reader", Stop::new()).map_err(|error| error.to_string())
}

/// The number of attempts when a running server's writes and retirements come in between.
const ATTEMPTS: usize = 4;

/// Reads a data folder: its newest snapshot and the journal behind it. Errors: damage, with what to do.
pub fn inspect(disk: &Disk) -> Result<Inspected, String> {
    (1..ATTEMPTS).find_map(|_| read(disk).ok()).map_or_else(|| read(disk), Ok)
}

fn read(disk: &Disk) -> Result<Inspected, String> {
    let (newest, _) = recovery::load_newest(disk, None).map_err(|error| error.to_string())?;
    let (snapshot, mut engine, from) = match newest {
        Some((info, engine, point)) => (Some(info), engine, point),
        None => (None, Engine::new(recovery::random_seed(), DoneOrders::Drop), JournalPoint::ZERO),
    };
    let mut scratch = Vec::new();
    let end = journal::read(disk, from, None, &mut |entry: Entry| -> Result<(), VisitError> {
        engine.apply_untold(&entry, &mut scratch);
        scratch.clear();
        Ok(())
    });
    let end = end.map_err(|error| error.to_string())?;
    Ok(Inspected { engine, point: end.point, snapshot, unfinished: end.unfinished })
}
