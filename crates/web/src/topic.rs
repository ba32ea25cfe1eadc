//! What can be subscribed to over a WebSocket, of any interface.

use std::time::Duration;

use engine::{AccountIndex, SymbolIndex};
use feed::Interval;

use crate::kline::KlineInterval;
use crate::listen_keys::ListenKeyText;

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
    /// Of all symbols that changed.
    Tickers(Tickers, Envelope),
    User(AccountIndex, Envelope),
    /// The same, each event with the listen key that it was asked for by: `{"stream":…,"data":…}`.
    UserByKey(AccountIndex, ListenKeyText, TimeUnit),
}

impl Topic {
    pub(crate) fn subject(self) -> Option<Subject> {
        match self {
            Topic::Book(symbol) | Topic::Trades(symbol) | Topic::Candles(symbol, _) | Topic::Stream(symbol, ..) => {
                Some(Subject::Symbol(symbol))
            }
            Topic::Orders(account)
            | Topic::Reports(account)
            | Topic::User(account, _)
            | Topic::UserByKey(account, ..) => Some(Subject::Account(account)),
            Topic::Tickers(..) => Some(Subject::AllSymbols),
            Topic::Symbols | Topic::Status => None,
        }
    }
}

/// What a topic is about whose followers are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Symbol(SymbolIndex),
    Account(AccountIndex),
    /// All symbols, as the compatible interface tells of them.
    AllSymbols,
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
    Kline(KlineInterval),
    BookTicker,
    Ticker,
    MiniTicker,
    WindowTicker(Window),
    AveragePrice,
}

/// What is told of all symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tickers {
    Day,
    Mini,
    Window(Window),
}

/// How far back a ticker goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Window {
    Hour,
    FourHours,
    Day,
}

impl Window {
    pub(crate) const ALL: [Window; 3] = [Window::Hour, Window::FourHours, Window::Day];

    /// The name that it goes by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Window::Hour => "1h",
            Window::FourHours => "4h",
            Window::Day => "1d",
        }
    }

    pub(crate) fn micros(self) -> u64 {
        let hours = match self {
            Window::Hour => 1,
            Window::FourHours => 4,
            Window::Day => 24,
        };
        hours * Interval::Hour.micros()
    }
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

/// How events are told to those who follow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Envelope {
    pub(crate) wrap: Wrap,
    pub(crate) unit: TimeUnit,
}

/// What events are wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wrap {
    /// Nothing.
    Raw,
    /// The stream's name: `{"stream":…,"data":…}`.
    Combined,
    /// The number of the subscription: `{"subscriptionId":…,"event":…}`.
    Api,
}

/// In which unit times are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum TimeUnit {
    #[default]
    Millisecond,
    Microsecond,
}
