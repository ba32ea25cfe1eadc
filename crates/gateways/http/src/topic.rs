//! The topics of subscriptions over a WebSocket, of all interfaces.

use std::time::Duration;

use feed::Interval;
use terms::{AccountIndex, SymbolIndex};

use crate::kline::KlineInterval;
use crate::listen_keys::ListenKeyText;

/// A topic to which a client can subscribe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Book(SymbolIndex),
    Trades(SymbolIndex),
    Candles(SymbolIndex, Interval),
    Orders(AccountIndex),
    /// All that happens to the account's orders, one thing at a time, in order.
    Reports(AccountIndex),
    Symbols,
    Status,
    /// A stream of the compatible interface.
    Stream(SymbolIndex, Stream, Envelope),
    /// The tickers of all symbols that changed.
    Tickers(Tickers, Envelope),
    User(AccountIndex, Envelope),
    /// An account's stream whose events carry the listen key that the client used: `{"stream":…,"data":…}`.
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

/// The subject of topics whose subscribers are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Symbol(SymbolIndex),
    Account(AccountIndex),
    /// All symbols, for the compatible interface.
    AllSymbols,
}

/// A stream of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stream {
    /// Levels that changed, gathered.
    Depth(Every),
    /// The best levels.
    BestLevels(u8, Every),
    Trade,
    /// Trades, each as an aggregate of its own.
    AggregateTrade,
    Kline(KlineInterval),
    BookTicker,
    Ticker,
    MiniTicker,
    WindowTicker(Window),
    AveragePrice,
}

/// A stream of all symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tickers {
    Day,
    Mini,
    Window(Window),
}

/// The window of a ticker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Window {
    Hour,
    FourHours,
    Day,
}

impl Window {
    pub(crate) const ALL: [Window; 3] = [Window::Hour, Window::FourHours, Window::Day];

    /// Returns its name.
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

/// The form of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Envelope {
    pub(crate) wrap: Wrap,
    pub(crate) unit: TimeUnit,
}

/// The wrapping of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wrap {
    /// No wrapping.
    Raw,
    /// The stream's name: `{"stream":…,"data":…}`.
    Combined,
    /// The number of the subscription: `{"subscriptionId":…,"event":…}`.
    Api,
}

/// The unit of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum TimeUnit {
    #[default]
    Millisecond,
    Microsecond,
}
