//! Streams by their names: `spyusd@depth@100ms`.

use std::fmt;

use feed::View;
use terms::SymbolIndex;

use crate::kline::KlineInterval;
use crate::names;
use crate::topic::{Envelope, Every, Stream, StreamTopic, Tickers, Window};

impl Stream {
    /// Reads the part behind the pair.
    pub(crate) fn parse(name: &str) -> Option<Stream> {
        let with_pace = |every| Some((name.strip_suffix(suffix(every))?, every));
        let paced = [Every::TenthOfASecond, Every::NamedSecond].into_iter().find_map(with_pace);
        let (kind, every) = paced.unwrap_or((name, Every::Second));
        let stream = match kind {
            "depth" => return Some(Stream::Depth(every)),
            "depth5" => return Some(Stream::BestLevels(5, every)),
            "depth10" => return Some(Stream::BestLevels(10, every)),
            "depth20" => return Some(Stream::BestLevels(20, every)),
            "trade" => Stream::Trade,
            "aggTrade" => Stream::AggregateTrade,
            "bookTicker" => Stream::BookTicker,
            "ticker" => Stream::Ticker,
            "miniTicker" => Stream::MiniTicker,
            "avgPrice" => Stream::AveragePrice,
            _ if kind.starts_with(WINDOW_TICKER) => Stream::WindowTicker(window(kind)?),
            _ => Stream::Kline(KlineInterval::parse(kind.strip_prefix("kline_")?)?),
        };
        // Only the book has a pace.
        (kind == name).then_some(stream)
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stream::Depth(every) => write!(f, "depth{}", suffix(*every)),
            Stream::BestLevels(levels, every) => write!(f, "depth{levels}{}", suffix(*every)),
            Stream::Trade => f.write_str("trade"),
            Stream::AggregateTrade => f.write_str("aggTrade"),
            Stream::Kline(interval) => write!(f, "kline_{}", interval.name()),
            Stream::BookTicker => f.write_str("bookTicker"),
            Stream::Ticker => f.write_str("ticker"),
            Stream::MiniTicker => f.write_str("miniTicker"),
            Stream::WindowTicker(window) => write!(f, "{WINDOW_TICKER}{}", window.name()),
            Stream::AveragePrice => f.write_str("avgPrice"),
        }
    }
}

const WINDOW_TICKER: &str = "ticker_";

fn window(kind: &str) -> Option<Window> {
    let window = kind.strip_prefix(WINDOW_TICKER)?;
    Window::ALL.into_iter().find(|its| its.name() == window)
}

fn suffix(every: Every) -> &'static str {
    match every {
        Every::Second => "",
        Every::NamedSecond => "@1000ms",
        Every::TenthOfASecond => "@100ms",
    }
}

/// Returns a stream's name.
pub(crate) fn name(view: &View, symbol: SymbolIndex, stream: Stream) -> String {
    format!("{}@{stream}", names::pair(view.listing(symbol).name).to_ascii_lowercase())
}

/// Returns the name of a stream of all symbols.
pub(crate) fn name_of_all(tickers: Tickers) -> String {
    match tickers {
        Tickers::Day => "!ticker@arr".to_owned(),
        Tickers::Mini => "!miniTicker@arr".to_owned(),
        Tickers::Window(window) => format!("!{WINDOW_TICKER}{}@arr", window.name()),
    }
}

fn parse_of_all(name: &str) -> Option<Tickers> {
    let name = name.strip_suffix("@1000ms").unwrap_or(name);
    match name.strip_prefix('!')?.strip_suffix("@arr")? {
        "ticker" => Some(Tickers::Day),
        "miniTicker" => Some(Tickers::Mini),
        kind => window(kind).map(Tickers::Window),
    }
}

/// Finds the stream of this name, if there is one.
pub(crate) fn find(view: &View, name: &str, envelope: Envelope) -> Option<StreamTopic> {
    if let Some(tickers) = parse_of_all(name) {
        return Some(StreamTopic::OfAll(tickers, envelope));
    }
    let (pair, stream) = name.split_once('@')?;
    Some(StreamTopic::OfSymbol(names::find_in_any_case(view, pair)?, Stream::parse(stream)?, envelope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_by_its_name() {
        let names = [
            "depth",
            "depth@100ms",
            "depth@1000ms",
            "depth10@1000ms",
            "depth5",
            "depth10@100ms",
            "depth20",
            "trade",
            "aggTrade",
            "kline_1m",
            "kline_1d",
            "kline_3m",
            "kline_1M",
            "bookTicker",
            "ticker",
            "miniTicker",
            "ticker_1h",
            "ticker_4h",
            "ticker_1d",
            "avgPrice",
        ];
        for name in names {
            assert_eq!(Stream::parse(name).map(|stream| stream.to_string()), Some(name.to_owned()));
        }
        for unknown in
            ["", "depth7", "depth@10ms", "trade@100ms", "kline_2m", "kline_", "Trade", "depth@100ms@100ms", "ticker_2h"]
        {
            assert_eq!(Stream::parse(unknown), None, "{unknown}");
        }
        for name in ["!ticker@arr", "!miniTicker@arr", "!ticker_4h@arr"] {
            assert_eq!(parse_of_all(name).map(name_of_all), Some(name.to_owned()));
        }
        assert_eq!(parse_of_all("!miniTicker@arr@1000ms"), Some(Tickers::Mini));
        for unknown in ["ticker@arr", "!miniTicker@arr@3000ms", "!ticker", "!bookTicker@arr", "!ticker_2h@arr", "!@arr"]
        {
            assert_eq!(parse_of_all(unknown), None, "{unknown}");
        }
    }
}
