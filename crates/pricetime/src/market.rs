//! The running market: the sequencer's thread, with the archive and the snapshots beside it.
//! Gateways hand batches in through the `Exchange` it implements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Engine, Sequence};
use exchange::{Batch, Gauge, Metrics, Stage};
use feed::EventSink;
use journal::{ArchiveBatch, Damages, Journal, JournalError, Storage};

use crate::admission::{Bounds, Conditions};
use crate::answering::AnswerLimits;
use crate::archive_gate::ArchiveGate;
use crate::archive_reader;
use crate::archiver::{Archiver, Handover, Kept};
use crate::exchange_handle::ExchangeHandle;
use crate::inbox::Taken;
use crate::projection::Checkpoint;
use crate::recovery::Recovered;
use crate::sequencer::Sequencer;
use crate::snapshots::{Behind, Landmarks, Snapshots};
use crate::timekeeper::{Clock, Timekeeper};

/// Ops sequenced in one turn at most, give or take a batch: bounds a journal unit and the wait of whoever comes next.
const TURN_OPS_MAX: usize = 1 << 15;
/// Batches in one turn at most: bounds the memory of the answers to queries.
const TURN_BATCHES_MAX: usize = 8;
/// Done orders are handed to the archive when so many wait, or after so long.
const HAND_OVER_ORDERS: usize = 8192;
const HAND_OVER_AFTER: Duration = Duration::from_millis(50);
/// What `MarketOptions::done_orders_max` is, unless a test asks for less.
pub const DONE_ORDERS_MAX: usize = 1 << 20;

/// Settings of the running market.
#[derive(Clone, Debug)]
pub struct MarketOptions {
    /// What answers may take.
    pub limits: AnswerLimits,
    /// Never retire journal files.
    pub keep_journal: bool,
    /// Commands in full journal files after which a snapshot is taken.
    pub snapshot_every: u64,
    /// Free bytes on the disk below which only what frees something is taken.
    pub disk_low_bytes: u64,
    /// Done orders that may wait for the archive before sequencing slows down to it.
    pub done_orders_max: usize,
    /// What clients may have the server keep.
    pub bounds: Bounds,
    /// Where it is written down how long turns take, and how things stand.
    pub metrics: Metrics,
    /// What tells the time.
    pub clock: Clock,
    /// A clock that is further ahead is never followed.
    pub clock_leap_max: Duration,
}

/// Who follows what happens.
pub struct Follower {
    pub events: EventSink,
    pub checkpoint: Checkpoint,
}

/// What ends a server.
pub type Failed = Arc<dyn Fn(String) + Send + Sync>;

/// A market with its threads.
pub struct Market<S: Storage> {
    exchange: Arc<ExchangeHandle>,
    sequencer: JoinHandle<Result<Sequencer<S>, JournalError>>,
    snapshots: Snapshots,
    archiver: Archiver,
    disk: DiskWatch,
}

impl<S: Storage> Market<S> {
    /// Starts the threads on a recovered data folder. `failed` is called when nothing more may be acknowledged.
    pub fn start(
        storage: S,
        recovered: Recovered<S>,
        gate: ArchiveGate,
        options: MarketOptions,
        follower: Option<Follower>,
        failed: Failed,
    ) -> std::io::Result<Market<S>> {
        let Recovered { engine, journal, archive, report } = recovered;
        let kept = Arc::new(Kept::new(archive, gate));
        let write_failed = failed.clone();
        let (archiver, handover) = Archiver::start(kept.clone(), move |error| write_failed(error.to_string()))?;
        let metrics = options.metrics.clone();
        metrics.set(Gauge::DamagedInArchive, 0);
        let damages = Damages::new(move |records| metrics.set(Gauge::DamagedInArchive, records));
        let readers = archive_reader::start(&kept, &damages)?;
        let exchange = Arc::new(ExchangeHandle::new(readers));
        let landmarks = Arc::new(Landmarks::default());
        let disk = DiskWatch::start(storage.clone(), options.disk_low_bytes, options.metrics.clone(), failed.clone())?;
        let last = report.snapshot.map_or(Sequence::ZERO, |info| info.sequence);
        let (events, history) = follower.map(|follower| (follower.events, follower.checkpoint)).unzip();
        let behind = Behind { archive: archiver.sync_handle(), history };
        let snapshots = Snapshots::start(
            storage,
            options.snapshot_every,
            last,
            landmarks.clone(),
            behind,
            options.metrics.clone(),
        )?;
        note_market(&options.metrics, &engine);
        let time = engine.time();
        let run = Run {
            sequencer: Sequencer::new(engine, journal, options.limits),
            exchange: exchange.clone(),
            handover,
            landmarks,
            events,
            metrics: options.metrics,
            timekeeper: Timekeeper::new(options.clock, time, options.clock_leap_max),
            keep_journal: options.keep_journal,
            done_orders_max: options.done_orders_max,
            bounds: options.bounds,
            disk_low: disk.low.clone(),
            in_archive: 0,
            handed_over: Sequence::ZERO,
            handed_over_at: Instant::now(),
            spare: Vec::new(),
        };
        let sequencer = std::thread::Builder::new().name("sequencer".to_string()).spawn(move || {
            let ended = run.run();
            if let Err(error) = &ended {
                failed(error.to_string());
            }
            ended
        })?;
        Ok(Market { exchange, sequencer, snapshots, archiver, disk })
    }

