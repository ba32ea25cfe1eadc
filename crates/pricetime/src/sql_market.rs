//! The market whose record is PostgreSQL: a reply leaves when the rows of what it says are committed.
//!
//! One thread orders and applies what gateways hand in, at once; another commits what came of it. While one transaction
//! is on its way, all that is applied meanwhile gathers for the next. No reply leaves before its transaction, and those
//! of queries wait with them: nobody is told what SQL does not show. Where nothing but queries gathered, the database says
//! instead that no other server has taken over since: so an answer to a query is as true as a commit.
//!
//! While the database is away what is applied waits, for a while: then its connections are closed, since nobody knows
//! what will become of it, and what comes is refused. When it is back, what was applied is committed first.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Engine, OrderId};
use exchange::{Batch, Gauge, Metrics, Stage, State, Status, Unavailable};
use feed::{EventBatch, EventSink};
use store::{Effects, Probe, Stop, StoreError, Writer};

use crate::admission::{Admission, Bounds, Conditions};
use crate::answering::{AnswerLimits, answer};
use crate::exchange_handle::{ExchangeHandle, Readers};
use crate::inbox::Taken;
use crate::market::{Failed, note_market};
use crate::timekeeper::{Clock, Timekeeper};

/// Ops gathered for one transaction at most, give or take a batch: past it sequencing waits for the database.
const GATHERED_OPS_MAX: usize = 1 << 14;
/// How often the sequencer looks up while something is on its way to the database.
const GLANCE: Duration = Duration::from_millis(50);
/// With nothing to answer the database is asked so often whether it is there: `/ready` tells.
const PROBE_EVERY: Duration = Duration::from_secs(2);

/// Settings of the running market.
pub struct SqlOptions {
    /// What answers may take.
    pub limits: AnswerLimits,
    /// How long requests wait for a database that is away.
    pub patience: Duration,
    /// Where events go once they are committed.
    pub events: Option<EventSink>,
    /// Where it is written down how long turns and commits take, and how things stand.
    pub metrics: Metrics,
    /// What tells the time.
    pub clock: Clock,
    /// A clock that is further ahead is never followed.
    pub clock_leap_max: Duration,
    /// What clients may have the server keep.
    pub bounds: Bounds,
}

/// A market with its threads.
pub struct SqlMarket {
    exchange: Arc<ExchangeHandle>,
    between: Arc<Between>,
    stop: Stop,
    sequencer: JoinHandle<Engine>,
    committer: JoinHandle<()>,
}

impl SqlMarket {
    /// Starts the threads on an engine that stands where the database does, beside those that read done orders. `stop` ends the writer's waits. `failed` is
    /// called when nothing more may be acknowledged; `status` says whether the database can be reached.
    pub fn start(
        engine: Engine,
        writer: Writer,
        readers: Readers,
        stop: Stop,
        options: SqlOptions,
        status: Status,
        failed: Failed,
    ) -> std::io::Result<SqlMarket> {
        let effects = Effects::after(writer.head());
        let gathered = Group { effects, waiting: Waiting::default(), ops: 0 };
        let shared = Shared { gathered, committing: None, away: false, closed: false };
        let between = Arc::new(Between {
            state: Mutex::new(shared),
            changed: Condvar::new(),
            patience: options.patience,
            status,
        });
        let exchange = Arc::new(ExchangeHandle::new(readers));
        let (outbox, committed) = channel();
        note_market(&options.metrics, &engine);
        let (events, metrics) = (options.events.clone(), options.metrics.clone());
        let committer = Committer { writer, between: between.clone(), outbox, events, metrics };
        let committer =
            std::thread::Builder::new().name("committer".to_string()).spawn(move || match committer.run() {
                Ok(()) => {}
                Err(StoreError::Stopped) => {
                    tracing::error!("stopped without the database: what waited for it may be lost")
                }
                Err(error) => failed(error.to_string()),
            })?;
        let time = engine.time();
        let run = Run {
            engine,
            exchange: exchange.clone(),
            between: between.clone(),
            committed,
            events: options.events,
            metrics: options.metrics,
            timekeeper: Timekeeper::new(options.clock, time, options.clock_leap_max),
            limits: options.limits,
            admission: Admission::default(),
            // The disk is the database's.
            conditions: Conditions { disk_low: false, bounds: options.bounds },
        };
        let sequencer = std::thread::Builder::new().name("sequencer".to_string()).spawn(move || run.run())?;
        Ok(SqlMarket { exchange, between, stop, sequencer, committer })
    }

    /// Where gateways hand batches in.
    pub fn exchange(&self) -> Arc<ExchangeHandle> {
        self.exchange.clone()
    }

    /// Commits and answers what was handed in, and ends the threads. Gives what is left.
    pub fn stop(self) -> Engine {
        self.exchange.inbox.close();
        let engine = self.sequencer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        while !self.committer.is_finished() {
            if self.between.is_away(&self.between.lock()) {
                self.stop.tell();
            }
            std::thread::sleep(GLANCE);
        }
        self.committer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        engine
    }
}

