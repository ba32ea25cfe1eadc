//! The port to a database that keeps the history: which questions it answers, and with what.

use engine::{AccountIndex, Money, OrderId, Sequence, Shares, SymbolIndex, Time};
use feed::{Amended, Candle, HistoryError, Interval, Open, PastOrder, Relatives, Report, Trade};

/// A page, newest first, and where the next one begins.
pub type Page<T> = (Vec<T>, Option<u64>);

/// An order that was placed, and what is open of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    pub order: PastOrder,
    /// As it was when it was looked up; none if it was done.
    pub open: Option<Open>,
    /// When it was triggered; none where nobody knows.
    pub triggered: Option<Time>,
    /// The order that it was linked with; none where nobody knows.
    pub linked: Option<OrderId>,
    /// The order that it waited for, or waits; none where nobody knows.
    pub pended: Option<OrderId>,
}

/// Which trades of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfAccount {
    pub account: AccountIndex,
    /// Of this symbol alone.
    pub symbol: Option<SymbolIndex>,
    /// Of this order alone.
    pub order: Option<OrderId>,
}

/// Where trades of a symbol begin: with the first one that is neither before this one nor before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// None for any.
    pub trade: Option<u64>,
    /// None for any.
    pub time: Option<Time>,
}

/// Which candles: those that begin from one time on and before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first ones from here on are meant; without it the last ones.
    pub from: Option<Time>,
    /// None for all that there are.
    pub before: Option<Time>,
}

/// A question to the database. What it gives is at least as new as all that was answered when it was asked.
pub enum Question {
    /// Trades of a symbol before one of them; told none if that is not one of them.
    Trades { symbol: SymbolIndex, before: Option<u64>, limit: usize, told: Told<Option<Page<Trade>>> },
    /// The first trades of a symbol from somewhere on, oldest first.
    TradesSince { symbol: SymbolIndex, since: Since, limit: usize, told: Told<Vec<Trade>> },
    /// Trades of an account, as those of a symbol.
    TradesOf { of: OfAccount, before: Option<u64>, limit: usize, told: Told<Option<Page<Trade>>> },
    /// Orders of an account, of one symbol or of all, as its trades.
    Orders {
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        before: Option<u64>,
        limit: usize,
        told: Told<Option<Page<Past>>>,
    },
    /// Orders by their ids, in this order: those that there are.
    Named { orders: Vec<OrderId>, told: Told<Vec<Past>> },
    /// What was taken off an order by the command `from` and later ones, oldest first: the first `most`.
    Amendments { order: OrderId, from: Sequence, most: usize, told: Told<Vec<Amended>> },
    /// What was reported of an account's orders behind one command and up to another one, in order: some from the beginning,
    /// about `most`, and the command up to which that is all.
    Reports {
        account: AccountIndex,
        behind: Sequence,
        through: Sequence,
        most: usize,
        told: Told<(Vec<Report>, Sequence)>,
    },
    /// Candles of a symbol, oldest first. The ends of the stretch are multiples of their length.
    Candles { symbol: SymbolIndex, interval: Interval, stretch: Stretch, limit: usize, told: Told<Vec<Candle>> },
}

/// Called with the answer, once: what was found, and the last command whose effects were there.
pub type Told<T> = Box<dyn FnOnce(Result<(T, Sequence), NoAnswer>) + Send>;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The database does not answer.
    Away,
    /// What is asked for was removed, as it was to be. All that was removed of its kind happened up to this time.
    NoLongerKept { until: Time },
}

/// Who asks the database.
pub trait Records: Send + Sync {
    /// Leaves a question, and waits for nothing.
    fn ask(&self, question: Question);

    /// Whether it knows of every order that there ever was.
    fn is_whole(&self) -> bool;
}

/// Why there is no answer.
pub(crate) enum Trouble {
    /// Its files cannot be read.
    Unreadable(HistoryError),
    /// The database does not answer in time.
    Away,
    /// The server serves nobody at the moment.
    NotReady,
}

impl From<NoAnswer> for Trouble {
    fn from(why: NoAnswer) -> Trouble {
        match why {
            NoAnswer::Away => Trouble::Away,
            NoAnswer::NoLongerKept { until } => Trouble::Unreadable(HistoryError::NoLongerKept { until }),
        }
    }
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Trouble {
        Trouble::Unreadable(error)
    }
}

impl Past {
    /// An order as a database has it.
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
