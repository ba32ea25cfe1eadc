//! Opens a data folder and restores the market from the newest sound snapshot and the journal behind it. The events of
//! the replayed commands go to the followers.

use std::hash::{BuildHasher, Hasher, RandomState};

use engine::{DoneOrders, EXECUTIONS_KEPT, Engine, Entry, ImportError, Importer, Sequence, StateHash, StateItem, Time};
use exchange::EventSink;
use history::{HISTORY_FOLDER, HistoryError};
use journal::{
    ARCHIVE_NAME, Archive, ArchiveError, Cut, Journal, JournalError, JournalPoint, Options, SnapshotError,
    SnapshotInfo, Storage, VisitError, snapshot,
};

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
    #[error(transparent)]
    Archive(#[from] ArchiveError),
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
    begin_if_new(storage, options)?;
    let (loaded, refused_snapshots) = load_newest(storage, needed_history(storage)?)?;
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
    let mut replay = follow(&engine)?.map(Replay::new);
    let mut scratch = Vec::new();
    let time_floor = engine.time();
    let (journal, recovery) =
        Journal::recover(storage.clone(), options, from, time_floor, &mut |entry: Entry| -> Result<(), VisitError> {
            match &mut replay {
                Some(replay) => {
                    replay.begin(&entry);
                    engine.apply_told(&entry, &mut scratch, &mut |event| replay.add(entry.sequence, event));
                }
                None => drop(engine.apply_untold(&entry, &mut scratch)),
            }
            scratch.clear();
            Ok(())
        })
        .map_err(refused)?;
    if let Some(replay) = &mut replay {
        replay.hand_over();
    }
    let report = Report { snapshot, refused_snapshots, commands_replayed: recovery.commands, cut: recovery.cut };
    Ok(Recovered { engine, journal, report })
}

/// Makes the journal of a new market before any other file, so files without a journal belong to a market that existed
/// before.
fn begin_if_new<S: Storage>(storage: &S, options: Options) -> Result<(), RecoveryError> {
    let is_begun = !matches!(journal::oldest_point(storage), Ok(None))
        || !snapshot::list(storage).map_err(RecoveryError::Snapshots)?.is_empty();
    if is_begun {
        return Ok(());
    }
    if let Some(found) = trace_of_a_market(storage)? {
        return Err(RecoveryError::MarketGone { found });
    }
    Ok(begin(storage, options)?)
}

/// Makes the journal of a market that begins in a folder, whatever else lies there.
pub fn begin<S: Storage>(storage: &S, options: Options) -> Result<(), JournalError> {
    Journal::recover(storage.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).map(drop)
}

/// A file in a data folder, beside journal and snapshots, that only a market leaves there.
fn trace_of_a_market<S: Storage>(storage: &S) -> Result<Option<String>, RecoveryError> {
    let names = storage.list().map_err(RecoveryError::Folder)?;
    if let Some(aside) = names.into_iter().find(|name| name.starts_with(history::SET_ASIDE)) {
        return Ok(Some(format!("the folder {aside}")));
    }
    if journal::has_archive(storage).map_err(RecoveryError::Folder)? {
        return Ok(Some(ARCHIVE_NAME.to_owned()));
    }
    Ok(history::is_there(storage)?.then(|| format!("files in {HISTORY_FOLDER}")))
}

/// The newest sound snapshot, as an engine, and the reasons why newer ones are not.
pub type Newest = (Option<(SnapshotInfo, Engine, JournalPoint)>, Vec<String>);

/// The last command of the history, if the journal is whole. A snapshot must not go beyond it: the replay after the
/// snapshot makes the rest of the history, and must leave no gap. If the journal is not whole, any snapshot will do,
/// and what the history lacks is lost.
fn needed_history<S: Storage>(storage: &S) -> Result<Option<Sequence>, RecoveryError> {
    if !matches!(journal::oldest_point(storage), Ok(Some(JournalPoint::ZERO))) {
        return Ok(None);
    }
    let through = history::through(storage)?.unwrap_or(Sequence::ZERO);
    match journal::has_archive(storage).map_err(RecoveryError::Folder)? {
        true => Ok(Some(through.max(Archive::open(storage)?.position()?))),
        false => Ok(Some(through)),
    }
}

