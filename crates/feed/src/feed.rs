//! The thread that follows the events: they come in turns, questions come between them, and whoever watches is told.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Engine, Sequence, SymbolIndex, Time};
use history::{Candle, History, HistoryError, Interval};

use crate::candles::candles;
use crate::events::EventBatch;
use crate::leisure::Leisure;
use crate::view::{Known, View};

/// Events that may wait to be followed, give or take a turn; past it the sequencer slows down.
const WAITING_MAX: usize = 1 << 20;
/// From so many on they are not waited for to become more.
const WAITING_MANY: usize = 1 << 14;
/// How long events wait for others before the thread wakes for them. A question wakes it at once.
const NAP: Duration = Duration::from_millis(1);
/// Watchers are looked after at least so often.
const TICK_MAX: Duration = Duration::from_millis(100);
/// Batches kept to be filled again.
const SPARE_MAX: usize = 64;

/// What follows the market: looked at and changed by its own thread alone.
pub struct Scene<W> {
    pub view: View,
    /// None where no history is kept.
    pub history: Option<History>,
    pub watcher: W,
}

/// Who tells others what changed.
pub trait Watcher: Send + Sized + 'static {
    /// Called after events were followed or questions asked, and again when the time that it gave is over.
    fn look(scene: &mut Scene<Self>) -> Duration;
}

/// A question, or anything else to be done between two turns.
type Question<W> = Box<dyn FnOnce(&mut Scene<W>) + Send>;

/// The running thread.
pub struct Feed<W: Watcher> {
    line: Arc<Line<W>>,
    thread: JoinHandle<Result<Scene<W>, HistoryError>>,
}

/// Asks from any thread.
pub struct Asker<W: Watcher>(Arc<Line<W>>);

/// Where the sequencer leaves events.
#[derive(Clone)]
pub struct EventSink(Arc<dyn Intake>);

impl<W: Watcher> Feed<W> {
    /// Starts to follow from `engine`'s state. `failed` is called when the history cannot go on.
    pub fn start(
        engine: &Engine,
        history: Option<History>,
        watcher: W,
        failed: impl FnOnce(String) + Send + 'static,
    ) -> Result<Feed<W>, HistoryError> {
        let view = View::new(engine, history.as_ref());
        let mut scene = Scene { view, history, watcher };
        scene.recall()?;
        Feed::follow(scene, failed)
    }

    /// Starts to follow from `engine`'s state without a history of its own: another one is kept elsewhere, and knew `known`
    /// of that state.
    pub fn start_from(
        engine: &Engine,
        known: &Known,
        watcher: W,
        failed: impl FnOnce(String) + Send + 'static,
    ) -> Result<Feed<W>, HistoryError> {
        let mut view = View::new(engine, None);
        view.recognize(known);
        Feed::follow(Scene { view, history: None, watcher }, failed)
    }

    fn follow(scene: Scene<W>, failed: impl FnOnce(String) + Send + 'static) -> Result<Feed<W>, HistoryError> {
        let line = Arc::new(Line::new());
        let follower = Follower { line: line.clone(), scene };
        let thread = std::thread::Builder::new().name("feed".to_string()).spawn(move || {
            let line = follower.line.clone();
            let ended = follower.run();
            if let Err(error) = &ended {
                line.close();
                failed(error.to_string());
            }
            ended
        });
        let thread = thread.map_err(|source| HistoryError::Io { name: "thread".to_owned(), source })?;
        Ok(Feed { line, thread })
    }

    pub fn asker(&self) -> Asker<W> {
        Asker(self.line.clone())
    }

    pub fn sink(&self) -> EventSink {
        EventSink(self.line.clone())
    }

    /// After a replay that ended at `end`: sees whether the history durably knows no command behind it, and takes back what
    /// lost commands did in it. False if it does know such; then it is as it was.
    pub fn settle(&self, end: Sequence) -> Result<bool, HistoryError> {
        let (told, known) = std::sync::mpsc::channel();
        self.asker().ask(move |scene| {
            let _ = told.send(scene.settle(end));
        });
        known.recv().map_err(|_| HistoryError::Ended)?
    }

