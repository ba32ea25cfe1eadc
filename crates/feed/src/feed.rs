//! The feed's thread: it follows the events turn by turn, answers the questions that come between them, and tells the
//! watcher what changed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{AccountIndex, Engine, SymbolIndex, Time};
use exchange::EventFollower;
use history::{Candle, EventQueue, HistoryAt, HistoryError, Interval, Item, PastOrder, SharedHistory};

use crate::candles::candles;
use crate::listeners::{Listener, Listeners};
use crate::orders::Open;
use crate::view::{InitialHistory, News, View};

/// The watcher is called at least so often.
const TICK_MAX: Duration = Duration::from_millis(100);
/// Events that may wait for it. Whoever asks something waits for them: about 30 ms.
const WAITING_MAX: usize = 1 << 15;

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
}

/// A question, or anything else to be done between two turns.
type Question<W> = Box<dyn FnOnce(&mut ReadModel<W>) + Send>;

/// The running thread.
pub struct Feed<W: Watcher> {
    line: Arc<EventQueue<Question<W>>>,
    thread: JoinHandle<ReadModel<W>>,
}

/// Asks from any thread.
pub struct Asker<W: Watcher>(Arc<EventQueue<Question<W>>>);

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
        let line = Arc::new(EventQueue::new(WAITING_MAX));
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
        self.line.clone()
    }

    /// Follows all events that came, ends the thread, and gives the read model.
    pub fn stop(self) -> ReadModel<W> {
        self.line.close();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<W: Watcher> Asker<W> {
    /// Calls `question` with the read model as it is after all events that came so far. It is never called if the feed
    /// has ended.
    pub fn ask(&self, question: impl FnOnce(&mut ReadModel<W>) + Send + 'static) {
        self.0.ask(Box::new(question));
    }

    /// How many events wait to be followed. It waits for nobody.
    pub fn waiting_events(&self) -> usize {
        self.0.waiting_events()
    }
}

impl<W: Watcher> Clone for Asker<W> {
    fn clone(&self) -> Asker<W> {
        Asker(self.0.clone())
    }
}

impl<W> ReadModel<W> {
    /// Somebody hears of an account from now on, beside the watcher. Does nothing if they do already.
    pub fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        self.listeners.add(&mut self.view, account, listener);
    }

    /// Somebody hears of no account any more.
    pub fn stop_listening(&mut self, listener: &Arc<dyn Listener>) {
        self.listeners.remove(&mut self.view, listener);
    }

    /// Gives what watched accounts are to be told, and forgets it. Listeners hear it first.
    pub fn take_news(&mut self) -> Vec<News> {
        let all = self.view.take_news();
        self.listeners.tell(&self.view, &all);
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
    line: Arc<EventQueue<Question<W>>>,
    scene: ReadModel<W>,
}

impl<W: Watcher> Follower<W> {
    fn run(mut self) -> ReadModel<W> {
        let mut items = VecDeque::new();
        let (mut worked, mut patience) = (false, TICK_MAX);
        while self.line.take(&mut items, worked, patience) {
            worked = !items.is_empty();
            for item in items.drain(..) {
                match item {
                    Item::Events(batch) => self.scene.view.apply(&batch),
                    Item::Question(question) => question(&mut self.scene),
                }
            }
            patience = W::look(&mut self.scene).min(TICK_MAX);
        }
        self.scene
    }
}
