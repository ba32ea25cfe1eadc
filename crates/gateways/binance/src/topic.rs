//! The streams of this interface as topics of the hub, which knows their numbers alone.

use std::time::Duration;

use feed::Interval;
use terms::{AccountIndex, SymbolIndex};

use crate::kline::KlineInterval;
use crate::time_unit::TimeUnit;
use http_gateway::topic::{DialectStream, SecretName, Subject, Topic};

/// A stream that a connection follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamTopic {
    OfSymbol(SymbolIndex, Stream, Envelope),
    /// The tickers of all symbols that changed.
    OfAll(Tickers, Envelope),
    User(AccountIndex, Envelope),
    /// An account's stream whose events carry the listen key that the client used: `{"stream":…,"data":…}`.
    UserByKey(AccountIndex, SecretName, TimeUnit),
}

impl StreamTopic {
    /// Returns its topic.
    pub(crate) fn topic(self) -> Topic {
        let (subject, code, envelope, name) = match self {
            StreamTopic::OfSymbol(symbol, stream, envelope) => (Subject::Symbol(symbol), stream.code(), envelope, None),
            StreamTopic::OfAll(tickers, envelope) => (Subject::AllSymbols, tickers.code(), envelope, None),
            StreamTopic::User(account, envelope) => (Subject::Account(account), NO_CODE, envelope, None),
            StreamTopic::UserByKey(account, key, unit) => {
                (Subject::Account(account), NO_CODE, Envelope { wrap: Wrap::Combined, unit }, Some(key))
            }
        };
        let [kind, first, second] = code;
        let number = u64::from_be_bytes([0, 0, 0, kind, first, second, envelope.wrap as u8, envelope.unit as u8]);
        Topic::Dialect(subject, DialectStream { number, name })
    }

    /// Returns the account that it is about, if it is about one.
    pub(crate) fn account(self) -> Option<AccountIndex> {
        match self {
            StreamTopic::User(account, _) | StreamTopic::UserByKey(account, ..) => Some(account),
            StreamTopic::OfSymbol(..) | StreamTopic::OfAll(..) => None,
        }
    }

    /// Returns the stream of a topic; `None` for a topic of another interface.
    pub(crate) fn of(topic: Topic) -> Option<StreamTopic> {
        let Topic::Dialect(subject, DialectStream { number, name }) = topic else { return None };
        let [_, _, _, kind, first, second, wrap, unit] = number.to_be_bytes();
        let envelope = Envelope { wrap: at(&Wrap::ALL, wrap)?, unit: at(&TimeUnit::ALL, unit)? };
        let code = [kind, first, second];
        match (subject, name) {
            (Subject::Symbol(symbol), None) => Some(StreamTopic::OfSymbol(symbol, Stream::of(code)?, envelope)),
            (Subject::AllSymbols, None) => Some(StreamTopic::OfAll(Tickers::of(code)?, envelope)),
            (Subject::Account(account), None) => Some(StreamTopic::User(account, envelope)),
            (Subject::Account(account), Some(key)) => Some(StreamTopic::UserByKey(account, key, envelope.unit)),
            (Subject::Symbol(_) | Subject::AllSymbols, Some(_)) => None,
        }
    }
}

/// The kind of a stream, and two places in lists or numbers.
type Code = [u8; 3];

/// The code of an account's stream, of which there is one kind.
const NO_CODE: Code = [0; 3];

