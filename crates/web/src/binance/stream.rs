//! Streams by their names: `spyusd@depth@100ms`.

use std::fmt;

use engine::SymbolIndex;
use feed::{Interval, View};

use super::names;
use crate::topic::{Every, Stream};

impl Stream {
    /// What stands behind the pair.
    pub(super) fn parse(name: &str) -> Option<Stream> {
        let (kind, every) = match name.strip_suffix("@100ms") {
            Some(kind) => (kind, Every::TenthOfASecond),
            None => (name.strip_suffix("@1000ms").unwrap_or(name), Every::Second),
        };
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
            _ => Stream::Kline(Interval::parse(kind.strip_prefix("kline_")?)?),
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
        }
    }
}

fn suffix(every: Every) -> &'static str {
    match every {
        Every::Second => "",
        Every::TenthOfASecond => "@100ms",
    }
}

/// A stream's name.
pub(super) fn name(view: &View, symbol: SymbolIndex, stream: Stream) -> String {
    format!("{}@{stream}", names::pair(view.listing(symbol).name).to_ascii_lowercase())
}

/// The stream of this name, if there is one.
pub(super) fn find(view: &View, name: &str) -> Option<(SymbolIndex, Stream)> {
    let (pair, stream) = name.split_once('@')?;
    Some((names::find_in_any_case(view, pair)?, Stream::parse(stream)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_by_its_name() {
        let names = [
            "depth",
            "depth@100ms",
            "depth5",
            "depth10@100ms",
            "depth20",
            "trade",
            "aggTrade",
            "kline_1m",
            "kline_1d",
            "bookTicker",
            "ticker",
            "miniTicker",
        ];
        for name in names {
            assert_eq!(Stream::parse(name).map(|stream| stream.to_string()), Some(name.to_owned()));
        }
        assert_eq!(Stream::parse("depth@1000ms"), Some(Stream::Depth(Every::Second)));
        for unknown in ["", "depth7", "depth@10ms", "trade@100ms", "kline_2m", "kline_", "Trade", "depth@100ms@100ms"] {
            assert_eq!(Stream::parse(unknown), None, "{unknown}");
        }
    }
}
