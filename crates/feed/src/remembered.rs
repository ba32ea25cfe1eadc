//! The bound on the trades and candles that memory keeps of all symbols together: each symbol that was traded may keep
//! an equal share. Older ones stand in the history.

use exchange::Trade;
use history::{Candle, Interval};

/// Trades of a symbol that memory keeps, at most.
pub const RECENT_MAX: usize = 1000;
/// Bytes of the trades of all symbols that memory keeps, at most. Each symbol that was traded keeps its last one in any
/// case.
pub const TRADES_BYTES_MAX: usize = 32 << 20;
/// Candles of a symbol and an interval that memory keeps, at most: a day of minutes, and some.
pub const CANDLES_MAX: usize = 1500;
/// Bytes of the hours and days of all symbols that memory keeps, at most. Each symbol keeps [`HOURS_MIN`] in any case.
pub const CANDLES_BYTES_MAX: usize = 64 << 20;
/// Hours, and days, of a symbol that memory keeps in any case: its last 24 hours may be made of them.
pub const HOURS_MIN: usize = 32;
/// Bytes of the minutes of all symbols that memory keeps, at most: a whole day of 2,200 symbols that always trade. Each
/// symbol keeps [`MINUTES_MIN`] in any case.
pub const MINUTES_BYTES_MAX: usize = 256 << 20;
/// Minutes of a symbol that memory keeps in any case: more than an hour, so that the hour before them is complete.
pub const MINUTES_MIN: usize = 64;

/// Symbols that were traded, the share of each, and what is kept of all.
#[derive(Debug)]
pub(crate) struct Remembered {
    symbols: usize,
    /// Trades that each symbol may keep.
    trades_each: usize,
    /// Hours, and days, that each symbol may keep.
    hours_each: usize,
    /// Minutes that each symbol may keep.
    minutes_each: usize,
    pub(crate) trades: usize,
    pub(crate) candles: usize,
}

impl Remembered {
    /// Makes the share of the first symbol.
    pub(crate) fn new() -> Remembered {
        Remembered::of(0)
    }

    /// Makes the shares of this many symbols. They are powers of two, or the most, so that they change seldom, and no
    /// queue has unused room.
    pub(crate) fn of(symbols: usize) -> Remembered {
        let each = |bytes: usize, size: usize, least: usize, most: usize| {
            let fair = bytes / size / symbols.max(1);
            if fair >= most { most } else { 1 << fair.max(least).ilog2() }
        };
        Remembered {
            symbols,
            trades_each: each(TRADES_BYTES_MAX, size_of::<Trade>(), 1, RECENT_MAX),
            hours_each: each(CANDLES_BYTES_MAX / 2, size_of::<Candle>(), HOURS_MIN, CANDLES_MAX),
            minutes_each: each(MINUTES_BYTES_MAX, size_of::<Candle>(), MINUTES_MIN, CANDLES_MAX),
            trades: 0,
            candles: 0,
        }
    }

    /// Counts one more symbol that was traded. Returns whether the others may keep less now.
    pub(crate) fn add_symbol(&mut self) -> bool {
        self.symbols += 1;
        let Remembered { trades_each, hours_each, minutes_each, .. } = Remembered::of(self.symbols);
        let each = (trades_each, hours_each, minutes_each);
        let is_less = each != (self.trades_each, self.hours_each, self.minutes_each);
        (self.trades_each, self.hours_each, self.minutes_each) = each;
        is_less
    }

    /// Trades that a symbol may keep.
    pub(crate) fn trades_each(&self) -> usize {
        self.trades_each
    }

    /// Closed candles of an interval that a symbol may keep.
    pub(crate) fn candles_each(&self, interval: Interval) -> usize {
        match interval {
            Interval::Hour | Interval::Day => self.hours_each,
            Interval::Second | Interval::Minute | Interval::FiveMinutes | Interval::FifteenMinutes => self.minutes_each,
        }
    }

    /// Bytes of what is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.trades * size_of::<Trade>() + self.candles * size_of::<Candle>()
    }
}
