//! The candles of the last two seconds with trades of a symbol. Memory keeps them beside its trades, so that they are
//! whole however many trades a second has.

use exchange::Trade;
use history::{Candle, Interval};
use terms::Time;

/// Seconds that are kept: followers get the current candle, and the one before it once more when it is over.
const KEPT_MAX: usize = 2;

/// The last seconds of one symbol.
#[derive(Debug, Default)]
pub(crate) struct LatestSeconds {
    /// The candles, oldest first.
    kept: Vec<Candle>,
    /// The second in which memory begins behind other trades, so that its candle would lack those.
    cut: Option<Time>,
    /// Whether there were candles before these.
    has_older: bool,
}

impl LatestSeconds {
    /// Adds a trade; `is_behind_others` says that it is the first one that memory has, and not the symbol's first.
    pub(crate) fn take(&mut self, trade: &Trade, is_behind_others: bool) {
        if let Some(current) = self.kept.last_mut().filter(|current| current.has(trade.time, Interval::Second)) {
            return current.take(trade);
        }
        let next = Candle::of(trade, Interval::Second);
        if is_behind_others {
            (self.cut, self.has_older) = (Some(next.start), true);
        }
        if self.cut == Some(next.start) {
            return;
        }
        if self.kept.len() == KEPT_MAX {
            self.kept.remove(0);
            self.has_older = true;
        }
        self.kept.push(next);
    }

    /// Lists the candles that began before a time, oldest first.
    pub(crate) fn before(&self, before: Option<Time>) -> &[Candle] {
        let early = self.kept.partition_point(|candle| before.is_none_or(|before| candle.start < before));
        &self.kept[..early]
    }

    /// Whether the last `limit` candles that began before a time are among these, or all that there are.
    pub(crate) fn has_last(&self, before: Option<Time>, limit: usize) -> bool {
        !self.has_older || self.before(before).len() >= limit
    }
}
