//! Snapshots of the market, made by a background replica: it loads the last snapshot, replays the full journal files
//! behind it and writes the next one. The loop never waits for it, and each snapshot proves that the journal can be
//! replayed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{DoneOrders, Engine};
use exchange::{Gauge, Metrics};
use journal::{JournalError, JournalPoint, SnapshotError, SnapshotInfo, Storage, VisitError, snapshot};
use terms::{Entry, Sequence};

use crate::background_yield::BackgroundYield;
use crate::follower::Checkpoint;
use crate::recovery::{self, RecoveryError};

/// The number of generations of snapshots that are kept: if the newest is damaged, the one before it and the journal
/// since then suffice.
const GENERATIONS: usize = 2;
/// The interval at which the thread looks whether a snapshot is due.
const EVERY: Duration = Duration::from_millis(200);

/// Facts about the journal that the loop and the snapshot thread share.
#[derive(Debug, Default)]
pub struct JournalCoverage {
    /// The last command in a full journal file.
    closed_through: AtomicU64,
    /// The last command that every generation of snapshots and the history cover.
    covered_through: AtomicU64,
    /// The newest snapshot that was made and not taken yet.
    made: Mutex<Option<StateAt>>,
    /// The last command of which a snapshot was made, or could not be.
    tried_through: AtomicU64,
}

/// The hash of the state after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateAt {
    pub sequence: Sequence,
    pub hash: u64,
}

impl JournalCoverage {
    /// Notes the last command in a full journal file, for the loop.
    pub(crate) fn set_closed_through(&self, sequence: Sequence) {
        self.closed_through.store(sequence.0, Ordering::Release);
    }

    fn closed_through(&self) -> Sequence {
        Sequence(self.closed_through.load(Ordering::Acquire))
    }

    /// Notes the commands that snapshots cover. A covered command stays covered.
    fn set_covered_through(&self, covered: Option<Sequence>) {
        self.covered_through.fetch_max(covered.map_or(0, |covered| covered.0), Ordering::AcqRel);
    }

    /// Takes the snapshot that was made since the last call; the newest, if there were several.
    pub(crate) fn take_made(&self) -> Option<StateAt> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a snapshot up to here was made, or could not be.
    pub(crate) fn is_tried(&self, sequence: Sequence) -> bool {
        self.tried_through.load(Ordering::Acquire) >= sequence.0
    }

    /// Whether `take_made` has a snapshot.
    pub(crate) fn has_made(&self) -> bool {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn set_made(&self, made: StateAt) {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
    }

    /// The last command up to which journal files can be retired.
    pub fn covered_through(&self) -> Sequence {
        Sequence(self.covered_through.load(Ordering::Acquire))
    }
}

/// The reason why no snapshot could be made. The server goes on, and only its next start takes longer.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("the history did not sync")]
    HistoryBehind,
    #[error("the server stops")]
    Stopping,
}

/// A snapshot that was written.
struct Published {
    info: SnapshotInfo,
    state: StateAt,
    /// The value of `covered_through` once this snapshot counts.
    covered: Option<Sequence>,
}

/// Makes snapshots one after the other, a step at a time: it owns no thread.
pub struct SnapshotMaker<S: Storage> {
    storage: S,
    /// The number of commands in full journal files after which another snapshot is due.
    every: u64,
    /// The command of the last snapshot; after an error, the one that it should have had.
    last: Sequence,
    coverage: Arc<JournalCoverage>,
    /// The checkpoint of the history, which must durably hold what a snapshot leaves out.
    history: Checkpoint,
    metrics: Metrics,
    /// Set to give up an unfinished snapshot.
    stopping: Arc<AtomicBool>,
    replica: Option<(Engine, JournalPoint)>,
}

impl<S: Storage> SnapshotMaker<S> {
    /// Continues behind the snapshot at `last`, with another one whenever `every` commands stand in full journal files
    /// since.
    pub fn new(
        storage: S,
        every: u64,
        last: Sequence,
        coverage: Arc<JournalCoverage>,
        history: Checkpoint,
        metrics: Metrics,
    ) -> SnapshotMaker<S> {
        SnapshotMaker { storage, every, last, coverage, history, metrics, stopping: Arc::default(), replica: None }
    }

    /// Notes the commands that the existing snapshots cover.
    pub fn look(&self) {
        match covered_through(&self.storage) {
            Ok(covered) => self.coverage.set_covered_through(covered),
            Err(error) => tracing::error!(%error, "the journal is kept until the next snapshot"),
        }
    }

    /// Makes a snapshot if one is due. An error is logged: the server goes on, and only its next start takes longer.
    pub fn step(&mut self) {
        let started = Instant::now();
        let made = self.replicate().and_then(|()| self.publish());
        self.coverage.tried_through.store(self.last.0, Ordering::Release);
        match made {
            Ok(Some(info)) => {
                tracing::info!(sequence = info.sequence.0, bytes = info.bytes, took = ?started.elapsed(), "snapshot taken");
            }
            Ok(None) => {}
            Err(_) if self.stopping.load(Ordering::Acquire) => {}
            Err(error) => tracing::error!(%error, "no snapshot could be made; trying again after as many commands"),
        }
    }

