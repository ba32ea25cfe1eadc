//! Snapshots of the market, made by a background replica: it loads the last snapshot, replays the full journal files
//! behind it and writes the next one. The engine never stalls for it, and the journal is proven to replay all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{DoneOrders, Engine, Entry, Sequence};
use exchange::{Gauge, Metrics};
use journal::{JournalError, JournalPoint, SnapshotError, SnapshotInfo, Storage, VisitError, snapshot};

use crate::archiver::SyncHandle;
use crate::give_way::GiveWay;
use crate::projection::Checkpoint;
use crate::recovery::{self, RecoveryError};

/// Generations of snapshots that are kept: should the newest be damaged, the one before it and the journal since do.
pub const GENERATIONS: usize = 2;
/// A replica answers no queries: it needs no archive.
pub const ANY: Sequence = Sequence(u64::MAX);
/// How long a finished replica waits for the archive before it gives up this snapshot.
const ARCHIVE_PATIENCE: Duration = Duration::from_secs(60);

/// What the sequencer and the snapshot thread tell each other.
#[derive(Default)]
pub struct Landmarks {
    /// The last command in a full journal file.
    closed_through: AtomicU64,
    /// Commands up to here are covered by every generation of snapshots and by the archive.
    covered_through: AtomicU64,
    /// Set to end the thread.
    stopping: AtomicBool,
}

impl Landmarks {
    /// Noted by the sequencer when a journal file is full.
    pub fn set_closed_through(&self, sequence: Sequence) {
        self.closed_through.store(sequence.0, Ordering::Release);
    }

    /// Noted when snapshots were looked at. What was covered once stays so.
    fn set_covered_through(&self, covered: Option<Sequence>) {
        self.covered_through.fetch_max(covered.map_or(0, |covered| covered.0), Ordering::AcqRel);
    }

    /// Journal files up to here can be retired.
    pub fn covered_through(&self) -> Sequence {
        Sequence(self.covered_through.load(Ordering::Acquire))
    }
}

/// Why no snapshot could be made. The server goes on: it only needs longer to start the next time.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("the archive did not sync in {0:?}")]
    ArchiveBehind(Duration),
    #[error("the history did not sync")]
    HistoryBehind,
    #[error("the server stops")]
    Stopping,
}

/// Who has to hold durably what a snapshot leaves out, before there is one.
pub struct Behind {
    pub archive: SyncHandle,
    pub history: Option<Checkpoint>,
}

/// A snapshot that was written.
pub struct Published {
    pub info: SnapshotInfo,
    /// What `covered_through` says with it.
    pub covered: Option<Sequence>,
}

/// The snapshot thread.
pub struct Snapshots {
    stop: Sender<()>,
    landmarks: Arc<Landmarks>,
    thread: JoinHandle<()>,
}

impl Snapshots {
    /// Starts the thread: a snapshot whenever `every` commands stand in full journal files since the last one.
    pub fn start<S: Storage>(
        storage: S,
        every: u64,
        last: Sequence,
        landmarks: Arc<Landmarks>,
        behind: Behind,
        metrics: Metrics,
    ) -> std::io::Result<Snapshots> {
        let (stop, stopped) = channel();
        let shared = landmarks.clone();
        let thread = std::thread::Builder::new()
            .name("snapshots".to_string())
            .spawn(move || run(&storage, every, last, &shared, &behind, &metrics, &stopped))?;
        Ok(Snapshots { stop, landmarks, thread })
    }

    /// A snapshot that is being made is given up.
    pub fn hurry(&self) {
        self.landmarks.stopping.store(true, Ordering::Release);
    }

    /// Ends the thread.
    pub fn stop(self) {
        self.hurry();
        drop(self.stop);
        let _ = self.thread.join();
    }
}