    /// Follows what came, makes it durable, and gives what is left.
    pub fn stop(self) -> Result<Scene<W>, HistoryError> {
        self.line.close();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<W: Watcher> Asker<W> {
    /// Has something done with the scene as it is after all events that came so far. Never called when the feed has ended.
    pub fn ask(&self, question: impl FnOnce(&mut Scene<W>) + Send + 'static) {
        self.0.ask(Box::new(question));
    }

    /// How many events wait to be followed. It waits for nobody.
    pub fn waiting_events(&self) -> usize {
        self.0.lock().events
    }

    /// Waits until all that came so far is in the history, durably. False when it cannot be.
    pub fn checkpoint(&self) -> bool {
        let (told, done) = std::sync::mpsc::channel();
        self.ask(move |scene| {
            let kept = scene.checkpoint();
            if let Err(error) = &kept {
                tracing::error!(%error, "the history cannot be synced");
            }
            let _ = told.send(kept.is_ok());
        });
        done.recv().unwrap_or(false)
    }
}

impl<W: Watcher> Clone for Asker<W> {
    fn clone(&self) -> Asker<W> {
        Asker(self.0.clone())
    }
}

impl EventSink {
    /// For whoever follows without a thread.
    pub fn to(intake: Arc<dyn Intake>) -> EventSink {
        EventSink(intake)
    }

    /// An empty batch to fill.
    pub fn batch(&self) -> EventBatch {
        self.0.spare()
    }

    /// Leaves a sealed batch. Waits only when far too many wait.
    pub fn push(&self, batch: EventBatch) {
        self.0.push(batch);
    }
}

impl<W> Scene<W> {
    /// Candles of a symbol that began before `before`, oldest first: the last `limit` of them.
    pub fn candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        candles(&self.view, self.history.as_ref(), symbol, interval, before, limit)
    }

    /// Has a new view know what the history knows, unless that is ahead of it: then it will once it has followed so far.
    pub fn recall(&mut self) -> Result<(), HistoryError> {
        self.view.recall_before(self.view.sequence().next(), &mut self.history)
    }

    /// As `Feed::settle`.
    pub fn settle(&mut self, end: Sequence) -> Result<bool, HistoryError> {
        match &mut self.history {
            Some(history) if history.through() > end => Ok(false),
            Some(history) => self.view.settle(history).map(|_| true),
            None => Ok(true),
        }
    }

    /// Makes all that the history was told durable.
    pub fn checkpoint(&mut self) -> Result<(), HistoryError> {
        match &mut self.history {
            Some(history) => self.view.checkpoint(history),
            None => Ok(()),
        }
    }
}

/// The side of the line that events come from.
pub trait Intake: Send + Sync {
    /// An empty batch to fill.
    fn spare(&self) -> EventBatch;
    /// Takes a sealed batch.
    fn push(&self, batch: EventBatch);
}

/// Events and questions, first come first served.
struct Line<W: Watcher> {
    waiting: Mutex<Waiting<W>>,
    /// For the thread: there is something to do.
    arrived: Condvar,
    /// For the sequencer: there is room again.
    room: Condvar,
}

struct Waiting<W: Watcher> {
    items: VecDeque<Item<W>>,
    events: usize,
    rest: Rest,
    spare: Vec<EventBatch>,
    closed: bool,
}

enum Item<W: Watcher> {
    Events(EventBatch),
    Question(Question<W>),
}

/// What the thread does when it does nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Awake,
    /// Only a question, or many events, wake it before its time.
    Nap,
    /// Anything wakes it.
    Sleep,
}

impl<W: Watcher> Line<W> {
    fn new() -> Line<W> {
        let waiting =
            Waiting { items: VecDeque::new(), events: 0, rest: Rest::Awake, spare: Vec::new(), closed: false };
        Line { waiting: Mutex::new(waiting), arrived: Condvar::new(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<W>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, question: Question<W>) {
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        waiting.items.push_back(Item::Question(question));
        self.wake(waiting);
    }

    fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        self.room.notify_all();
        self.wake(waiting);
    }

    fn wake(&self, mut waiting: MutexGuard<'_, Waiting<W>>) {
        if waiting.rest != Rest::Awake {
            waiting.rest = Rest::Awake;
            drop(waiting);
            self.arrived.notify_one();
        }
    }

    /// Swaps what waits into `items`, after a nap if it just worked. Waits for `patience` at most. False when all is over.
    fn take(&self, items: &mut VecDeque<Item<W>>, nap: bool, patience: Duration) -> bool {
        let mut waiting = self.lock();
        for (rest, patience) in [(Rest::Nap, NAP), (Rest::Sleep, patience)] {
            let over = |waiting: &Waiting<W>| match rest {
                Rest::Nap => waiting.events >= WAITING_MANY || waiting.items.iter().any(Item::is_question),
                Rest::Sleep | Rest::Awake => !waiting.items.is_empty(),
            };
            if rest == Rest::Nap && !nap {
                continue;
            }
            let until = Instant::now() + patience;
            while !over(&waiting) && !waiting.closed {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                waiting.rest = rest;
                waiting = self.arrived.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        waiting.rest = Rest::Awake;
        std::mem::swap(&mut waiting.items, items);
        let more = !waiting.closed || !items.is_empty();
        if waiting.events > 0 {
            waiting.events = 0;
            drop(waiting);
            self.room.notify_all();
        }
        more
    }

    fn recycle(&self, mut batch: EventBatch) {
        batch.clear();
        let mut waiting = self.lock();
        if waiting.spare.len() < SPARE_MAX {
            waiting.spare.push(batch);
        }
    }
}

impl<W: Watcher> Item<W> {
    fn is_question(&self) -> bool {
        match self {
            Item::Events(_) => false,
            Item::Question(_) => true,
        }
    }
}

impl<W: Watcher> Intake for Line<W> {
    fn spare(&self) -> EventBatch {
        self.lock().spare.pop().unwrap_or_default()
    }

    fn push(&self, batch: EventBatch) {
        let mut waiting = self.lock();
        while waiting.events >= WAITING_MAX && !waiting.closed {
            waiting = self.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.closed {
            return;
        }
        waiting.events += batch.len();
        waiting.items.push_back(Item::Events(batch));
        if waiting.rest == Rest::Sleep || waiting.events >= WAITING_MANY {
            self.wake(waiting);
        }
    }
}

/// The thread.
struct Follower<W: Watcher> {
    line: Arc<Line<W>>,
    scene: Scene<W>,
}

impl<W: Watcher> Follower<W> {
    fn run(mut self) -> Result<Scene<W>, HistoryError> {
        let mut items = VecDeque::new();
        let (mut worked, mut patience, mut leisure) = (false, TICK_MAX, Leisure::new());
        while self.line.take(&mut items, worked, patience) {
            worked = !items.is_empty();
            for item in items.drain(..) {
                match item {
                    Item::Events(batch) => {
                        self.scene.view.apply(&batch, &mut self.scene.history)?;
                        self.line.recycle(batch);
                    }
                    Item::Question(question) => question(&mut self.scene),
                }
            }
            let rest = leisure.tend(&mut self.scene, worked);
            patience = W::look(&mut self.scene).min(rest).min(TICK_MAX);
        }
        self.scene.checkpoint()?;
        Ok(self.scene)
    }
}