/// Returns the element at a place of a list.
fn at<T: Copy>(all: &[T], place: u8) -> Option<T> {
    all.get(usize::from(place)).copied()
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

impl Stream {
    fn code(self) -> Code {
        match self {
            Stream::Depth(every) => [0, every as u8, 0],
            Stream::BestLevels(levels, every) => [1, every as u8, levels],
            Stream::Trade => [2, 0, 0],
            Stream::AggregateTrade => [3, 0, 0],
            Stream::Kline(interval) => [4, interval.place(), 0],
            Stream::BookTicker => [5, 0, 0],
            Stream::Ticker => [6, 0, 0],
            Stream::MiniTicker => [7, 0, 0],
            Stream::WindowTicker(window) => [8, window as u8, 0],
            Stream::AveragePrice => [9, 0, 0],
        }
    }

    fn of([kind, place, levels]: Code) -> Option<Stream> {
        match kind {
            0 => at(&Every::ALL, place).map(Stream::Depth),
            1 => at(&Every::ALL, place).map(|every| Stream::BestLevels(levels, every)),
            2 => Some(Stream::Trade),
            3 => Some(Stream::AggregateTrade),
            4 => at(&KlineInterval::ALL, place).map(|(_, interval)| Stream::Kline(interval)),
            5 => Some(Stream::BookTicker),
            6 => Some(Stream::Ticker),
            7 => Some(Stream::MiniTicker),
            8 => at(&Window::ALL, place).map(Stream::WindowTicker),
            9 => Some(Stream::AveragePrice),
            _ => None,
        }
    }
}

/// A stream of all symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tickers {
    Day,
    Mini,
    Window(Window),
}

impl Tickers {
    fn code(self) -> Code {
        match self {
            Tickers::Day => [0, 0, 0],
            Tickers::Mini => [1, 0, 0],
            Tickers::Window(window) => [2, window as u8, 0],
        }
    }

    fn of([kind, place, _]: Code) -> Option<Tickers> {
        match kind {
            0 => Some(Tickers::Day),
            1 => Some(Tickers::Mini),
            2 => at(&Window::ALL, place).map(Tickers::Window),
            _ => None,
        }
    }
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
    /// A second that the name of the stream says, as messages repeat it.
    NamedSecond,
    TenthOfASecond,
}

impl Every {
    const ALL: [Every; 3] = [Every::Second, Every::NamedSecond, Every::TenthOfASecond];

    pub(crate) fn duration(self) -> Duration {
        match self {
            Every::Second | Every::NamedSecond => Duration::from_secs(1),
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

impl Wrap {
    const ALL: [Wrap; 3] = [Wrap::Raw, Wrap::Combined, Wrap::Api];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose topic stood for another one would get that one's events.
    #[test]
    fn each_stream_is_the_one_of_its_topic() {
        let (symbol, account) = (SymbolIndex(7), AccountIndex(8));
        let mut streams = vec![Stream::Trade, Stream::AggregateTrade, Stream::BookTicker, Stream::Ticker];
        streams.extend([Stream::MiniTicker, Stream::AveragePrice]);
        for every in Every::ALL {
            streams.push(Stream::Depth(every));
            streams.extend([5, 10, 20].map(|levels| Stream::BestLevels(levels, every)));
        }
        streams.extend(KlineInterval::ALL.map(|(_, interval)| Stream::Kline(interval)));
        streams.extend(Window::ALL.map(Stream::WindowTicker));
        let tickers = [Tickers::Day, Tickers::Mini].into_iter().chain(Window::ALL.map(Tickers::Window));
        let tickers: Vec<Tickers> = tickers.collect();
        let key = SecretName::of(&"k".repeat(access::RANDOM_TEXT_LENGTH)).expect("as long as a key");
        let mut topics = std::collections::HashSet::new();
        let mut check = |stream: StreamTopic| {
            assert_eq!(StreamTopic::of(stream.topic()), Some(stream));
            assert!(topics.insert(stream.topic()), "{stream:?} has a topic of its own");
        };
        for unit in TimeUnit::ALL {
            for wrap in Wrap::ALL {
                let envelope = Envelope { wrap, unit };
                streams.iter().for_each(|stream| check(StreamTopic::OfSymbol(symbol, *stream, envelope)));
                tickers.iter().for_each(|tickers| check(StreamTopic::OfAll(*tickers, envelope)));
                check(StreamTopic::User(account, envelope));
            }
            check(StreamTopic::UserByKey(account, key, unit));
        }
        assert_eq!(StreamTopic::of(Topic::Book(symbol)), None);
    }
}