    /// Where gateways hand batches in.
    pub fn exchange(&self) -> Arc<ExchangeHandle> {
        self.exchange.clone()
    }

    /// Answers what was handed in, archives what is done and ends the threads. Gives what is left: all of it is on the
    /// disk. Errors: the journal's.
    pub fn stop(self) -> Result<(Engine, Journal<S>), JournalError> {
        // Neither a backup nor a snapshot that is being made holds up the rest.
        self.archiver.hurry();
        self.snapshots.hurry();
        self.exchange.inbox.close();
        let sequencer = match self.sequencer.join() {
            Ok(ended) => ended?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        self.archiver.stop();
        self.disk.stop();
        self.snapshots.stop();
        Ok(sequencer.into_parts())
    }
}

/// The sequencer's thread.
struct Run<S: Storage> {
    sequencer: Sequencer<S>,
    exchange: Arc<ExchangeHandle>,
    handover: Handover,
    landmarks: Arc<Landmarks>,
    events: Option<EventSink>,
    metrics: Metrics,
    timekeeper: Timekeeper,
    keep_journal: bool,
    done_orders_max: usize,
    bounds: Bounds,
    disk_low: Arc<AtomicBool>,
    /// Batches of done orders on their way to the archive.
    in_archive: usize,
    /// All that was done up to here is handed over.
    handed_over: Sequence,
    handed_over_at: Instant,
    spare: Vec<ArchiveBatch>,
}

impl<S: Storage> Run<S> {
    fn run(mut self) -> Result<Sequencer<S>, JournalError> {
        let mut batches = Vec::new();
        let mut marked = true;
        loop {
            // An idle market has its journal marked and nothing on its way to the archive, and then sleeps for good.
            let idle = marked && self.in_archive == 0;
            match self.exchange.inbox.take(&mut batches, (!idle).then_some(HAND_OVER_AFTER)) {
                Taken::Batches => {
                    marked = false;
                    let disk_low = self.disk_low.load(Ordering::Relaxed);
                    let conditions = Conditions { disk_low, bounds: self.bounds };
                    self.answer(&mut batches, conditions)?;
                    self.forget_stored();
                    let waiting = self.sequencer.engine().done_order_count();
                    if waiting >= HAND_OVER_ORDERS || self.handed_over_at.elapsed() >= HAND_OVER_AFTER {
                        self.hand_over()?;
                    }
                }
                Taken::Nothing => {
                    self.forget_stored();
                    self.hand_over()?;
                    self.sequencer.mark()?;
                    marked = true;
                }
                Taken::Closed => {
                    self.hand_over()?;
                    self.sequencer.mark()?;
                    while self.in_archive > 0 && self.forget_one() {}
                    return Ok(self.sequencer);
                }
            }
        }
    }

    /// Takes the batches through the sequencer, a bounded number of ops a turn, and gives them back.
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    fn answer(&mut self, batches: &mut Vec<Box<Batch>>, conditions: Conditions) -> Result<(), JournalError> {
        while !batches.is_empty() {
            let mut ops = 0;
            let cut = batches.iter().position(|batch| {
                ops += batch.requests.ops().len();
                ops > TURN_OPS_MAX
            });
            let turn = cut.map_or(batches.len(), |cut| cut.max(1)).min(TURN_BATCHES_MAX);
            let begun = Instant::now();
            let mut synced = begun;
            let journaled = || synced = Instant::now();
            let time = self.timekeeper.now(self.sequencer.engine().time());
            match &self.events {
                Some(sink) => {
                    let mut events = sink.batch();
                    self.sequencer.turn(
                        &mut batches[..turn],
                        time,
                        conditions,
                        journaled,
                        &mut |sequence, event| {
                            events.add(sequence, event);
                        },
                    )?;
                    // Before the replies leave: whoever has read one sees all that it tells of.
                    let engine = self.sequencer.engine();
                    events.seal(engine.sequence(), engine.time());
                    sink.push(events);
                }
                None => self.sequencer.turn(&mut batches[..turn], time, conditions, journaled, &mut |_, _| {})?,
            }
            self.note_turn(&batches[..turn], [begun, synced, Instant::now()]);
            self.metrics.turned(ops_of(&batches[..turn]), ops_of(batches));
            for batch in batches.drain(..turn) {
                batch.give_back();
            }
        }
        Ok(())
    }

