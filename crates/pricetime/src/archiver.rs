//! The archive's threads: one writes done orders as the sequencer hands them over, one reads them for queries.
//! Neither ever stands in the way of an acknowledgement.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::Sequence;
use gateway::Lookup;
use journal::{Archive, ArchiveBatch, ArchiveError};

use crate::archive_gate::ArchiveGate;

/// Rows written without a sync, and the time since the last one, after which the next write is synced.
const UNSYNCED_ROWS_MAX: usize = 100_000;
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

/// The archive's writing thread.
pub struct Archiver {
    tasks: Sender<Task>,
    progress: Arc<Progress>,
    writer: JoinHandle<()>,
}

/// The sequencer's way to the writing thread.
pub struct Handover {
    tasks: Sender<Task>,
    /// Batches that are stored: the engine may forget them. It ends when the thread has ended.
    pub stored: Receiver<ArchiveBatch>,
}

impl Handover {
    /// Hands over done orders: all up to a sequence that were not handed over before. The batch comes back in `stored`.
    pub fn store(&self, batch: ArchiveBatch, up_to: Sequence) {
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
}

impl SyncHandle {
    /// Waits until every order done at or before `sequence` is durably archived. False if it takes longer than
    /// `patience` or the archive stopped.
    pub fn wait_for(&self, sequence: Sequence, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            if self.progress.reached(sequence, Duration::ZERO) {
                return true;
            }
            // What was done before may not be handed over yet: then a later sync is the one that counts.
            if Instant::now() >= deadline || self.tasks.send(Task::Sync).is_err() {
                return false;
            }
            self.progress.reached(sequence, HANDED_OVER_BY);
        }
    }
}

impl Archiver {
    /// Starts the writing thread. `failed` is told when it has to end: then nothing more may be acknowledged.
    pub fn start(
        archive: Arc<Archive>,
        gate: ArchiveGate,
        failed: impl Fn(WriteError) + Send + 'static,
    ) -> std::io::Result<(Archiver, Handover)> {
        let (tasks, inbox) = channel();
        let (outbox, stored) = channel();
        let progress = Arc::new(Progress { synced: Mutex::new(archive.position()), moved: Condvar::new() });
        let writer =
            Writer { archive, gate, outbox, progress: progress.clone(), unsynced: 0, synced_at: Instant::now() };
        let writer = std::thread::Builder::new().name("archive".to_string()).spawn(move || {
            if let Err(error) = writer.run(&inbox) {
                failed(error);
            }
        })?;
        Ok((Archiver { tasks: tasks.clone(), progress, writer }, Handover { tasks, stored }))
    }

    /// A handle for a thread that needs to know what is durable.
    pub fn sync_handle(&self) -> SyncHandle {
        SyncHandle { tasks: self.tasks.clone(), progress: self.progress.clone() }
    }

    /// Writes and syncs all that was handed over, and ends the thread.
    pub fn stop(self) {
        let _ = self.tasks.send(Task::Stop);
        let _ = self.writer.join();
    }
}

struct Writer {
    archive: Arc<Archive>,
    gate: ArchiveGate,
    outbox: Sender<ArchiveBatch>,
    progress: Arc<Progress>,
    unsynced: usize,
    synced_at: Instant,
}

impl Writer {
    fn run(mut self, inbox: &Receiver<Task>) -> Result<(), WriteError> {
        let mut up_to = self.archive.position();
        loop {
            match inbox.recv_timeout(UNSYNCED_TIME_MAX) {
                Ok(Task::Store { batch, up_to: reached }) => {
                    up_to = reached;
                    self.unsynced = self.unsynced.saturating_add(batch.len());
                    let sync = self.unsynced >= UNSYNCED_ROWS_MAX || self.synced_at.elapsed() >= UNSYNCED_TIME_MAX;
                    if sync || !batch.is_empty() {
                        self.store(&batch, up_to, sync)?;
                    }
                    let _ = self.outbox.send(batch);
                }
                Ok(Task::Sync) => self.store(&ArchiveBatch::new(), up_to, true)?,
                Err(RecvTimeoutError::Timeout) if self.archive.position() < up_to => {
                    self.store(&ArchiveBatch::new(), up_to, true)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Task::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    return self.store(&ArchiveBatch::new(), up_to, true);
                }
            }
        }
    }

    fn store(&mut self, batch: &ArchiveBatch, up_to: Sequence, sync: bool) -> Result<(), WriteError> {
        let _no_backup_copies = self.gate.close().map_err(WriteError::Gate)?;
        self.archive.store(batch, up_to, sync)?;
        if sync {
            (self.unsynced, self.synced_at) = (0, Instant::now());
            self.progress.set(up_to);
        }
        Ok(())
    }
}

/// Starts the thread that reads archived orders for queries. It ends when the sender is dropped. A row that cannot be
/// read is told to `failed` and its query is left unanswered: a wrong answer would be worse.
pub fn start_reader(
    archive: Arc<Archive>,
    failed: impl Fn(ArchiveError) + Send + 'static,
) -> std::io::Result<Sender<Lookup>> {
    let (lookups, inbox) = channel::<Lookup>();
    std::thread::Builder::new().name("archive-reader".to_string()).spawn(move || {
        for lookup in inbox {
            match archive.get(lookup.order()) {
                Ok(done) => lookup.answer(done),
                Err(error) => return failed(error),
            }
        }
    })?;
    Ok(lookups)
}
