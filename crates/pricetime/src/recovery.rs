//! From a data folder to a market that stands where it was: the newest sound snapshot, then the journal behind it.
//! Orders that were done meanwhile go to the archive, unless it has them already.

use std::hash::{BuildHasher, Hasher, RandomState};

use engine::{DoneOrders, Engine, Entry, ImportError, Importer, Sequence};
use feed::{EventSink, HistoryError};
use journal::{
    ARCHIVE_NAME, Archive, ArchiveBatch, ArchiveError, Cut, Journal, JournalError, JournalPoint, Options,
    SnapshotError, SnapshotInfo, Storage, VisitError, snapshot,
};

use crate::give_way::GiveWay;
use crate::projection::Replay;

/// Commands replayed between two looks for done orders: so few that what is looked at is still in the cache.
const GATHER_EVERY: u64 = 1 << 10;
/// Done orders that a replay gathers before it stores them: bounds the memory that it needs.
const STORE_ORDERS: usize = 1 << 16;

/// An opened data folder.
pub struct Recovered<S: Storage> {
    /// The market as it was.
    pub engine: Engine,
    /// Ready to append to.
    pub journal: Journal<S>,
    /// Holds every order that was done, on the disk.
    pub archive: Archive,
    /// What was found.
    pub report: Report,
}

/// What was found on opening a data folder.
#[derive(Clone, Debug)]
pub struct Report {
    /// The snapshot that the replay began with.
    pub snapshot: Option<SnapshotInfo>,
    /// Snapshots that could not be used, and why.
    pub refused_snapshots: Vec<String>,
    /// Commands replayed from the journal.
    pub commands_replayed: u64,
    /// An unfinished unit that a crash left at the journal's end; it was never acknowledged.
    pub cut: Option<Cut>,
}

/// Why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("cannot list the snapshots: {0}")]
    Snapshots(SnapshotError),
    #[error("{source}; the snapshots that would do without it cannot be used: {}", refused.join("; "))]
    NoSnapshot { source: JournalError, refused: Vec<String> },
}

/// Why one snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("{name}: {source}")]
    Import { name: String, source: ImportError },
    #[error("{name}: its state hashes to {found:016x}, but it was written as {written:016x}")]
    Hash { name: String, found: u64, written: u64 },
}

/// Opens a data folder, which may be empty. Leaves it as it would be after an orderly stop, but for the snapshot.
pub fn open<S: Storage>(storage: &S, options: Options) -> Result<Recovered<S>, RecoveryError> {
    open_followed(storage, options, |_| Ok(None))
}

/// As `open`. `follow` is shown the state that the replay begins with; who it names is given the events of the replay.
pub fn open_followed<S: Storage>(
    storage: &S,
    options: Options,
    follow: impl FnOnce(&Engine) -> Result<Option<EventSink>, HistoryError>,
) -> Result<Recovered<S>, RecoveryError> {
    let archive = Archive::open(storage)?;
    let (loaded, refused_snapshots) = load_newest(storage, DoneOrders::Keep, archive.position())?;
    let (snapshot, mut engine, from) = match loaded {
        Some((info, engine, point)) => (Some(info), engine, point),
        None => (None, Engine::new(random_seed(), DoneOrders::Keep), JournalPoint::ZERO),
    };
    let mut replay = follow(&engine)?.map(Replay::new);
    let mut batch = ArchiveBatch::new();
    let mut scratch = Vec::new();
    let mut since = 0u64;
    let time_floor = engine.time();
    let (journal, recovery) =
        Journal::recover(storage.clone(), options, from, time_floor, &mut |entry: Entry| -> Result<(), VisitError> {
            match &mut replay {
                Some(replay) => {
                    replay.begin(&entry);
                    engine.apply(&entry, &mut scratch, &mut |event| replay.add(entry.sequence, event));
                }
                None => drop(engine.apply(&entry, &mut scratch, &mut |_| {})),
            }
            scratch.clear();
            since += 1;
            if since >= GATHER_EVERY {
                since = 0;
                gather_done(&mut engine, &mut batch);
                if batch.len() >= STORE_ORDERS {
                    store(&engine, &archive, &mut batch, false)?;
                }
            }
            Ok(())
        })
        .map_err(|source| match refused_snapshots.is_empty() {
            true => RecoveryError::Journal(source),
            false => RecoveryError::NoSnapshot { source, refused: refused_snapshots.clone() },
        })?;
    if let Some(replay) = &mut replay {
        replay.hand_over();
    }
    gather_done(&mut engine, &mut batch);
    store(&engine, &archive, &mut batch, true)?;
    if archive.position() > engine.sequence() {
        // Possible only where the machine lost what was written but not synced: those commands never happened.
        archive.set_position_back(engine.sequence())?;
    }
    let report = Report { snapshot, refused_snapshots, commands_replayed: recovery.commands, cut: recovery.cut };
    Ok(Recovered { engine, journal, archive, report })
}