/// What lies between the two threads.
struct Between {
    state: Mutex<Shared>,
    changed: Condvar,
    patience: Duration,
    status: Status,
}

struct Shared {
    /// What is applied and not on its way to the database.
    gathered: Group,
    /// What is on its way, and since when.
    committing: Option<Committing>,
    /// Nobody waits for the database any more.
    away: bool,
    /// Nothing more will be gathered.
    closed: bool,
}

/// What one transaction commits, and what waits for it.
struct Group {
    effects: Effects,
    waiting: Waiting,
    ops: usize,
}

#[derive(Default)]
struct Waiting {
    /// Not to be answered before.
    batches: Vec<Applied>,
    /// Orders that the engine may forget then, for SQL answers for them.
    done: Vec<OrderId>,
    /// What whoever follows is told then.
    events: Vec<EventBatch>,
}

/// A batch, and when it was applied.
struct Applied {
    batch: Box<Batch>,
    at: Instant,
    /// Whether it is of queries alone.
    unchanging: bool,
}

impl Applied {
    /// Ends the wait for a database that is away. What a command came to nobody knows yet, so that any reply would be a
    /// guess; a query changed nothing and can be refused.
    fn let_go(self) {
        match self.unchanging {
            true => self.batch.refuse(Unavailable::StoreAway),
            false => self.batch.abandon(),
        }
    }
}

struct Committing {
    waiting: Waiting,
    since: Instant,
}

/// What the committer does next.
enum Next {
    /// Commit what was gathered: so many ops.
    Commit { ops: usize },
    /// See whether the database is there: nothing was to be answered for a while.
    Probe,
    /// Nothing will come.
    End,
}

impl Shared {
    /// Nothing is on its way any more. Gives those who waited for what was.
    fn take_back(&mut self) -> Waiting {
        self.committing.take().map(|committing| committing.waiting).unwrap_or_default()
    }
}

impl Between {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a transaction has been on its way for longer than anybody is to wait.
    fn is_away(&self, shared: &Shared) -> bool {
        shared.committing.as_ref().is_some_and(|committing| committing.since.elapsed() >= self.patience)
    }