/// Loads the newest sound snapshot, which must not go beyond `history` if that is given. Errors: snapshots cannot be
/// listed.
pub fn load_newest<S: Storage>(storage: &S, history: Option<Sequence>) -> Result<Newest, RecoveryError> {
    let mut refused = Vec::new();
    for info in snapshot::list(storage).map_err(RecoveryError::Snapshots)? {
        if let Some(history) = history.filter(|history| info.sequence > *history) {
            let name = &info.name;
            let why =
                format!("{name} is not used, for the history ends at command {history}: the journal has all of it");
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
    let (mut as_read, mut executions, mut is_former) = (StateHash::new(), 0, false);
    for (before, item) in (0..).zip(items) {
        if before == most {
            return Err(LoadError::TooLarge { name: info.name.clone(), most });
        }
        others.tick();
        let item = item?;
        as_read.add(&item);
        executions = if matches!(item, StateItem::Execution(_)) { executions + 1 } else { 0 };
        is_former |= executions > EXECUTIONS_KEPT;
        importer.add(item).map_err(import_error)?;
    }
    let engine = importer.finish().map_err(import_error)?;
    // A former program wrote all executions of open orders with many of them, so the engine's hash differs from that of
    // these items.
    let found = if is_former { as_read.finish() } else { engine.state_hash() };
    if found != written || engine.sequence() != point.sequence {
        return Err(LoadError::Hash { name: info.name.clone(), found, written });
    }
    Ok((engine, point))
}

/// A random seed for hash tables whose keys clients choose, so that no client can choose keys that collide.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use engine::{
        AccountId, Command, Execution, Money, NewOrder, Op, OrderId, Position, Price, Query, Reply, Shares, Side,
        Symbol, Time,
    };
    use journal::simulated::SimulatedDisk;

    use super::*;

    /// Makes an order of ten shares with this many executions, and returns them with the engine.
    fn with_executions(executions: i64) -> (Engine, Vec<Execution>) {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let account = AccountId::parse(b"1").expect("a number");
        let symbol = Symbol::parse(b"S").expect("a name");
        let (limit, ten) = (Price::from_units(5).expect("above zero"), Shares::from_units(100).expect("above zero"));
        let order = |side, shares| {
            let order = NewOrder::limit(symbol, side, limit, shares);
            Command::PlaceOrder { account, order, client_id: None, until: None }
        };
        let (balance, shares) = (Money::from_units(1_000_000), Position::from_units(1_000));
        let sells = (1..=executions).map(|units| order(Side::Sell, Shares::from_units(units).expect("above zero")));
        let opening = [
            Command::CreateAccount { account, balance },
            Command::CreateSymbol { symbol },
            Command::IssueShares { symbol, account, shares },
            order(Side::Buy, ten),
        ];
        let mut all = Vec::new();
        for command in opening.into_iter().chain(sells) {
            let sequence = engine.sequence().next();
            let mut note = |event| {
                if let engine::Event::Executed { shares, price, .. } = event {
                    all.push(Execution { shares, price, time: Time(sequence.0), fee: engine::Fee::NONE });
                }
            };
            engine.apply(&Entry { sequence, time: Time(sequence.0), command }, &mut Vec::new(), &mut note);
        }
        (engine, all)
    }

    /// A former program wrote all executions of open orders, and the hash of that.
    #[test]
    fn a_snapshot_with_all_executions_of_an_open_order_is_read() {
        for executions in [8, 9, 12] {
            let (engine, all) = with_executions(executions);
            let (mut former, mut hash) = (Vec::new(), StateHash::new());
            engine.export(&mut |item| {
                if matches!(item, StateItem::Execution(_) | StateItem::Executed(_)) {
                    return;
                }
                former.push(item);
                if matches!(item, StateItem::Order { .. }) {
                    former.extend(all.iter().copied().map(StateItem::Execution));
                }
            });
            former.iter().for_each(|item| hash.add(item));
            let disk = SimulatedDisk::new();
            let point = JournalPoint { sequence: engine.sequence(), chain: 0 };
            let write = |hash| {
                snapshot::write(&disk, point, hash, &mut |sink| former.iter().copied().for_each(sink))
                    .expect("a sound disk")
            };
            let info = write(hash.finish());
            let (loaded, _) = load(&disk, &info).expect("what was written is sound");
            assert_eq!(loaded.state_hash(), engine.state_hash(), "{executions} executions");
            let query = Query { account: AccountId::parse(b"1").expect("a number"), order: OrderId(1).into() };
            let mut told = Vec::new();
            let reply = loaded.query(&query, &mut told);
            let Reply::Status(status) = reply else { panic!("{:?} is told {reply:?}", Op::Query(query)) };
            match executions {
                8 => assert_eq!((told, status.elsewhere), (all, None)),
                _ => assert_eq!(status.elsewhere.map(|executed| *executed), Some(engine::Executed::of(&all))),
            }
            let info = write(1);
            assert!(matches!(load(&disk, &info), Err(LoadError::Hash { .. })), "another hash is not that of the items");
        }
    }
}
