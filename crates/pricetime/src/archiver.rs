//! The archive's writing thread: it stores done orders as the sequencer hands them over, and never stands in the way of an
//! acknowledgement.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::Sequence;
use journal::{Archive, ArchiveBatch, ArchiveError};

use crate::archive_gate::ArchiveGate;

/// Rows written without a sync, and the time since the last one, after which the next write is synced.
pub const UNSYNCED_ROWS_MAX: usize = 100_000;
const UNSYNCED_TIME_MAX: Duration = Duration::from_secs(2);

/// Why the archive cannot be written any more.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("the lock between the archive's writer and backups: {0}")]
    Gate(std::io::Error),
}

/// The sequencer hands over what is done at least this often.
const HANDED_OVER_BY: Duration = Duration::from_millis(200);

/// What the writing thread is asked.
enum Task {
    Store { batch: ArchiveBatch, up_to: Sequence },
    Sync,
    Stop,
}

/// Done orders that may wait in memory for a backup.
const WAITING_FOR_BACKUP_MAX: usize = 1 << 17;

/// The archive's writing thread.
pub struct Archiver {
    tasks: Sender<Task>,
    progress: Arc<Progress>,
    pressure: Arc<Pressure>,
    writer: JoinHandle<()>,
}

/// The archive and its gate, in the order in which they end: what the archive writes when it is closed is behind the gate, too.
pub struct Kept {
    archive: Archive,
    gate: Mutex<ArchiveGate>,
}

impl Kept {
    pub fn new(archive: Archive, gate: ArchiveGate) -> Kept {
        Kept { archive, gate: Mutex::new(gate) }
    }

    /// To read in.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

/// What keeps the writer from waiting for a backup.
#[derive(Default)]
struct Pressure {
    /// Done orders handed over and not stored yet.
    waiting: AtomicUsize,
    stopping: AtomicBool,
}

impl Pressure {
    fn is_urgent(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.waiting.load(Ordering::Relaxed) >= WAITING_FOR_BACKUP_MAX
    }
}

/// The sequencer's way to the writing thread.
pub struct Handover {
    tasks: Sender<Task>,
    pressure: Arc<Pressure>,
    /// Batches that are stored: the engine may forget them. It ends when the thread has ended.
    pub stored: Receiver<ArchiveBatch>,
}

impl Handover {
    /// Hands over done orders: all up to a sequence that were not handed over before. The batch comes back in `stored`.
    pub fn store(&self, batch: ArchiveBatch, up_to: Sequence) {
        self.pressure.waiting.fetch_add(batch.len(), Ordering::Relaxed);
        // A failed writer has already said so to whoever stops the server.
        let _ = self.tasks.send(Task::Store { batch, up_to });
    }
}

/// Up to where the archive holds every done order, on the disk.
pub struct Progress {
    synced: Mutex<Sequence>,
    moved: Condvar,
}

impl Progress {
    fn set(&self, sequence: Sequence) {
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner) = sequence;
        self.moved.notify_all();
    }

    fn reached(&self, sequence: Sequence, patience: Duration) -> bool {
        let synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.moved.wait_timeout_while(synced, patience, |synced| *synced < sequence);
        let (synced, _) = wait.unwrap_or_else(PoisonError::into_inner);
        *synced >= sequence
    }
}

/// Asks for syncs and waits for them, from another thread.
#[derive(Clone)]
pub struct SyncHandle {
    tasks: Sender<Task>,
    progress: Arc<Progress>,
    pressure: Arc<Pressure>,
}

impl SyncHandle {
    /// Waits until every order done at or before `sequence` is durably archived. False if it takes longer than
    /// `patience`, or the archive stops.
    pub fn wait_for(&self, sequence: Sequence, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            if self.progress.reached(sequence, Duration::ZERO) {
                return true;
            }
            // What was done before may not be handed over yet: then a later sync is the one that counts.
            let given_up = Instant::now() >= deadline || self.pressure.stopping.load(Ordering::Acquire);
            if given_up || self.tasks.send(Task::Sync).is_err() {
                return false;
            }
            self.progress.reached(sequence, HANDED_OVER_BY);
        }
    }
}