    /// Writes down a turn that began, had journaled and had applied at these times.
    fn note_turn(&self, batches: &[Box<Batch>], [begun, journaled, applied]: [Instant; 3]) {
        batches.iter().for_each(|batch| self.metrics.taken(batch, begun));
        let requests = batches.iter().map(|batch| batch.requests.len()).sum();
        self.metrics.spent(Stage::Journal, requests, journaled - begun);
        self.metrics.spent(Stage::Apply, requests, applied - journaled);
        if let Some(time) = self.sequencer.sync_time() {
            self.metrics.kept(time);
        }
        note_market(&self.metrics, self.sequencer.engine());
        self.metrics.set(Gauge::ClockLeapMicros, self.timekeeper.leap_us());
    }

    /// Hands done orders to the archive, and what became of journal files to the snapshots.
    fn hand_over(&mut self) -> Result<(), JournalError> {
        self.handed_over_at = Instant::now();
        if self.handed_over < self.sequencer.engine().sequence() {
            let mut batch = self.spare.pop().unwrap_or_default();
            self.handed_over = self.sequencer.take_done(&mut batch);
            self.handover.store(batch, self.handed_over);
            self.in_archive += 1;
        }
        while self.sequencer.engine().done_order_count() > self.done_orders_max && self.forget_one() {}
        self.landmarks.set_closed_through(self.sequencer.closed_through());
        if !self.keep_journal {
            self.sequencer.retire_journal(self.landmarks.covered_through())?;
        }
        Ok(())
    }

    fn forget_stored(&mut self) {
        while let Ok(batch) = self.handover.stored.try_recv() {
            self.forget(batch);
        }
    }

    /// Waits for the archive. False when it has ended: then somebody is told already.
    fn forget_one(&mut self) -> bool {
        match self.handover.stored.recv() {
            Ok(batch) => {
                self.forget(batch);
                true
            }
            Err(_) => false,
        }
    }

    fn forget(&mut self, batch: ArchiveBatch) {
        self.sequencer.forget(&batch);
        self.in_archive -= 1;
        self.spare.push(batch);
    }
}

fn ops_of(batches: &[Box<Batch>]) -> usize {
    batches.iter().map(|batch| batch.requests.ops().len()).sum()
}

/// Writes down how the market stands.
pub(crate) fn note_market(metrics: &Metrics, engine: &Engine) {
    metrics.set(Gauge::Commands, engine.sequence().0);
    metrics.set(Gauge::Accounts, engine.account_count() as u64);
    metrics.set(Gauge::Symbols, engine.symbol_count() as u64);
    metrics.set(Gauge::OpenOrders, engine.open_order_count() as u64);
    metrics.set(Gauge::MarketTime, engine.time().0);
}

/// Looks twice a second how much of the disk is free, and whether all that we put there still is.
struct DiskWatch {
    low: Arc<AtomicBool>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl DiskWatch {
    fn start<S: Storage>(storage: S, low_bytes: u64, metrics: Metrics, failed: Failed) -> std::io::Result<DiskWatch> {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let low = Arc::new(AtomicBool::new(is_low(&storage, low_bytes, &metrics)));
        let shared = low.clone();
        let thread = std::thread::Builder::new().name("disk-watch".to_string()).spawn(move || {
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(Duration::from_millis(500))
            {
                if let Some(displaced) = storage.displaced() {
                    return failed(format!(
                        "{displaced}: it was removed, moved or replaced while the server ran; restore it from a backup \
                         (docs/JOURNAL.md, recovering by hand)"
                    ));
                }
                let is_low = is_low(&storage, low_bytes, &metrics);
                if shared.swap(is_low, Ordering::Relaxed) != is_low {
                    match is_low {
                        true => tracing::error!("the disk is nearly full: new orders and accounts are refused"),
                        false => tracing::info!("the disk has room again: orders and accounts are taken"),
                    }
                }
            }
        })?;
        Ok(DiskWatch { low, stop, thread })
    }

    fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

/// A disk that cannot be asked counts as full.
fn is_low<S: Storage>(storage: &S, low_bytes: u64, metrics: &Metrics) -> bool {
    let free = storage.free_bytes();
    if let Ok(free) = free {
        metrics.set(Gauge::DataFreeBytes, free);
    }
    low_bytes > 0 && !free.is_ok_and(|free| free >= low_bytes)
}
