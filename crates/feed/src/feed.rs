//! The feed's thread: it follows the events turn by turn, answers the questions that come between them, and calls the
//! watcher about changes.

use std::any::type_name;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use exchange::containment::{Panicked, Part, contain};
use exchange::{EventBatch, EventFollower};
use history::{Candle, EventQueue, HistoryAt, HistoryError, Interval, Item, PastOrder, SharedHistory};
use terms::{AccountIndex, MarketState, OrderId, Sequence, StateItem, SymbolIndex, Time};

use crate::candles::{candles, candles_in_memory};
use crate::listeners::{Listener, Listeners};
use crate::orders::Open;
use crate::view::{InitialHistory, News, View};

/// The longest time between two calls of the watcher.
const TICK_MAX: Duration = Duration::from_millis(100);
/// The number of waiting events with which the thread is behind. A question waits behind them: about 30 ms.
const BEHIND_FROM: usize = 1 << 15;
/// The number of events that may wait for the thread, 56 MiB of them. They are those that may wait for the keeper of
/// the history (`history/keeper.rs`), and are in memory once.
///
/// A turn brings about as many at most. Its commands of clients execute 25,000 times and then 5 times each; it has
/// 32,768 of them, and the loop's own execute 30,000 times. These are 219,000 executions of four events each: a fee,
/// the execution, the part that is shown next, and what the maker gets. Each command makes about four more. A request
/// of 10,000 orders executes 75,000 times, and brings 340,000 events.
const WAITING_MAX: usize = 1 << 20;

/// Bytes of news at which the watcher has to send what is gathered, whatever its pace. One batch of events may exceed
/// it.
pub const GATHERED_MAX: usize = 2 << 20;

/// The view, the history and the watcher together. Only the feed's thread reads and changes it.
pub struct ReadModel<W> {
    pub view: View,
    /// `None` where the history is not in files of ours.
    pub history: Option<SharedHistory>,
    pub watcher: W,
    /// Listeners of accounts, beside the watcher.
    pub listeners: Listeners,
}

/// Sends changes to subscribers.
pub trait Watcher: Send + Sized + 'static {
    /// Called after events were followed or questions answered, and again after the duration that it returned.
    fn look(model: &mut ReadModel<Self>) -> Duration;

    /// Sends what is gathered: it has reached `GATHERED_MAX`.
    fn tell_now(model: &mut ReadModel<Self>);

    /// Called when the feed has failed: the feed follows and answers nothing more, and subscribers have to learn of it.
    fn failed(_scene: &mut ReadModel<Self>) {}
}

/// A fault of ours by which a feed ended. The market goes on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedFailure {
    /// The last command that it followed.
    pub after: Sequence,
    /// The place and the message of the panic.
    pub what: String,
}

/// A question, or any other work between two turns.
struct Question<W> {
    /// The function that asks, for the log.
    name: &'static str,
    work: Work<W>,
}

type Work<W> = Box<dyn FnOnce(&mut ReadModel<W>) + Send>;

/// The running thread.
pub struct Feed<W: Watcher> {
    line: EventLine<W>,
    thread: JoinHandle<ReadModel<W>>,
}

/// A handle that asks from any thread.
pub struct FeedHandle<W: Watcher>(EventLine<W>);

/// The queue to the thread, and whether the thread has failed.
struct EventLine<W: Watcher> {
    queue: Arc<EventQueue<Question<W>>>,
    failure: Arc<OnceLock<FeedFailure>>,
}

impl<W: Watcher> Feed<W> {
    /// Starts to follow from `market`'s state, with a history that follows the same events and has not got any yet.
    pub fn start(
        market: &dyn MarketState,
        history: Option<SharedHistory>,
        watcher: W,
    ) -> Result<Feed<W>, HistoryError> {
        let view = contain(Part::Feed, || {
            let mut view = View::new(market, history.as_ref().map(SharedHistory::read).as_deref());
            if let Some(history) = &history {
                view.recall(&history.read())?;
            }
            Ok(view)
        });
        Feed::follow(market, view, history, watcher)
    }