impl Archiver {
    /// Starts the writing thread. `failed` is told when it has to end: then nothing more may be acknowledged.
    pub fn start(
        kept: Arc<Kept>,
        failed: impl Fn(WriteError) + Send + 'static,
    ) -> std::io::Result<(Archiver, Handover)> {
        let (tasks, inbox) = channel();
        let (outbox, stored) = channel();
        let progress = Arc::new(Progress { synced: Mutex::new(kept.archive.position()), moved: Condvar::new() });
        let pressure = Arc::new(Pressure::default());
        let writer = Writer {
            kept,
            outbox,
            progress: progress.clone(),
            pressure: pressure.clone(),
            unsynced: 0,
            synced_at: Instant::now(),
        };
        let writer = std::thread::Builder::new().name("archive".to_string()).spawn(move || {
            if let Err(error) = writer.run(&inbox) {
                failed(error);
            }
        })?;
        let handover = Handover { tasks: tasks.clone(), pressure: pressure.clone(), stored };
        Ok((Archiver { tasks, progress, pressure, writer }, handover))
    }

    /// A handle for a thread that needs to know what is durable.
    pub fn sync_handle(&self) -> SyncHandle {
        let Archiver { tasks, progress, pressure, .. } = self;
        SyncHandle { tasks: tasks.clone(), progress: progress.clone(), pressure: pressure.clone() }
    }

    /// From now on no backup is waited for: the server stops.
    pub fn hurry(&self) {
        self.pressure.stopping.store(true, Ordering::Release);
    }

    /// Writes and syncs all that was handed over, and ends the thread.
    pub fn stop(self) {
        self.hurry();
        let _ = self.tasks.send(Task::Stop);
        let _ = self.writer.join();
    }
}

struct Writer {
    kept: Arc<Kept>,
    outbox: Sender<ArchiveBatch>,
    progress: Arc<Progress>,
    pressure: Arc<Pressure>,
    unsynced: usize,
    synced_at: Instant,
}

impl Writer {
    fn run(mut self, inbox: &Receiver<Task>) -> Result<(), WriteError> {
        self.open_gate()?;
        let mut up_to = self.kept.archive.position();
        loop {
            match inbox.recv_timeout(UNSYNCED_TIME_MAX) {
                Ok(Task::Store { batch, up_to: reached }) => {
                    up_to = reached;
                    self.unsynced = self.unsynced.saturating_add(batch.len());
                    let sync = self.unsynced >= UNSYNCED_ROWS_MAX || self.synced_at.elapsed() >= UNSYNCED_TIME_MAX;
                    if sync || !batch.is_empty() {
                        self.store(&batch, up_to, sync)?;
                    }
                    self.pressure.waiting.fetch_sub(batch.len(), Ordering::Relaxed);
                    let _ = self.outbox.send(batch);
                }
                Ok(Task::Sync) => self.store(&ArchiveBatch::new(), up_to, true)?,
                Err(RecvTimeoutError::Timeout) if self.kept.archive.position() < up_to => {
                    self.store(&ArchiveBatch::new(), up_to, true)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Task::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    // From here on the gate stays closed: closing the archive writes to it once more.
                    return self.write(&ArchiveBatch::new(), up_to, true);
                }
            }
        }
    }

    fn store(&mut self, batch: &ArchiveBatch, up_to: Sequence, sync: bool) -> Result<(), WriteError> {
        self.write(batch, up_to, sync)?;
        self.open_gate()
    }

    /// Writes behind a closed gate, and leaves it closed.
    fn write(&mut self, batch: &ArchiveBatch, up_to: Sequence, sync: bool) -> Result<(), WriteError> {
        self.gate().close(|| self.pressure.is_urgent()).map_err(WriteError::Gate)?;
        self.kept.archive.store(batch, up_to, sync)?;
        if sync {
            (self.unsynced, self.synced_at) = (0, Instant::now());
            self.progress.set(up_to);
        }
        Ok(())
    }

    fn open_gate(&self) -> Result<(), WriteError> {
        self.gate().open().map_err(WriteError::Gate)
    }

    fn gate(&self) -> MutexGuard<'_, ArchiveGate> {
        self.kept.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
