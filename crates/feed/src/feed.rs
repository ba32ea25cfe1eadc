//! The feed's thread: it follows the events turn by turn, answers the questions that come between them, and tells the
//! watcher what changed.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{AccountIndex, Engine, Sequence, SymbolIndex, Time};
use exchange::containment::{Panicked, Part, contain};
use exchange::{EventBatch, EventFollower};
use history::{Candle, EventQueue, HistoryAt, HistoryError, Interval, Item, PastOrder, SharedHistory};

use crate::candles::candles;
use crate::listeners::{Listener, Listeners};
use crate::orders::Open;
use crate::view::{InitialHistory, News, View};

/// The watcher is called at least so often.
const TICK_MAX: Duration = Duration::from_millis(100);
/// Events that may wait for it. Whoever asks something waits for them: about 30 ms.
const WAITING_MAX: usize = 1 << 15;

/// Bytes of news that are gathered for the watcher before it has to tell them, whatever its pace is. One batch of
/// events may exceed it.
pub const GATHERED_MAX: usize = 2 << 20;

/// The view, the history and the watcher together. Only the feed's thread reads and changes it.
pub struct ReadModel<W> {
    pub view: View,
    /// None where the history is not in files of ours.
    pub history: Option<SharedHistory>,
    pub watcher: W,
    /// Who hears of accounts beside the watcher.
    pub listeners: Listeners,
}

/// Who tells others what changed.
pub trait Watcher: Send + Sized + 'static {
    /// Called after events were followed or questions asked, and again when the time that it gave is over.
    fn look(scene: &mut ReadModel<Self>) -> Duration;

    /// Tells what was gathered: it has reached `GATHERED_MAX`.
    fn tell_now(scene: &mut ReadModel<Self>);

    /// Called when the feed has failed: nothing more is looked at, and whoever is told things is to know it.
    fn failed(_scene: &mut ReadModel<Self>) {}
}

/// A fault of ours by which a feed ended. The market goes on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedFailure {
    /// The last command that it followed.
    pub after: Sequence,
    /// The place and the words of the panic.
    pub what: String,
}

/// A question, or anything else to be done between two turns.
type Question<W> = Box<dyn FnOnce(&mut ReadModel<W>) + Send>;

/// The running thread.
pub struct Feed<W: Watcher> {
    line: Line<W>,
    thread: JoinHandle<ReadModel<W>>,
}

/// Asks from any thread.
pub struct Asker<W: Watcher>(Line<W>);

/// The way to the thread, and whether it has failed.
struct Line<W: Watcher> {
    queue: Arc<EventQueue<Question<W>>>,
    failure: Arc<OnceLock<FeedFailure>>,
}

impl<W: Watcher> Feed<W> {
    /// Starts to follow from `engine`'s state, with a history that follows the same events and was told none yet.
    pub fn start(engine: &Engine, history: Option<SharedHistory>, watcher: W) -> Result<Feed<W>, HistoryError> {
        let mut view = View::new(engine, history.as_ref().map(SharedHistory::read).as_deref());
        if let Some(history) = &history {
            view.recall(&history.read())?;
        }
        Feed::follow(ReadModel { view, history, watcher, listeners: Listeners::default() })
    }

    /// Starts to follow from `engine`'s state without history files. The history is kept elsewhere (in a database), and
    /// `known` is what it knows of that state.
    pub fn start_from(engine: &Engine, known: &InitialHistory, watcher: W) -> Result<Feed<W>, HistoryError> {
        let mut view = View::new(engine, None);
        view.recognize(known);
        Feed::follow(ReadModel { view, history: None, watcher, listeners: Listeners::default() })
    }

    fn follow(scene: ReadModel<W>) -> Result<Feed<W>, HistoryError> {
        let line = Line { queue: Arc::new(EventQueue::new(WAITING_MAX)), failure: Arc::default() };
        let follower = Follower { line: line.clone(), scene };
        let thread = std::thread::Builder::new().name("feed".to_string()).spawn(move || follower.run());
        let thread = thread.map_err(|source| HistoryError::Io { name: "thread".to_owned(), source })?;
        Ok(Feed { line, thread })
    }

    pub fn asker(&self) -> Asker<W> {
        Asker(self.line.clone())
    }

    /// Where events are handed over.
    pub fn follower(&self) -> Arc<dyn EventFollower> {
        self.line.queue.clone()
    }