    /// Starts to follow from `market`'s state without history files. The history is in a database, and `known` is what
    /// the database knows of that state.
    pub fn start_from(market: &dyn MarketState, known: &InitialHistory, watcher: W) -> Result<Feed<W>, HistoryError> {
        let view = contain(Part::Feed, || {
            let mut view = View::new(market, None);
            view.recognize(known);
            Ok(view)
        });
        Feed::follow(market, view, None, watcher)
    }

    /// Follows from a view. If a panic ended its making, the feed has failed, and the market goes on without it.
    fn follow(
        market: &dyn MarketState,
        view: Result<Result<View, HistoryError>, Panicked>,
        history: Option<SharedHistory>,
        watcher: W,
    ) -> Result<Feed<W>, HistoryError> {
        let line = EventLine { queue: Arc::new(EventQueue::new(BEHIND_FROM, WAITING_MAX)), failure: Arc::default() };
        let (view, panicked) = match view {
            Ok(view) => (view?, None),
            Err(panicked) => (View::new(&NoMarket, None), Some(panicked)),
        };
        let listeners = Listeners::default();
        let mut follower = FeedThread { line: line.clone(), model: ReadModel { view, history, watcher, listeners } };
        if let Some(panicked) = panicked {
            follower.fail(market.sequence(), panicked);
        }
        let thread = std::thread::Builder::new().name("feed".to_string()).spawn(move || follower.run());
        let thread = thread.map_err(|source| HistoryError::Io { name: "thread".to_owned(), source })?;
        Ok(Feed { line, thread })
    }

    pub fn asker(&self) -> FeedHandle<W> {
        FeedHandle(self.line.clone())
    }

    /// Returns the follower that takes events.
    pub fn follower(&self) -> Arc<dyn EventFollower> {
        self.line.queue.clone()
    }

    /// Follows all events that arrived, ends the thread, and returns the read model.
    pub fn stop(self) -> ReadModel<W> {
        self.line.queue.close();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// An empty market.
pub(crate) struct NoMarket;

impl MarketState for NoMarket {
    fn sequence(&self) -> Sequence {
        Sequence::ZERO
    }

    fn time(&self) -> Time {
        Time::ZERO
    }

    fn next_order(&self) -> OrderId {
        OrderId(1)
    }

    fn export(&self, _: &mut dyn FnMut(StateItem)) {}
}

impl<W: Watcher> FeedHandle<W> {
    /// Calls `question` with the read model as it is after all events that arrived so far. A feed that has ended never
    /// calls it. A panic of the question ends this question alone.
    pub fn ask<F: FnOnce(&mut ReadModel<W>) + Send + 'static>(&self, question: F) {
        self.ask_as(type_name::<F>(), question);
    }

    /// Asks under a name, which the log has if the question panics.
    pub fn ask_as(&self, name: &'static str, question: impl FnOnce(&mut ReadModel<W>) + Send + 'static) {
        self.0.queue.ask(Question { name, work: Box::new(question) });
    }

    /// Returns the fault by which the feed has ended; `None` while it runs.
    pub fn failure(&self) -> Option<&FeedFailure> {
        self.0.failure.get()
    }

    /// Returns the number of events that wait to be followed, without waiting behind them.
    pub fn waiting_events(&self) -> usize {
        self.0.queue.waiting_events()
    }
}

impl<W: Watcher> Clone for FeedHandle<W> {
    fn clone(&self) -> FeedHandle<W> {
        FeedHandle(self.0.clone())
    }
}

impl<W: Watcher> Clone for EventLine<W> {
    fn clone(&self) -> EventLine<W> {
        EventLine { queue: self.queue.clone(), failure: self.failure.clone() }
    }
}

impl<W> ReadModel<W> {
    /// Adds a listener of an account. Does nothing if it listens already.
    pub fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        self.listeners.add(&mut self.view, account, listener);
    }

