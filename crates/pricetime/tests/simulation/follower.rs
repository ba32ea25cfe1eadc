//! The work of the keeper's and the feed's threads, without threads: a history and a view that follow the node's events
//! when the world lets them, and may stall. The follower does not know the model and the faults.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Engine;
use exchange::{EventBatch, EventQueue, EventSink};
use feed::{History, HistoryError, Listeners, ReadModel, SharedHistory, View};
use history::Sizes;
use journal::{Durability, Storage};
use market::timekeeper::Clock;
use terms::{Event, Sequence};

/// Parts are small, so that many are sealed.
const PART_RECORDS: u64 = 20;
const BLOCK_RECORDS: u64 = 6;
/// The number of times that the history is maintained in a turn.
const TENDED: usize = 4;

/// A watcher that ignores everything.
pub struct Nobody;

/// A follower of a node's events. Clones share their state.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<State>>);

struct State {
    scene: ReadModel<Nobody>,
    history: SharedHistory,
    line: VecDeque<EventBatch>,
    /// The number of events that wait in the queue.
    waiting: usize,
    pace: Pace,
    /// Whether it follows nothing for now.
    is_stalled: bool,
    /// Events that were queued since the last call of `heard`.
    heard: Vec<(Sequence, Event)>,
    /// The number of times that the sequencer had to wait for room in the queue.
    full_lines: u64,
    /// Why it no longer follows.
    failed: Option<HistoryError>,
}

/// The lag that a follower may have.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Whether it follows at once. Otherwise it follows when the world lets it.
    pub is_prompt: bool,
    /// The number of waiting events at which the sequencer waits until they have been followed.
    pub line_max: usize,
}

impl Follower {
    /// Follows from an engine's state on, beside the machine's clock. At most `waiting_max` bytes of each table wait to
    /// be written.
    pub fn start<S: Storage>(
        engine: &Engine,
        home: &S,
        (waiting_max, durability): (usize, Durability),
        clock: Clock,
        pace: Pace,
    ) -> Result<Follower, HistoryError> {
        let sizes = Sizes { waiting_max: [waiting_max; 3], part_records: PART_RECORDS, block_records: BLOCK_RECORDS };
        let mut history = History::open_sized(home, engine, sizes)?.noting_leaps(move || clock.passed());
        if durability == Durability::Written {
            let home = home.clone();
            history = history.syncing_journal(move || journal::sync_newest(&home));
        }
        let history = SharedHistory::new(history);
        Ok(Follower(Arc::new(Mutex::new(State {
            scene: scene(engine, &history)?,
            history,
            line: VecDeque::new(),
            waiting: 0,
            pace,
            is_stalled: false,
            heard: Vec::new(),
            full_lines: 0,
            failed: None,
        }))))
    }

    pub fn sink(&self) -> EventSink {
        Arc::new(self.clone())
    }

    /// Fits the history to the end of a replay, where `engine` is now, as the server does. Returns whether the same
    /// history continues.
    pub fn fit(&self, engine: &Engine) -> Result<bool, HistoryError> {
        let mut state = self.caught_up()?;
        if state.history.fit(engine)? {
            return Ok(true);
        }
        state.scene = scene(engine, &state.history)?;
        Ok(false)
    }

    /// The events that were queued since the last call.
    pub fn heard(&self) -> Vec<(Sequence, Event)> {
        std::mem::take(&mut self.state().heard)
    }

    /// The number of times that the sequencer had to wait for room in the queue.
    pub fn full_lines(&self) -> u64 {
        self.state().full_lines
    }

    /// Stalls the follower, so that it follows nothing until the queue is full, or lets it follow again.
    pub fn stall(&self, is_stalled: bool) {
        self.state().is_stalled = is_stalled;
    }

    pub fn is_stalled(&self) -> bool {
        self.state().is_stalled
    }

    /// Follows up to this many of the waiting batches.
    pub fn follow(&self, batches: usize) {
        let mut state = self.state();
        if !state.is_stalled {
            state.follow(batches);
        }
    }

    /// Makes durable what it was told. Returns false if that fails; the reason is told by `check`.
    pub fn checkpoint(&self) -> bool {
        self.caught_up().is_ok_and(|state| !state.is_stalled && state.history.checkpoint().is_ok())
    }

    /// Follows what is left and makes it durable. No more events may come.
    pub fn stop(&self) -> Result<(), HistoryError> {
        self.stall(false);
        self.caught_up()?.history.checkpoint()
    }

    /// Returns the reason why it no longer follows as an error, once.
    pub fn check(&self) -> Result<(), HistoryError> {
        self.unfailed().map(drop)
    }

    /// Passes what it knows to `look` when it has followed all events.
    pub fn look<T>(&self, look: impl FnOnce(&ReadModel<Nobody>) -> T) -> Result<T, HistoryError> {
        self.stall(false);
        Ok(look(&self.caught_up()?.scene))
    }

    /// The state after all waiting events have been followed, unless the follower is stalled, as for a question in the
    /// same queue.
    fn caught_up(&self) -> Result<MutexGuard<'_, State>, HistoryError> {
        self.follow(usize::MAX);
        self.unfailed()
    }

    fn unfailed(&self) -> Result<MutexGuard<'_, State>, HistoryError> {
        let mut state = self.state();
        match state.failed.take() {
            Some(error) => {
                state.failed = Some(HistoryError::Ended);
                Err(error)
            }
            None => Ok(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn scene(engine: &Engine, history: &SharedHistory) -> Result<ReadModel<Nobody>, HistoryError> {
    let mut view = View::new(engine, Some(&history.read()));
    view.recall(&history.read())?;
    Ok(ReadModel { view, history: Some(history.clone()), watcher: Nobody, listeners: Listeners::default() })
}

impl EventQueue for Follower {
    fn batch(&self) -> EventBatch {
        EventBatch::default()
    }

    fn push(&self, batch: EventBatch) {
        let state = &mut *self.state();
        state.heard.extend(&batch.events);
        if state.waiting >= state.pace.line_max {
            // The sequencer waits until there is room.
            state.full_lines += 1;
            state.is_stalled = false;
            state.follow(usize::MAX);
        }
        state.waiting += batch.len();
        state.line.push_back(batch);
        if state.pace.is_prompt && !state.is_stalled {
            state.follow(usize::MAX);
        }
    }
}

impl State {
    fn follow(&mut self, batches: usize) {
        for _ in 0..batches.min(self.line.len()) {
            let batch = self.line.pop_front().expect("counted");
            self.waiting -= batch.len();
            if self.failed.is_none() {
                self.failed = self.history.follow(&batch).err();
                self.scene.view.apply(&batch);
                (0..TENDED).take_while(|_| self.history.tend()).for_each(drop);
            }
        }
    }
}