/// The newest snapshot that is sound, as an engine; and why newer ones are not.
pub type Newest = (Option<(SnapshotInfo, Engine, JournalPoint)>, Vec<String>);

/// Loads the newest sound snapshot that the archive covers: orders done before a snapshot are nowhere but in the archive.
/// Errors: only when they cannot be listed.
pub fn load_newest<S: Storage>(
    storage: &S,
    done_orders: DoneOrders,
    archived: Sequence,
) -> Result<Newest, RecoveryError> {
    let mut refused = Vec::new();
    for info in snapshot::list(storage).map_err(RecoveryError::Snapshots)? {
        if info.sequence > archived {
            let why = format!(
                "{} needs an archive of the orders done up to command {}, but {ARCHIVE_NAME} ends at {archived}: restore \
                 both from one backup",
                info.name, info.sequence
            );
            tracing::warn!("{why}");
            refused.push(why);
            continue;
        }
        match load(storage, &info, done_orders) {
            Ok((engine, point)) => return Ok((Some((info, engine, point)), refused)),
            Err(error) => {
                tracing::error!(%error, "a snapshot cannot be used; trying the one before it");
                refused.push(error.to_string());
            }
        }
    }
    Ok((None, refused))
}

/// Loads one snapshot and checks that its state is the one that was written.
pub fn load<S: Storage>(
    storage: &S,
    info: &SnapshotInfo,
    done_orders: DoneOrders,
) -> Result<(Engine, JournalPoint), LoadError> {
    let mut importer = Importer::new(random_seed(), done_orders);
    let import_error = |source| LoadError::Import { name: info.name.clone(), source };
    let items = snapshot::open(storage, info)?;
    let (point, written) = (items.point(), items.state_hash());
    let mut give_way = GiveWay::default();
    for item in items {
        give_way.tick();
        importer.add(item?).map_err(import_error)?;
    }
    let engine = importer.finish().map_err(import_error)?;
    let found = engine.state_hash();
    if found != written || engine.sequence() != point.sequence {
        return Err(LoadError::Hash { name: info.name.clone(), found, written });
    }
    Ok((engine, point))
}

/// Moves done orders out of the engine. Until they are stored only the journal has them, which is where they came from.
fn gather_done(engine: &mut Engine, batch: &mut ArchiveBatch) {
    let gathered = batch.len();
    engine.take_done(&mut |done| batch.push(done));
    engine.forget_all(batch.ids().skip(gathered));
}

fn store(engine: &Engine, archive: &Archive, batch: &mut ArchiveBatch, sync: bool) -> Result<(), ArchiveError> {
    if engine.sequence() > archive.position() {
        archive.store(batch, engine.sequence(), sync)?;
    }
    batch.clear();
    Ok(())
}

/// Seeds the hash tables whose keys clients choose, so that nobody can choose keys that collide.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
