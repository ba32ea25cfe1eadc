//! What follows the market for those who look at it: books, trades, candles, accounts and history, on a thread of its own.

use std::sync::Arc;

use engine::{Engine, Entry, Event, Sequence, Time};
use exchange::{Gauge, Metrics};
use feed::{Asker, EventBatch, EventSink, Feed, History, HistoryError, Known};
use history::Keep;
use journal::{Damages, Disk};
use web::Hub;

use crate::market::Failed;

/// The running thread.
pub struct Projection(Feed<Hub>);

/// Waits until the history durably holds all that happened so far. False when it cannot.
pub type Checkpoint = Arc<dyn Fn() -> bool + Send + Sync>;

impl Projection {
    /// Follows from an engine's state, with a history in the data folder, which keeps so much. What is damaged of it is counted
    /// in `metrics`.
    pub fn start(
        engine: &Engine,
        data: &Disk,
        keep: Keep,
        metrics: &Metrics,
        failed: &Failed,
    ) -> Result<Projection, HistoryError> {
        let counted = metrics.clone();
        metrics.set(Gauge::DamagedInHistory, 0);
        let damages = Damages::new(move |records| counted.set(Gauge::DamagedInHistory, records));
        let history = History::open(data, engine)?.listing(damages).keeping(keep);
        Projection::of(engine, Some(history), failed)
    }

    /// Follows from an engine's state that was read from a database, which keeps the history.
    pub fn start_from(engine: &Engine, known: &Known, failed: &Failed) -> Result<Projection, HistoryError> {
        let failed = failed.clone();
        Feed::start_from(engine, known, Hub::new(), move |cause| failed(cause)).map(Projection)
    }

    fn of(engine: &Engine, history: Option<History>, failed: &Failed) -> Result<Projection, HistoryError> {
        let failed = failed.clone();
        Feed::start(engine, history, Hub::new(), move |cause| failed(cause)).map(Projection)
    }

    /// Sees whether the history tells of commands that the journal does not have: then the machine lost what was written and
    /// not synced, and a new history begins where the engine stands.
    pub fn fit(self, engine: &Engine, failed: &Failed) -> Result<Projection, HistoryError> {
        if self.0.settle(engine.sequence())? {
            return Ok(self);
        }
        let history = self.0.stop()?.history;
        let history = history.map(|history| history.begin_anew(engine)).transpose()?;
        Projection::of(engine, history, failed)
    }

    pub fn asker(&self) -> Asker<Hub> {
        self.0.asker()
    }

    pub fn sink(&self) -> EventSink {
        self.0.sink()
    }

    pub fn checkpoint(&self) -> Checkpoint {
        let asker = self.0.asker();
        Arc::new(move || asker.checkpoint())
    }

    /// Follows what came, makes it durable and ends.
    pub fn stop(self) -> Result<(), HistoryError> {
        self.0.stop().map(drop)
    }
}

/// Hands the events of a replay over, which come command by command: those of one time together.
pub struct Replay {
    sink: EventSink,
    batch: EventBatch,
    last: Option<(Sequence, Time)>,
}

impl Replay {
    pub fn new(sink: EventSink) -> Replay {
        Replay { batch: sink.batch(), sink, last: None }
    }

    /// Before a command's events.
    pub fn begin(&mut self, entry: &Entry) {
        if self.last.is_some_and(|(_, time)| time != entry.time) {
            self.hand_over();
        }
        self.last = Some((entry.sequence, entry.time));
    }

    pub fn add(&mut self, sequence: Sequence, event: Event) {
        self.batch.add(sequence, event);
    }

    /// Hands over what is left.
    pub fn hand_over(&mut self) {
        if let Some((sequence, time)) = self.last.take() {
            let mut batch = std::mem::replace(&mut self.batch, self.sink.batch());
            batch.seal(sequence, time);
            self.sink.push(batch);
        }
    }
}