    /// What is gathered, once there is room in it; none when the database is away.
    fn room(&self) -> Option<MutexGuard<'_, Shared>> {
        let mut shared = self.lock();
        while !self.is_away(&shared) {
            if shared.gathered.ops < GATHERED_OPS_MAX {
                return Some(shared);
            }
            shared = self.changed.wait_timeout(shared, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }

    /// Lets go of those who wait for a database that is away: connections with commands are closed, queries are refused.
    /// Returns whether there is anything that waits for the database.
    fn look_after(&self) -> bool {
        let mut shared = self.lock();
        let busy = shared.committing.is_some() || shared.gathered.ops > 0;
        if !self.is_away(&shared) {
            return busy;
        }
        shared.away = true;
        let mut batches = std::mem::take(&mut shared.gathered.waiting.batches);
        if let Some(committing) = &mut shared.committing {
            batches.append(&mut committing.waiting.batches);
        }
        drop(shared);
        self.status.replace(&State::Ready, State::StoreAway);
        // A worker gets its batches in the order in which it gave them, whichever way round they come.
        batches.into_iter().for_each(Applied::let_go);
        busy
    }

    /// Waits for something to commit and takes it, leaving `spare` to gather in.
    fn take(&self, spare: &mut Effects) -> Next {
        let until = Instant::now() + PROBE_EVERY;
        let mut shared = self.lock();
        while shared.gathered.ops == 0 {
            if shared.closed {
                return Next::End;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // A question is waited for no longer than a commit.
                shared.committing = Some(Committing { waiting: Waiting::default(), since: Instant::now() });
                return Next::Probe;
            }
            shared = self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Group { effects, waiting, ops } = &mut shared.gathered;
        std::mem::swap(effects, spare);
        effects.follow(spare);
        *ops = 0;
        let waiting = std::mem::take(waiting);
        let ops = waiting.batches.iter().map(|applied| applied.batch.requests.ops().len()).sum();
        shared.committing = Some(Committing { waiting, since: Instant::now() });
        drop(shared);
        self.changed.notify_all();
        Next::Commit { ops }
    }

    /// The database does not answer, though nothing waits for it.
    fn missed(&self, fault: &str) {
        let mut shared = self.lock();
        shared.committing = None;
        if !std::mem::replace(&mut shared.away, true) {
            tracing::warn!(fault, "the database does not answer");
        }
        drop(shared);
        self.status.replace(&State::Ready, State::StoreAway);
    }

    /// What is on its way has arrived. Gives those who waited for it.
    fn arrived(&self) -> Waiting {
        let mut shared = self.lock();
        if std::mem::take(&mut shared.away) {
            tracing::info!("the database answers again");
            self.status.replace(&State::StoreAway, State::Ready);
        }
        shared.take_back()
    }
}

/// The committing thread.
struct Committer {
    writer: Writer,
    between: Arc<Between>,
    outbox: Sender<Vec<OrderId>>,
    events: Option<EventSink>,
    metrics: Metrics,
}

impl Committer {
    fn run(mut self) -> Result<(), StoreError> {
        let mut effects = Effects::after(self.writer.head());
        loop {
            match self.between.take(&mut effects) {
                Next::Commit { ops } => self.commit(&effects, ops)?,
                Next::Probe => self.probe()?,
                Next::End => return Ok(()),
            }
        }
    }

    fn commit(&mut self, effects: &Effects, ops: usize) -> Result<(), StoreError> {
        if ops > 0 {
            self.metrics.turned(ops, usize::try_from(self.metrics.ops_in_flight()).unwrap_or(usize::MAX));
        }
        if effects.is_empty() {
            // An answer to a query leaves when the market was seen to be ours after the query was handed in.
            match self.writer.confirm() {
                Err(StoreError::Stopped) => {
                    // Nothing is lost.
                    self.between.lock().take_back().batches.into_iter().for_each(Applied::let_go);
                    return Ok(());
                }
                confirmed => confirmed?,
            }
        } else {
            let begun = Instant::now();
            self.writer.commit(effects)?;
            self.metrics.kept(begun.elapsed());
        }
        let committed = Instant::now();
        let waiting = self.between.arrived();
        if let Some(events) = &self.events {
            waiting.events.into_iter().for_each(|batch| events.push(batch));
        }
        for Applied { batch, at, .. } in waiting.batches {
            self.metrics.spent(Stage::Commit, batch.requests.len(), committed - at);
            batch.give_back();
        }
        // When the sequencer has ended nothing is left to forget.
        let _ = self.outbox.send(waiting.done);
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        match self.writer.probe() {
            Ok(Probe::Answered) => drop(self.between.arrived()),
            Ok(Probe::Missed { fault }) => self.between.missed(&fault),
            // With nothing to commit nothing is lost.
            Err(StoreError::Stopped) => self.between.missed("told to stop"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The sequencer's thread.
struct Run {
    engine: Engine,
    exchange: Arc<ExchangeHandle>,
    between: Arc<Between>,
    committed: Receiver<Vec<OrderId>>,
    events: Option<EventSink>,
    metrics: Metrics,
    timekeeper: Timekeeper,
    limits: AnswerLimits,
    admission: Admission,
    conditions: Conditions,
}

impl Run {
    fn run(mut self) -> Engine {
        let mut batches = Vec::new();
        let mut busy = false;
        loop {
            match self.exchange.inbox.take(&mut batches, busy.then_some(GLANCE)) {
                Taken::Batches => batches.drain(..).for_each(|batch| self.apply(batch)),
                Taken::Nothing => {}
                Taken::Closed => {
                    self.between.lock().closed = true;
                    self.between.changed.notify_all();
                    return self.engine;
                }
            }
            busy = self.between.look_after();
            while let Ok(done) = self.committed.try_recv() {
                self.engine.forget_all(done.into_iter());
            }
        }
    }

    /// Applies a batch and leaves it to the committer; refuses it when the database is away.
    fn apply(&mut self, mut batch: Box<Batch>) {
        let Some(mut shared) = self.between.room() else { return batch.refuse(Unavailable::StoreAway) };
        let Group { effects, waiting, ops } = &mut shared.gathered;
        let begun = Instant::now();
        self.metrics.taken(&batch, begun);
        let (time, before) = (self.timekeeper.now(self.engine.time()), self.engine.sequence());
        let mut events = self.events.as_ref().map(EventSink::batch);
        let Run { engine, admission, conditions, .. } = self;
        admission.decide(engine, conditions, time, std::iter::once(&batch.requests), &mut |_| {});
        answer(engine, self.limits, &mut batch, time, &mut admission.decisions(), &mut |sequence, event| {
            effects.add(sequence, time, event);
            if let Some(events) = &mut events {
                events.add(sequence, event);
            }
        });
        effects.seal(&self.engine);
        if let Some(mut events) = events {
            events.seal(self.engine.sequence(), time);
            waiting.events.push(events);
        }
        // A batch of nothing but errors has no ops, and waits all the same: its connection's replies keep their order.
        *ops += batch.requests.ops().len().max(1);
        self.engine.take_done(&mut |done| waiting.done.push(done.order));
        let applied = Instant::now();
        self.metrics.spent(Stage::Apply, batch.requests.len(), applied - begun);
        note_market(&self.metrics, &self.engine);
        self.metrics.set(Gauge::ClockLeapMicros, self.timekeeper.leap_us());
        waiting.batches.push(Applied { batch, at: applied, unchanging: self.engine.sequence() == before });
        drop(shared);
        self.between.changed.notify_all();
    }
}