fn run<S: Storage>(
    storage: &S,
    every: u64,
    mut last: Sequence,
    landmarks: &Landmarks,
    behind: &Behind,
    metrics: &Metrics,
    stopped: &Receiver<()>,
) {
    // Snapshots give way to requests.
    let _ = rustix::process::setpriority_process(None, 19);
    match covered_through(storage) {
        Ok(covered) => landmarks.set_covered_through(covered),
        Err(error) => tracing::error!(%error, "the journal is kept until the next snapshot"),
    }
    loop {
        match stopped.recv_timeout(Duration::from_millis(200)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let closed = Sequence(landmarks.closed_through.load(Ordering::Acquire));
        if closed.0.saturating_sub(last.0) < every {
            continue;
        }
        let started = Instant::now();
        let replicated = replicate(storage, closed, &landmarks.stopping);
        match replicated.and_then(|(engine, point)| publish(storage, &engine, point, behind)) {
            Ok(Published { info, covered }) => {
                last = info.sequence;
                note_made(metrics, SystemTime::now());
                tracing::info!(sequence = last.0, bytes = info.bytes, took = ?started.elapsed(), "snapshot taken");
                landmarks.set_covered_through(covered);
            }
            Err(_) if landmarks.stopping.load(Ordering::Acquire) => return,
            Err(error) => {
                tracing::error!(%error, "no snapshot could be made; trying again after as many commands");
                last = closed;
            }
        }
    }
}

/// The market as it was when the command `up_to` had been applied, from the last snapshot and the journal; or as the last
/// snapshot has it, if that stands behind `up_to`.
pub fn replicate<S: Storage>(
    storage: &S,
    up_to: Sequence,
    stopping: &AtomicBool,
) -> Result<(Engine, JournalPoint), MakeError> {
    let (newest, _) = recovery::load_newest(storage, DoneOrders::Drop, ANY)?;
    let (mut engine, from) = match newest {
        Some((_, engine, point)) => (engine, point),
        None => (Engine::new(recovery::random_seed(), DoneOrders::Drop), JournalPoint::ZERO),
    };
    if from.sequence >= up_to {
        return Ok((engine, from));
    }
    let mut scratch = Vec::new();
    let mut give_way = GiveWay::default();
    let end = journal::read(storage, from, Some(up_to), &mut |entry: Entry| -> Result<(), VisitError> {
        engine.apply(&entry, &mut scratch, &mut |_| {});
        scratch.clear();
        give_way.tick();
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

/// Writes a snapshot once the archive durably holds every order that was done before it, and the history all that
/// happened.
pub fn publish<S: Storage>(
    storage: &S,
    engine: &Engine,
    point: JournalPoint,
    behind: &Behind,
) -> Result<Published, MakeError> {
    if !behind.archive.wait_for(point.sequence, ARCHIVE_PATIENCE) {
        return Err(MakeError::ArchiveBehind(ARCHIVE_PATIENCE));
    }
    if behind.history.as_ref().is_some_and(|checkpoint| !checkpoint()) {
        return Err(MakeError::HistoryBehind);
    }
    Ok(write_and_retire(storage, engine, point)?)
}

/// Writes a snapshot and removes those that it makes needless. The archive must durably hold every order that was done
/// before it.
pub fn write_and_retire<S: Storage>(
    storage: &S,
    engine: &Engine,
    point: JournalPoint,
) -> Result<Published, SnapshotError> {
    let info = write(storage, engine, point)?;
    Ok(Published { info, covered: snapshot::retire(storage, GENERATIONS)? })
}

fn write<S: Storage>(storage: &S, engine: &Engine, point: JournalPoint) -> Result<SnapshotInfo, SnapshotError> {
    assert!(engine.sequence() == point.sequence, "invariant: a snapshot stands where its engine does");
    snapshot::write(storage, point, engine.state_hash(), &mut |visit| {
        let mut give_way = GiveWay::default();
        engine.export(&mut |item| {
            give_way.tick();
            visit(item);
        });
    })
}

/// Writes a snapshot, as `write_and_retire` does, unless a sound one stands there already.
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

/// Writes down when the newest snapshot was made.
pub fn note_made(metrics: &Metrics, at: SystemTime) {
    metrics.set(Gauge::SnapshotTime, at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
}

/// With all generations there, the journal up to the oldest of them is covered.
pub fn covered_through<S: Storage>(storage: &S) -> Result<Option<Sequence>, SnapshotError> {
    snapshot::oldest_of(storage, GENERATIONS)
}