    /// Takes the news of watched accounts. The listeners get them first.
    pub fn take_news(&mut self) -> Vec<News> {
        let all = self.view.take_news();
        self.listeners.tell(&mut self.view, &all);
        all
    }

    /// Returns the last `limit` candles of a symbol that began before `before`, oldest first.
    pub fn candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        // The history may be behind: to ask it is to wait for the keeper and its disk.
        match candles_in_memory(&self.view, symbol, interval, before, limit)? {
            Some(candles) => Ok(candles),
            None => candles(&self.view, self.history()?.as_ref(), symbol, interval, before, limit),
        }
    }

    /// Returns the last `limit` candles to be published, oldest first. Publishing waits for no disk: those of a second
    /// come from memory alone, and are none where it does not have all of them.
    pub fn candles_to_tell(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        if interval != Interval::Second {
            return self.candles(symbol, interval, None, limit);
        }
        Ok(candles_in_memory(&self.view, symbol, interval, None, limit)?.unwrap_or_default())
    }

    /// Returns an open order with its time, kind and trigger as it was placed: the view does not know these of orders
    /// that were open at the start. The time stays zero where the history does not know it either.
    pub fn as_placed(&self, open: &Open) -> Result<Open, HistoryError> {
        match (open.time, &self.history) {
            (Time::ZERO, Some(history)) => Ok(match history.read().order(open.order)? {
                // The view knows its current trigger, and since the start when it was triggered.
                Some(PastOrder { time, kind, trigger, self_trade, .. }) => {
                    Open { time, kind, trigger: open.trigger.or(trigger), self_trade, ..*open }
                }
                None => *open,
            }),
            _ => Ok(*open),
        }
    }

    /// Returns the history as it was after the last command that the view followed; `None` without history files.
    pub fn history(&self) -> Result<Option<HistoryAt<'_>>, HistoryError> {
        self.history.as_ref().map(|history| history.at(self.view.sequence())).transpose()
    }
}

/// The state of the thread.
struct FeedThread<W: Watcher> {
    line: EventLine<W>,
    model: ReadModel<W>,
}

impl<W: Watcher> FeedThread<W> {
    /// Follows and answers until the queue closes. A panic ends the feed alone: everything that it shows can be made
    /// again from what the market keeps.
    fn run(mut self) -> ReadModel<W> {
        if let Err(panicked) = contain(Part::Feed, || self.follow()) {
            self.fail(self.model.view.sequence(), panicked);
        }
        self.model
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
            patience = W::look(&mut self.model).min(TICK_MAX);
        }
    }

    fn answer(&mut self, Question { name, work }: Question<W>) {
        if let Err(panicked) = contain(Part::Question, || work(&mut self.model)) {
            let after = self.model.view.sequence();
            tracing::error!(after = after.0, question = name, %panicked, "a fault of the server ended a question to the feed; please report it");
        }
    }

    fn fail(&mut self, after: Sequence, panicked: Panicked) {
        tracing::error!(
            after = after.0,
            %panicked,
            "the feed ended by a fault of the server, and the market goes on without it; please report it"
        );
        // Only this line sets it, once.
        let _ = self.line.failure.set(FeedFailure { after, what: panicked.what });
        self.line.queue.abandon();
        // Subscribers would wait for news for ever. Nothing looks at the view, which may be half changed.
        let told = contain(Part::Feed, || {
            self.model.listeners.end();
            W::failed(&mut self.model);
        });
        if let Err(panicked) = told {
            tracing::error!(%panicked, "not all who follow the feed know that it ended");
        }
    }

    fn follow_batch(&mut self, batch: &EventBatch) {
        self.model.view.apply(batch);
        if self.model.view.gathered() > GATHERED_MAX {
            // A step of the price may move no part of it, and an order that several steps move is one piece of news.
            self.model.view.tell_moves();
        }
        if self.model.view.gathered() > GATHERED_MAX {
            W::tell_now(&mut self.model);
        }
    }
}