    /// Does the first half of `step`: makes a replica, if a snapshot is due.
    pub fn replicate(&mut self) -> Result<(), MakeError> {
        let closed = self.coverage.closed_through();
        if closed.0.saturating_sub(self.last.0) >= self.every {
            self.last = closed;
            self.replica = Some(replicate(&self.storage, closed, &self.stopping)?);
        }
        Ok(())
    }

    /// The replica that is not published yet.
    pub fn replica(&self) -> Option<&Engine> {
        self.replica.as_ref().map(|(engine, _)| engine)
    }

    /// Does the second half of `step`: writes the replica's snapshot, if there is a replica, once the history durably
    /// holds everything before it.
    pub fn publish(&mut self) -> Result<Option<SnapshotInfo>, MakeError> {
        let Some((engine, point)) = self.replica.take() else { return Ok(None) };
        if !(self.history)() {
            return Err(MakeError::HistoryBehind);
        }
        let Published { info, state, covered } = write_and_retire(&self.storage, &engine, point)?;
        self.last = info.sequence;
        note_made(&self.metrics, SystemTime::now());
        self.coverage.set_covered_through(covered);
        self.coverage.set_made(state);
        Ok(Some(info))
    }
}

/// The snapshot thread.
pub struct Snapshots {
    stop: Sender<()>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Snapshots {
    /// Starts the thread.
    pub fn start<S: Storage>(mut maker: SnapshotMaker<S>) -> std::io::Result<Snapshots> {
        let (stop, stopped) = channel::<()>();
        let stopping = maker.stopping.clone();
        let thread = std::thread::Builder::new().name("snapshots".to_string()).spawn(move || {
            // The lowest priority, so that snapshots give way to requests.
            let _ = rustix::process::setpriority_process(None, 19);
            maker.look();
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                maker.step();
            }
        })?;
        Ok(Snapshots { stop, stopping, thread })
    }

    /// Gives up an unfinished snapshot.
    pub fn hurry(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Ends the thread.
    pub fn stop(self) {
        self.hurry();
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// The market after the command `up_to`, from the last snapshot and the journal; or the last snapshot's, if that stands
/// behind `up_to`.
fn replicate<S: Storage>(
    storage: &S,
    up_to: Sequence,
    stopping: &AtomicBool,
) -> Result<(Engine, JournalPoint), MakeError> {
    let (newest, _) = recovery::load_newest(storage, None)?;
    let (mut engine, from) = match newest {
        Some((_, engine, point)) => (engine, point),
        None => (Engine::new(recovery::random_seed(), DoneOrders::Drop), JournalPoint::ZERO),
    };
    if from.sequence >= up_to {
        return Ok((engine, from));
    }
    let mut scratch = Vec::new();
    let mut others = BackgroundYield::default();
    let end = journal::read(storage, from, Some(up_to), &mut |entry: Entry| -> Result<(), VisitError> {
        engine.apply_untold(&entry, &mut scratch);
        scratch.clear();
        others.tick();
        if entry.sequence.0.is_multiple_of(4096) && stopping.load(Ordering::Acquire) {
            return Err(Box::new(MakeError::Stopping));
        }
        Ok(())
    });
    match end {
        Ok(end) => Ok((engine, end.point)),
        Err(_) if stopping.load(Ordering::Acquire) => Err(MakeError::Stopping),
        Err(error) => Err(error.into()),
    }
}

/// Writes a snapshot and removes those that it makes needless. The history must durably hold everything before it.
fn write_and_retire<S: Storage>(storage: &S, engine: &Engine, point: JournalPoint) -> Result<Published, SnapshotError> {
    let state = StateAt { sequence: engine.sequence(), hash: engine.state_hash() };
    let info = write(storage, engine, point, state.hash)?;
    Ok(Published { info, state, covered: snapshot::retire(storage, GENERATIONS)? })
}

fn write<S: Storage>(
    storage: &S,
    engine: &Engine,
    point: JournalPoint,
    hash: u64,
) -> Result<SnapshotInfo, SnapshotError> {
    assert!(engine.sequence() == point.sequence, "invariant: a snapshot stands where its engine does");
    snapshot::write(storage, point, hash, &mut |visit| {
        let mut others = BackgroundYield::default();
        engine.export(&mut |item| {
            others.tick();
            visit(item);
        });
    })
}

/// Writes a snapshot like `write_and_retire`, unless a sound one is there already.
pub fn write_if_new<S: Storage>(
    storage: &S,
    engine: &Engine,
    point: JournalPoint,
) -> Result<Option<SnapshotInfo>, SnapshotError> {
    let newest = snapshot::oldest_of(storage, 1)?.unwrap_or(Sequence::ZERO);
    if newest >= point.sequence {
        return Ok(None);
    }
    write_and_retire(storage, engine, point).map(|published| Some(published.info))
}

/// Records in the metrics when the newest snapshot was made.
pub fn note_made(metrics: &Metrics, at: SystemTime) {
    metrics.set(Gauge::SnapshotTime, at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
}

/// The last command that all generations cover; none while there are fewer.
fn covered_through<S: Storage>(storage: &S) -> Result<Option<Sequence>, SnapshotError> {
    snapshot::oldest_of(storage, GENERATIONS)
}
