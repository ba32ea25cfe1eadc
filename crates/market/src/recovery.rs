//! Opens a data folder and restores the market from the newest sound snapshot and the journal behind it. The events of
//! the replayed commands go to the followers.

use std::hash::{BuildHasher, Hasher, RandomState};

use engine::{DoneOrders, Engine, ImportError, Importer};
use exchange::EventSink;
use history::{HISTORY_FOLDER, HistoryError};
use journal::{
    Cut, Journal, JournalError, JournalPoint, Options, SnapshotError, SnapshotInfo, Storage, VisitError, snapshot,
};
use terms::{Entry, Sequence, Time};

use crate::background_yield::BackgroundYield;
use crate::follower::Replay;

/// An opened data folder.
pub struct Recovered<S: Storage> {
    /// The restored market.
    pub engine: Engine,
    /// The journal, ready to append to.
    pub journal: Journal<S>,
    /// The findings.
    pub report: Report,
}

/// The findings at the opening of a data folder.
#[derive(Clone, Debug)]
pub struct Report {
    /// The snapshot with which the replay began.
    pub snapshot: Option<SnapshotInfo>,
    /// The snapshots that could not be used, with the reasons.
    pub refused_snapshots: Vec<String>,
    /// The number of commands replayed from the journal.
    pub commands_replayed: u64,
    /// An unfinished unit that a crash left at the journal's end; it was never acknowledged.
    pub cut: Option<Cut>,
}

/// The reason why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("cannot list the data folder: {0}")]
    Folder(std::io::Error),
    #[error(
        "the data folder has {found}, but neither a journal nor a snapshot: the market itself is gone. Restore its files journal-*.log \
         and snapshot-*.snap (docs/JOURNAL.md, recovering by hand); for a new market name another folder, or move all files out of this one"
    )]
    MarketGone { found: String },
    #[error("cannot list the snapshots: {0}")]
    Snapshots(SnapshotError),
    #[error("{source}; the snapshots that would do without it cannot be used: {}", refused.join("; "))]
    NoSnapshot { source: JournalError, refused: Vec<String> },
    #[error("the data folder has no journal, and its snapshots cannot be used: {}", refused.join("; "))]
    OnlySnapshots { refused: Vec<String> },
}

impl RecoveryError {
    /// Whether the folder cannot be opened only because this program does not replay its last commands: no snapshot is
    /// damaged.
    pub fn is_of_earlier_rules(&self) -> bool {
        match self {
            RecoveryError::Journal(source) => matches!(source, JournalError::EarlierRules { .. }),
            RecoveryError::NoSnapshot { .. }
            | RecoveryError::History(_)
            | RecoveryError::Folder(_)
            | RecoveryError::MarketGone { .. }
            | RecoveryError::Snapshots(_)
            | RecoveryError::OnlySnapshots { .. } => false,
        }
    }
}

/// The reason why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("{name}: {source}")]
    Import { name: String, source: ImportError },
    #[error("{name}: its state hashes to {found:016x}, but it was written as {written:016x}")]
    Hash { name: String, found: u64, written: u64 },
    #[error("{name} has more than {most} items")]
    TooLarge { name: String, most: u64 },
}

/// Opens a data folder, which may be empty. Leaves it as after an orderly stop, except for the snapshot.
pub fn open<S: Storage>(storage: &S, options: Options) -> Result<Recovered<S>, RecoveryError> {
    open_followed(storage, options, |_| Ok(None))
}

