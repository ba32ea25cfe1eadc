//! The port to a database that keeps the history: its questions and their answers.

use feed::{Amended, Candle, HistoryError, Interval, Open, PastOrder, Relatives, Report, Trade};
use terms::{AccountIndex, Money, OrderId, Sequence, Shares, SymbolIndex, Time};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Questions of a kind without an answer, of one member, at most. Clients that are no members are one together.
pub(crate) const UNANSWERED_OF_MEMBER_MAX: usize = 16;

/// A page, newest first, and the start of the next one.
pub type Page<T> = (Vec<T>, Option<u64>);

/// An order that was placed, and its open part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    pub order: PastOrder,
    /// Its state when it was looked up; `None` if it was done.
    pub open: Option<Open>,
    /// The time at which it was triggered; `None` where that is not known.
    pub triggered: Option<Time>,
    /// The order that it was linked with; `None` where that is not known.
    pub linked: Option<OrderId>,
    /// The working order on which it pends or pended; `None` where that is not known.
    pub pended: Option<OrderId>,
}

/// A selection of an account's trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradesOfAccount {
    pub account: AccountIndex,
    /// Only trades of this symbol.
    pub symbol: Option<SymbolIndex>,
    /// Only trades of this order.
    pub order: Option<OrderId>,
}

/// The start of a symbol's trades: the first one that is neither before this number nor before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// `None` for any.
    pub trade: Option<u64>,
    /// `None` for any.
    pub time: Option<Time>,
}

/// A stretch of candles: those that begin from one time on and before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The time from which the first ones count; without it the last ones count.
    pub from: Option<Time>,
    /// `None` without an end.
    pub before: Option<Time>,
}

/// A question to the database. The answer is at least as new as everything that was answered when it was asked.
pub enum Question {
    /// Trades of a symbol before one of them; `None` if that is not one of them.
    Trades { symbol: SymbolIndex, before: Option<u64>, limit: usize, told: HistoryAnswer<Option<Page<Trade>>> },
    /// The first trades of a symbol from somewhere on, oldest first.
    TradesSince { symbol: SymbolIndex, since: Since, limit: usize, told: HistoryAnswer<Vec<Trade>> },
    /// Trades of an account, like those of a symbol.
    TradesOf { of: TradesOfAccount, before: Option<u64>, limit: usize, told: HistoryAnswer<Option<Page<Trade>>> },
    /// Orders of an account, of one symbol or of all, like its trades.
    Orders {
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        before: Option<u64>,
        limit: usize,
        told: HistoryAnswer<Option<Page<Past>>>,
    },
    /// The existing orders of these ids, in this order: those of the owner; those of all without one.
    Named { owner: Option<AccountIndex>, orders: Vec<OrderId>, told: HistoryAnswer<Vec<Past>> },
    /// The first `most` reductions of an order by the command `from` and later ones, oldest first.
    Amendments { order: OrderId, from: Sequence, most: usize, told: HistoryAnswer<Vec<Amended>> },
    /// The reports of an account's orders behind one command and up to another one, in order: about `most` from the
    /// beginning, and the command up to which they are complete.
    Reports {
        account: AccountIndex,
        behind: Sequence,
        through: Sequence,
        most: usize,
        told: HistoryAnswer<(Vec<Report>, Sequence)>,
    },
    /// Candles of a symbol, oldest first. The ends of the stretch are multiples of their length.
    Candles {
        symbol: SymbolIndex,
        interval: Interval,
        stretch: Stretch,
        limit: usize,
        told: HistoryAnswer<Vec<Candle>>,
    },
}

/// The rows of an answer and the last command whose effects they include, or the reason why there are none.
type Found<T> = Result<(T, Sequence), NoAnswer>;

/// The way back of an answer.
pub struct HistoryAnswer<T> {
    back: oneshot::Sender<Found<T>>,
    /// A place in the line, which is given back with the answer, also when the client has gone.
    place: Place,
}

/// The place of a question among those without an answer, until it is dropped.
pub(crate) struct Place {
    pub(crate) _share: Option<OwnedSemaphorePermit>,
    pub(crate) _place: OwnedSemaphorePermit,
}

impl<T> HistoryAnswer<T> {
    /// Makes the way back of a question that has a place, and the receiver of its answer.
    pub(crate) fn new(place: Place) -> (HistoryAnswer<T>, oneshot::Receiver<Found<T>>) {
        let (back, answered) = oneshot::channel();
        (HistoryAnswer { back, place }, answered)
    }

    /// Tells the answer.
    pub fn tell(self, found: Found<T>) {
        let HistoryAnswer { back, place } = self;
        drop(place);
        drop(back.send(found));
    }

    /// Whether nobody waits for the answer any more.
    fn is_left(&self) -> bool {
        self.back.is_closed()
    }
}

impl Question {
    /// Whether nobody waits for the answer any more.
    pub fn is_left(&self) -> bool {
        match self {
            Question::Trades { told, .. } | Question::TradesOf { told, .. } => told.is_left(),
            Question::TradesSince { told, .. } => told.is_left(),
            Question::Orders { told, .. } => told.is_left(),
            Question::Named { told, .. } => told.is_left(),
            Question::Amendments { told, .. } => told.is_left(),
            Question::Reports { told, .. } => told.is_left(),
            Question::Candles { told, .. } => told.is_left(),
        }
    }
}

/// The reason why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The database does not answer.
    Away,
    /// A fault of the server ended the question.
    Fault,
    /// The rows were removed, as intended. All removed rows of this kind are from up to this time.
    NoLongerKept { until: Time },
}

/// The database.
pub trait HistoryPort: Send + Sync {
    /// Queues a question, and does not wait.
    fn ask(&self, question: Question);

    /// Whether it knows every order that ever existed.
    fn is_whole(&self) -> bool;
}

/// The reason why there is no answer.
pub enum HistoryFault {
    /// The history's files cannot be read.
    Unreadable(HistoryError),
    /// The database does not answer in time.
    Away,
    /// The member has as many questions without an answer as it may have.
    Crowded,
    /// The server serves no client at the moment.
    NotReady,
    /// A fault of the server ended the question.
    Fault,
}

impl From<NoAnswer> for HistoryFault {
    fn from(why: NoAnswer) -> HistoryFault {
        match why {
            NoAnswer::Away => HistoryFault::Away,
            NoAnswer::Fault => HistoryFault::Fault,
            NoAnswer::NoLongerKept { until } => HistoryFault::Unreadable(HistoryError::NoLongerKept { until }),
        }
    }
}

impl From<HistoryError> for HistoryFault {
    fn from(error: HistoryError) -> HistoryFault {
        HistoryFault::Unreadable(error)
    }
}

impl Past {
    /// Makes an order as a database has it.
    pub fn of(
        order: PastOrder,
        (open, money): (Shares, Money),
        triggered: Option<Time>,
        Relatives { linked, pended }: Relatives,
    ) -> Past {
        let open = Open { triggered, linked, ..Open::of_past(&order, open, money) };
        Past { order, open: order.ended.is_none().then_some(open), triggered, linked, pended }
    }
}
