//! Candles: the trades of an interval of time in a few numbers.

use exchange::Trade;
use terms::{Position, Price, Time, Turnover};

/// The intervals whose candles are kept; the others are made of these, or of trades.
pub const KEPT: [Interval; 3] = [Interval::Minute, Interval::Hour, Interval::Day];

/// The trades between `start` and the start of the next candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle {
    /// The start, a multiple of the interval since the Unix epoch.
    pub start: Time,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub close: Price,
    /// Shares traded.
    pub volume: Position,
    /// The money paid for them.
    pub money: Turnover,
    pub trades: u64,
}

/// The length of a candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    Second,
    Minute,
    FiveMinutes,
    FifteenMinutes,
    Hour,
    Day,
}

impl Interval {
    pub const ALL: [Interval; 6] = [
        Interval::Second,
        Interval::Minute,
        Interval::FiveMinutes,
        Interval::FifteenMinutes,
        Interval::Hour,
        Interval::Day,
    ];

    /// The name of the interval.
    pub fn name(self) -> &'static str {
        match self {
            Interval::Second => "1s",
            Interval::Minute => "1m",
            Interval::FiveMinutes => "5m",
            Interval::FifteenMinutes => "15m",
            Interval::Hour => "1h",
            Interval::Day => "1d",
        }
    }

    /// The interval of this name.
    pub fn parse(name: &str) -> Option<Interval> {
        Interval::ALL.into_iter().find(|interval| interval.name() == name)
    }

    pub fn micros(self) -> u64 {
        let seconds = match self {
            Interval::Second => 1,
            Interval::Minute => 60,
            Interval::FiveMinutes => 300,
            Interval::FifteenMinutes => 900,
            Interval::Hour => 3_600,
            Interval::Day => 86_400,
        };
        seconds * 1_000_000
    }

    /// The start of the candle that holds `time`.
    pub fn start_of(self, time: Time) -> Time {
        Time(time.0 - time.0 % self.micros())
    }
}

impl Candle {
    /// Makes a candle of its first trade.
    pub fn of(trade: &Trade, interval: Interval) -> Candle {
        Candle::first(trade, interval.start_of(trade.time))
    }

    fn first(trade: &Trade, start: Time) -> Candle {
        Candle {
            start,
            open: trade.price,
            high: trade.price,
            low: trade.price,
            close: trade.price,
            volume: trade.shares.position(),
            money: trade.money().into(),
            trades: 1,
        }
    }

    /// Whether this candle, with this interval, holds a time: the check needs no division.
    pub fn has(&self, time: Time, interval: Interval) -> bool {
        time.0.checked_sub(self.start.0).is_some_and(|passed| passed < interval.micros())
    }

    /// Adds a later trade of the same interval.
    pub fn take(&mut self, trade: &Trade) {
        self.extend(&Candle::first(trade, self.start));
    }

    /// Adds a later candle of the same interval.
    pub fn extend(&mut self, later: &Candle) {
        self.high = self.high.max(later.high);
        self.low = self.low.min(later.low);
        self.close = later.close;
        // An execution has fewer than 2^63 units of shares, so it takes 2^64 of them to overflow this sum.
        self.volume = self.volume.plus(later.volume);
        self.money = self.money.plus(later.money);
        self.trades += later.trades;
    }

    /// Appends a later candle to `candles`, as candles of `interval`.
    pub fn join(candles: &mut Vec<Candle>, later: &Candle, interval: Interval) {
        let start = interval.start_of(later.start);
        match candles.last_mut() {
            Some(last) if last.start == start => last.extend(later),
            _ => candles.push(Candle { start, ..*later }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn candle(second: u64, price: i64, shares: i128) -> Candle {
        let price = Price::from_units(price).unwrap();
        Candle {
            start: Time(second * 1_000_000),
            open: price,
            high: price,
            low: price,
            close: price,
            volume: Position::from_units(shares),
            money: Turnover::ZERO,
            trades: 1,
        }
    }

    #[test]
    fn shorter_candles_join_to_longer_ones() {
        let mut joined = Vec::new();
        for (second, price) in [(60, 5), (61, 9), (119, 2), (120, 3), (240, 4)] {
            Candle::join(&mut joined, &candle(second, price, 1), Interval::Minute);
        }
        let starts: Vec<u64> = joined.iter().map(|candle| candle.start.0 / 1_000_000).collect();
        assert_eq!(starts, [60, 120, 240]);
        let first = joined[0];
        let prices = [first.open, first.high, first.low, first.close].map(Price::units);
        assert_eq!((prices, first.volume.units(), first.trades), ([5, 9, 2, 2], 3, 3));
    }

    #[test]
    fn an_interval_is_known_by_its_name() {
        for interval in Interval::ALL {
            assert_eq!(Interval::parse(interval.name()), Some(interval));
        }
        assert_eq!(Interval::parse("2m"), None);
    }
}