/// Opens a data folder. `follow` gets the state with which the replay begins, and returns the receiver of the replay's
/// events.
pub fn open_followed<S: Storage>(
    storage: &S,
    options: Options,
    follow: impl FnOnce(&Engine) -> Result<Option<EventSink>, HistoryError>,
) -> Result<Recovered<S>, RecoveryError> {
    let has_journal = begin_if_new(storage, options)?;
    let (loaded, refused_snapshots) = load_fitting(storage)?;
    if loaded.is_none() && !has_journal {
        return Err(RecoveryError::OnlySnapshots { refused: refused_snapshots });
    }
    let (snapshot, mut engine, from) = match loaded {
        Some((info, engine, point)) => (Some(info), engine, point),
        None => (None, Engine::new(random_seed(), DoneOrders::Drop), JournalPoint::ZERO),
    };
    let refused = |source| match refused_snapshots.is_empty() {
        true => RecoveryError::Journal(source),
        false => RecoveryError::NoSnapshot { source, refused: refused_snapshots.clone() },
    };
    // The history depends on the snapshot, and is set aside if the two do not match. It must not be set aside because
    // of a snapshot of another journal, and none may begin beside a journal that cannot be read.
    journal::read(storage, from, Some(from.sequence.next()), &mut |_| Ok(())).map_err(refused)?;
    // The history got the effects of commands only when these were durable. The opening of the history says what else
    // is wrong with it.
    let known = history::through(storage).ok().flatten().unwrap_or(Sequence::ZERO);
    let mut replay = follow(&engine)?.map(Replay::new);
    let mut scratch = Vec::new();
    let time_floor = engine.time();
    let mut apply = |entry: Entry| -> Result<(), VisitError> {
        match &mut replay {
            Some(replay) => {
                replay.begin(&entry);
                engine.apply_told(&entry, &mut scratch, &mut |event| replay.add(entry.sequence, event));
            }
            None => drop(engine.apply_untold(&entry, &mut scratch)),
        }
        scratch.clear();
        Ok(())
    };
    let recovered = Journal::recover_known(storage.clone(), options, (from, time_floor), known, &mut apply);
    let (journal, recovery) = recovered.map_err(refused)?;
    if let Some(replay) = &mut replay {
        replay.hand_over();
    }
    let report = Report { snapshot, refused_snapshots, commands_replayed: recovery.commands, cut: recovery.cut };
    Ok(Recovered { engine, journal, report })
}