    /// Follows all events that came, ends the thread, and gives the read model.
    pub fn stop(self) -> ReadModel<W> {
        self.line.queue.close();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<W: Watcher> Asker<W> {
    /// Calls `question` with the read model as it is after all events that came so far. It is never called if the feed
    /// has ended. If it panics, that ends this question alone.
    pub fn ask(&self, question: impl FnOnce(&mut ReadModel<W>) + Send + 'static) {
        self.0.queue.ask(Box::new(question));
    }

    /// The fault by which the feed has ended; none while it goes on.
    pub fn failure(&self) -> Option<&FeedFailure> {
        self.0.failure.get()
    }

    /// How many events wait to be followed. It waits for nobody.
    pub fn waiting_events(&self) -> usize {
        self.0.queue.waiting_events()
    }
}

impl<W: Watcher> Clone for Asker<W> {
    fn clone(&self) -> Asker<W> {
        Asker(self.0.clone())
    }
}

impl<W: Watcher> Clone for Line<W> {
    fn clone(&self) -> Line<W> {
        Line { queue: self.queue.clone(), failure: self.failure.clone() }
    }
}

impl<W> ReadModel<W> {
    /// Somebody hears of an account from now on, beside the watcher. Does nothing if they do already.
    pub fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        self.listeners.add(&mut self.view, account, listener);
    }

    /// Gives what watched accounts are to be told, and forgets it. Listeners hear it first.
    pub fn take_news(&mut self) -> Vec<News> {
        let all = self.view.take_news();
        self.listeners.tell(&mut self.view, &all);
        all
    }

    /// Candles of a symbol that began before `before`, oldest first: the last `limit` of them.
    pub fn candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        candles(&self.view, self.history()?.as_ref(), symbol, interval, before, limit)
    }

    /// An open order with when it was placed and as what: the view does not know it of those that were open at the start.
    /// The time stays zero where nobody knows.
    pub fn as_placed(&self, open: &Open) -> Result<Open, HistoryError> {
        match (open.time, &self.history) {
            (Time::ZERO, Some(history)) => Ok(match history.read().order(open.order)? {
                // When it was triggered, and what it waits for now, the view knows since the start.
                Some(PastOrder { time, kind, trigger, self_trade, .. }) => {
                    Open { time, kind, trigger: open.trigger.or(trigger), self_trade, ..*open }
                }
                None => *open,
            }),
            _ => Ok(*open),
        }
    }

    /// The history as it was after the last command that the view followed.
    /// None where there is none.
    pub fn history(&self) -> Result<Option<HistoryAt<'_>>, HistoryError> {
        self.history.as_ref().map(|history| history.at(self.view.sequence())).transpose()
    }
}

/// The thread.
struct Follower<W: Watcher> {
    line: Line<W>,
    scene: ReadModel<W>,
}

impl<W: Watcher> Follower<W> {
    /// A panic is the end of the feed and of nothing else: what it shows can be made again of what the market keeps.
    fn run(mut self) -> ReadModel<W> {
        if let Err(panicked) = contain(Part::Feed, || self.follow()) {
            self.fail(panicked);
        }
        self.scene
    }

    fn follow(&mut self) {
        let mut items = VecDeque::new();
        let (mut worked, mut patience) = (false, TICK_MAX);
        while self.line.queue.take(&mut items, worked, patience) {
            worked = !items.is_empty();
            for item in items.drain(..) {
                match item {
                    Item::Events(batch) => self.follow_batch(&batch),
                    Item::Question(question) => self.answer(question),
                }
            }
            patience = W::look(&mut self.scene).min(TICK_MAX);
        }
    }

    fn answer(&mut self, question: Question<W>) {
        if let Err(panicked) = contain(Part::Question, || question(&mut self.scene)) {
            let after = self.scene.view.sequence();
            tracing::error!(after = after.0, %panicked, "a fault of the server ended a question to the feed; please report it");
        }
    }

    fn fail(&mut self, panicked: Panicked) {
        let after = self.scene.view.sequence();
        tracing::error!(
            after = after.0,
            %panicked,
            "the feed ended by a fault of the server, and the market goes on without it; please report it"
        );
        // It is set once, here.
        let _ = self.line.failure.set(FeedFailure { after, what: panicked.what });
        self.line.queue.abandon();
        // Whoever waits for news would wait for ever. What is half done is not looked at.
        let told = contain(Part::Feed, || {
            self.scene.listeners.end();
            W::failed(&mut self.scene);
        });
        if let Err(panicked) = told {
            tracing::error!(%panicked, "not all who follow the feed know that it ended");
        }
    }

    fn follow_batch(&mut self, batch: &EventBatch) {
        self.scene.view.apply(batch);
        if self.scene.view.gathered() > GATHERED_MAX {
            W::tell_now(&mut self.scene);
        }
    }
}
