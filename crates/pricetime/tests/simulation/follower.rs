//! What the keeper's and the feed's threads do, without threads: a history and a view that follow the node's events when the world lets them,
//! and may stall. It knows no model and no faults.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Engine, Event, Sequence};
use exchange::{EventBatch, EventQueue, EventSink};
use feed::{History, HistoryError, Listeners, ReadModel, SharedHistory, View};
use history::Sizes;
use journal::{Durability, Storage};

/// Small parts, so that many are sealed.
const PART_RECORDS: u64 = 20;
const BLOCK_RECORDS: u64 = 6;
/// How often the history is tended to in a turn.
const TENDED: usize = 4;

/// Nobody watches.
pub struct Nobody;

/// Clones follow as one.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<State>>);

struct State {
    scene: ReadModel<Nobody>,
    history: SharedHistory,
    line: VecDeque<EventBatch>,
    /// Events that wait in the line.
    waiting: usize,
    pace: Pace,
    /// It follows nothing, for now.
    is_stalled: bool,
    /// Events that were left since somebody asked.
    heard: Vec<(Sequence, Event)>,
    /// How often the loop had to wait for room in the line.
    full_lines: u64,
    /// Why it does not follow any more.
    failed: Option<HistoryError>,
}

/// How far a follower lags behind.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// It follows at once; otherwise when the world lets it.
    pub is_prompt: bool,
    /// When so many events wait, the loop waits until it has followed them.
    pub line_max: usize,
}

impl Follower {
    /// Follows from an engine's state, with so many bytes of each table that wait to be written.
    pub fn start<S: Storage>(
        engine: &Engine,
        home: &S,
        (waiting_max, durability): (usize, Durability),
        pace: Pace,
    ) -> Result<Follower, HistoryError> {
        let sizes = Sizes { waiting_max: [waiting_max; 3], part_records: PART_RECORDS, block_records: BLOCK_RECORDS };
        let mut history = History::open_sized(home, engine, sizes)?;
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

    /// After a replay that ended where `engine` stands, as the server does. Gives whether the history goes on.
    pub fn fit(&self, engine: &Engine) -> Result<bool, HistoryError> {
        let mut state = self.caught_up()?;
        if state.history.fit(engine)? {
            return Ok(true);
        }
        state.scene = scene(engine, &state.history)?;
        Ok(false)
    }

    /// What was left in the line since this was last asked.
    pub fn heard(&self) -> Vec<(Sequence, Event)> {
        std::mem::take(&mut self.state().heard)
    }

    /// How often the loop had to wait for room in the line.
    pub fn full_lines(&self) -> u64 {
        self.state().full_lines
    }

    /// From now on it follows nothing until the line is full, or follows again.
    pub fn stall(&self, is_stalled: bool) {
        self.state().is_stalled = is_stalled;
    }

    pub fn is_stalled(&self) -> bool {
        self.state().is_stalled
    }

    /// Follows so many batches of those that wait.
    pub fn follow(&self, batches: usize) {
        let mut state = self.state();
        if !state.is_stalled {
            state.follow(batches);
        }
    }

    /// Makes durable what it was told, as far as it can be: false if it cannot. Why it cannot follow on is for `check` to tell.
    pub fn checkpoint(&self) -> bool {
        self.caught_up().is_ok_and(|state| !state.is_stalled && state.history.checkpoint().is_ok())
    }

    /// Follows what is left and makes it durable, when nothing more will come.
    pub fn stop(&self) -> Result<(), HistoryError> {
        self.stall(false);
        self.caught_up()?.history.checkpoint()
    }

    /// Errors: why it does not follow any more, said once.
    pub fn check(&self) -> Result<(), HistoryError> {
        self.unfailed().map(drop)
    }

    /// Looks at what it knows when it has followed all.
    pub fn look<T>(&self, look: impl FnOnce(&ReadModel<Nobody>) -> T) -> Result<T, HistoryError> {
        self.stall(false);
        Ok(look(&self.caught_up()?.scene))
    }

    /// When it has followed all that waits, unless it stalls: as a question, which waits in the same line.
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
            // The loop waits until there is room.
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