/// Refuses a data folder of a build before the first release, and changes nothing. Errors: a part of it is of such a
/// build. The opening finds all other faults.
pub fn refuse_unreleased<S: Storage>(storage: &S) -> Result<(), RecoveryError> {
    match journal::oldest_point(storage) {
        Err(unreleased @ JournalError::Unreleased { .. }) => return Err(unreleased.into()),
        Ok(Some(_)) | Err(_) => {}
        Ok(None) => {
            let newest = snapshot::list(storage).unwrap_or_default().into_iter().next();
            if let Some(Err(unreleased @ SnapshotError::Unreleased { .. })) =
                newest.map(|info| snapshot::open(storage, &info))
            {
                return Err(RecoveryError::OnlySnapshots { refused: vec![unreleased.to_string()] });
            }
        }
    }
    match history::through(storage) {
        Err(unreleased @ HistoryError::Unreleased) => Err(unreleased.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes the journal of a new market before any other file, so files without a journal belong to a market that existed
/// before. Returns whether there is a journal. Errors: the folder is of a build before the first release; it has files
/// of a market and neither a journal nor a snapshot.
fn begin_if_new<S: Storage>(storage: &S, options: Options) -> Result<bool, RecoveryError> {
    match journal::oldest_point(storage) {
        Ok(Some(_)) => return Ok(true),
        Err(unreleased @ JournalError::Unreleased { .. }) => return Err(unreleased.into()),
        // The reading of the journal says what is damaged, and a snapshot may do without it.
        Err(_) => return Ok(true),
        Ok(None) => {}
    }
    if !snapshot::list(storage).map_err(RecoveryError::Snapshots)?.is_empty() {
        return Ok(false);
    }
    if let Some(found) = trace_of_a_market(storage)? {
        return Err(RecoveryError::MarketGone { found });
    }
    begin(storage, options)?;
    Ok(true)
}

/// Makes the journal of a market that begins in a folder, whatever else lies there.
pub fn begin<S: Storage>(storage: &S, options: Options) -> Result<(), JournalError> {
    Journal::recover(storage.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).map(drop)
}

/// The file in a data folder that says that its market has members. A backup has it, and does not have the access file:
/// a server that is started on a backup, or after the access file was lost, must not open the market to everybody
/// without notice. It is written behind the start of a market.
pub const HAS_MEMBERS_NAME: &str = "members";

/// A file in a data folder, beside journal and snapshots, that only a market leaves there.
fn trace_of_a_market<S: Storage>(storage: &S) -> Result<Option<String>, RecoveryError> {
    let names = storage.list().map_err(RecoveryError::Folder)?;
    if let Some(aside) = names.iter().find(|name| name.starts_with(history::SET_ASIDE)) {
        return Ok(Some(format!("the folder {aside}")));
    }
    if names.iter().any(|name| name == HAS_MEMBERS_NAME) {
        return Ok(Some(format!("the file {HAS_MEMBERS_NAME}")));
    }
    Ok(history::is_there(storage)?.then(|| format!("files in {HISTORY_FOLDER}")))
}

/// The newest sound snapshot, as an engine, and the reasons why newer ones are not.
pub type Newest = (Option<(SnapshotInfo, Engine, JournalPoint)>, Vec<String>);

/// Loads the newest sound snapshot that does not go beyond the history: the replay after it makes the rest of the
/// history, and must leave no gap. If the journal can be replayed neither from its start nor from such a snapshot, the
/// newest one will do, and what the history lacks is lost.
fn load_fitting<S: Storage>(storage: &S) -> Result<Newest, RecoveryError> {
    if journal::replays_from_start(storage).unwrap_or(false) {
        return load_newest(storage, Some(history::through(storage)?.unwrap_or(Sequence::ZERO)));
    }
    // Looking at a history makes its folder, which is not made beside a journal that cannot be read.
    if let Ok(Some(replayed)) = journal::replays_behind(storage)
        && let Ok(Some(through)) = history::through(storage)
    {
        let fits = |info: &SnapshotInfo| (replayed..=through).contains(&info.sequence);
        if snapshot::list(storage).map_err(RecoveryError::Snapshots)?.iter().any(fits) {
            let (loaded, refused) = load_newest(storage, Some(through))?;
            if loaded.as_ref().is_some_and(|(info, ..)| fits(info)) {
                return Ok((loaded, refused));
            }
        }
    }
    load_newest(storage, None)
}

/// Loads the newest sound snapshot, which must not go beyond `history` if that is given. Errors: snapshots cannot be
/// listed.
pub fn load_newest<S: Storage>(storage: &S, history: Option<Sequence>) -> Result<Newest, RecoveryError> {
    let mut refused = Vec::new();
    for info in snapshot::list(storage).map_err(RecoveryError::Snapshots)? {
        if let Some(history) = history.filter(|history| info.sequence > *history) {
            let name = &info.name;
            let why = format!(
                "{name} is not used, for the history ends at command {history}: the journal has the rest of it"
            );
            tracing::warn!("{why}");
            refused.push(why);
            continue;
        }
        match load(storage, &info) {
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
pub fn load<S: Storage>(storage: &S, info: &SnapshotInfo) -> Result<(Engine, JournalPoint), LoadError> {
    load_some(storage, info, u64::MAX)
}

/// Loads one snapshot if it has at most `most` items.
pub fn load_some<S: Storage>(storage: &S, info: &SnapshotInfo, most: u64) -> Result<(Engine, JournalPoint), LoadError> {
    let mut importer = Importer::new(random_seed(), DoneOrders::Drop);
    let import_error = |source| LoadError::Import { name: info.name.clone(), source };
    let items = snapshot::open(storage, info)?;
    let (point, written) = (items.point(), items.state_hash());
    let mut others = BackgroundYield::default();
    for (before, item) in (0..).zip(items) {
        if before == most {
            return Err(LoadError::TooLarge { name: info.name.clone(), most });
        }
        others.tick();
        importer.add(item?).map_err(import_error)?;
    }
    let engine = importer.finish().map_err(import_error)?;
    let found = engine.state_hash();
    if found != written || engine.sequence() != point.sequence {
        return Err(LoadError::Hash { name: info.name.clone(), found, written });
    }
    Ok((engine, point))
}

/// A random seed for hash tables whose keys clients choose, so that no client can choose keys that collide.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
