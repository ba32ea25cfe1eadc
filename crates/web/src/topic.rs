//! What can be subscribed to over a WebSocket, of any interface.

use std::time::Duration;

use engine::{AccountIndex, SymbolIndex};
use feed::Interval;

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Book(SymbolIndex),
    Trades(SymbolIndex),
    Candles(SymbolIndex, Interval),
    Orders(AccountIndex),
    /// What happens to its orders, each of it, in order.
    Reports(AccountIndex),
    Symbols,
    Status,
    /// Of the compatible interface.
    Stream(SymbolIndex, Stream, Envelope),
    User(AccountIndex, Envelope),
}

impl Topic {
    pub(crate) fn subject(self) -> Option<Subject> {
        match self {
            Topic::Book(symbol) | Topic::Trades(symbol) | Topic::Candles(symbol, _) | Topic::Stream(symbol, ..) => {
                Some(Subject::Symbol(symbol))
            }
            Topic::Orders(account) | Topic::Reports(account) | Topic::User(account, _) => {
                Some(Subject::Account(account))
            }
            Topic::Symbols | Topic::Status => None,
        }
    }
}

/// The symbol or account that a topic is about, if it is about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Symbol(SymbolIndex),
    Account(AccountIndex),
}

/// What is told of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stream {
    /// Levels that changed, gathered.
    Depth(Every),
    /// The best levels.
    BestLevels(u8, Every),
    Trade,
    /// The same, each trade as an aggregate of its own.
    AggregateTrade,
    Kline(Interval),
    BookTicker,
    Ticker,
    MiniTicker,
}

/// The shortest time between two messages about changes of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Every {
    Second,
    TenthOfASecond,
}

impl Every {
    pub(crate) fn duration(self) -> Duration {
        match self {
            Every::Second => Duration::from_secs(1),
            Every::TenthOfASecond => Duration::from_millis(100),
        }
    }
}

/// What events are wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Envelope {
    /// Nothing.
    Raw,
    /// The stream's name: `{"stream":…,"data":…}`.
    Combined,
    /// The number of the subscription: `{"subscriptionId":…,"event":…}`.
    Api,
}

impl Envelope {
    pub(crate) const ALL: [Envelope; 3] = [Envelope::Raw, Envelope::Combined, Envelope::Api];
}
