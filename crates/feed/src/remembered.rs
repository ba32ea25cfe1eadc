//! The bound on the trades and candles that memory keeps of all symbols together: each symbol that was traded may keep
//! an equal share. Older ones stand in the history.

use history::{Candle, Interval, Trade};

/// Trades of a symbol that memory keeps, at most.
pub const RECENT_MAX: usize = 1000;
/// Bytes of the trades of all symbols that memory keeps, at most. Each symbol that was traded keeps its last one in any
/// case.
pub const TRADES_BYTES_MAX: usize = 32 << 20;
/// Candles of a symbol and an interval that memory keeps, at most: a day of minutes, and some.
pub const CANDLES_MAX: usize = 1500;
/// Bytes of the hours and days of all symbols that memory keeps, at most. The minutes of a day are kept in any case:
/// the last 24 hours of a symbol are made of them.
pub const CANDLES_BYTES_MAX: usize = 64 << 20;

/// Symbols that were traded, the share of each, and what is kept of all.
#[derive(Debug)]
pub(crate) struct Remembered {
    symbols: usize,
    /// Trades that each symbol may keep.
    trades_each: usize,
    /// Hours, and days, that each symbol may keep.
    candles_each: usize,
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
        let each = |bytes: usize, size: usize, most: usize| {
            let fair = bytes / size / symbols.max(1);
            if fair >= most { most } else { 1 << fair.max(1).ilog2() }
        };
        Remembered {
            symbols,
            trades_each: each(TRADES_BYTES_MAX, size_of::<Trade>(), RECENT_MAX),
            candles_each: each(CANDLES_BYTES_MAX / 2, size_of::<Candle>(), CANDLES_MAX),
            trades: 0,
            candles: 0,
        }
    }

    /// Counts one more symbol that was traded. Returns whether the others may keep less now.
    pub(crate) fn add_symbol(&mut self) -> bool {
        self.symbols += 1;
        let Remembered { trades_each, candles_each, .. } = Remembered::of(self.symbols);
        let is_less = (trades_each, candles_each) != (self.trades_each, self.candles_each);
        (self.trades_each, self.candles_each) = (trades_each, candles_each);
        is_less
    }

    /// Trades that a symbol may keep.
    pub(crate) fn trades_each(&self) -> usize {
        self.trades_each
    }

    /// Closed candles of an interval that a symbol may keep.
    pub(crate) fn candles_each(&self, interval: Interval) -> usize {
        match interval {
            Interval::Hour | Interval::Day => self.candles_each,
            Interval::Second | Interval::Minute | Interval::FiveMinutes | Interval::FifteenMinutes => CANDLES_MAX,
        }
    }

    /// Bytes of what is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.trades * size_of::<Trade>() + self.candles * size_of::<Candle>()
    }
}
