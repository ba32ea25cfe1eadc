//! What the feed's thread does, without the thread: a view and a history that follow the node's events as they come.
//! It knows no model and no faults.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Engine, Event, Sequence, Time};
use feed::{EventBatch, EventSink, History, HistoryError, Intake, Scene, View};
use history::Sizes;
use journal::Storage;

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
    scene: Scene<Nobody>,
    /// Why it does not follow any more.
    failed: Option<HistoryError>,
}

impl Follower {
    /// Follows from an engine's state, with so many bytes of each table that wait to be written.
    pub fn start<S: Storage>(engine: &Engine, home: &S, waiting_max: usize) -> Result<Follower, HistoryError> {
        let sizes = Sizes { waiting_max: [waiting_max; 3], part_records: PART_RECORDS, block_records: BLOCK_RECORDS };
        let history = History::open_sized(home, engine, sizes)?;
        Ok(Follower(Arc::new(Mutex::new(State { scene: scene(engine, history)?, failed: None }))))
    }

    pub fn sink(&self) -> EventSink {
        EventSink::to(Arc::new(self.clone()))
    }

    /// After a replay that ended where `engine` stands, as `Projection::fit`. Gives whether the history goes on.
    pub fn fit(&self, engine: &Engine) -> Result<bool, HistoryError> {
        let mut state = self.check()?;
        if state.scene.settle(engine.sequence())? {
            return Ok(true);
        }
        let history = state.scene.history.take().ok_or(HistoryError::Ended)?;
        state.scene = scene(engine, history.begin_anew(engine)?)?;
        Ok(false)
    }

    /// The events of a turn.
    pub fn turn(&self, events: &[(Sequence, Event)], through: Sequence, time: Time) -> Result<(), HistoryError> {
        let mut batch = EventBatch::default();
        events.iter().for_each(|(sequence, event)| batch.add(*sequence, *event));
        batch.seal(through, time);
        self.push(batch);
        self.check().map(drop)
    }

    /// Makes durable what it was told, as far as it can be. What cannot be followed any more is for `turn` to tell.
    pub fn checkpoint(&self) -> Result<(), HistoryError> {
        self.check()?.scene.checkpoint()
    }

    /// Looks at what it knows.
    pub fn look<T>(&self, look: impl FnOnce(&Scene<Nobody>) -> T) -> T {
        look(&self.state().scene)
    }

    fn check(&self) -> Result<MutexGuard<'_, State>, HistoryError> {
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

fn scene(engine: &Engine, history: History) -> Result<Scene<Nobody>, HistoryError> {
    let view = View::new(engine, Some(&history));
    let mut scene = Scene { view, history: Some(history), watcher: Nobody };
    scene.recall()?;
    Ok(scene)
}

impl Intake for Follower {
    fn spare(&self) -> EventBatch {
        EventBatch::default()
    }

    fn push(&self, batch: EventBatch) {
        let state = &mut *self.state();
        if state.failed.is_none() {
            state.failed = state.scene.view.apply(&batch, &mut state.scene.history).err();
            let (time, history) = (state.scene.view.time(), &mut state.scene.history);
            let tended = history.iter_mut().flat_map(|history| (0..TENDED).map(move |_| history.tend(time)));
            tended.take_while(|worked| *worked).for_each(drop);
        }
    }
}
