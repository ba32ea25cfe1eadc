//! Trades up to a past command, or before a time: found by trades' numbers, which grow with commands and times.

use exchange::Trade;
use terms::{Sequence, SymbolIndex, Time};

use crate::error::HistoryError;
use crate::history::History;
use crate::shared::HistoryAt;
use crate::table::Near;

/// The most trades of all symbols that are read to find one of a symbol.
const LOOKED_AT_MAX: usize = 8_192;

/// The trades up to that command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradedThen {
    /// The number of the next trade at that time.
    pub next_trade: u64,
    /// The last trades of a symbol, newest first; none if the last 8,192 of all symbols were of others.
    pub trades: Vec<Trade>,
}

impl HistoryAt<'_> {
    /// Finds the trades up to the command `then`, with at most `limit` trades of a symbol. Errors: `NoLongerKept` where
    /// the trades before it were removed.
    pub fn traded_then(&self, then: Sequence, symbol: SymbolIndex, limit: usize) -> Result<TradedThen, HistoryError> {
        self.history().traded_then(then, symbol, limit)
    }

    /// Returns the number of the last trade of any symbol before a time, which may be removed; 0 if there is none.
    pub fn last_trade_before(&self, time: Time) -> Result<u64, HistoryError> {
        let through = self.through();
        let (first, _) = self.history().first_trade(|trade| trade.sequence > through || trade.time >= time)?;
        Ok(first - 1)
    }

    /// Finds a trade of a symbol among the trades of all symbols, from the trade `*at` back. Looks at `most` trades,
    /// and sets `at` to the next one, or to 0 if there are no more.
    pub fn trade_back(&self, symbol: SymbolIndex, at: &mut u64, most: usize) -> Result<Option<Trade>, HistoryError> {
        self.history().trade_back(symbol, at, most)
    }
}

impl History {
    fn traded_then(&self, then: Sequence, symbol: SymbolIndex, limit: usize) -> Result<TradedThen, HistoryError> {
        let next_trade = self.next_trade_behind(then)?;
        if limit == 0 {
            return Ok(TradedThen { next_trade, trades: Vec::new() });
        }
        let mut at = next_trade - 1;
        let found = match self.trade_back(symbol, &mut at, LOOKED_AT_MAX) {
            // The trades before are older, and not needed.
            Err(HistoryError::NoLongerKept { .. }) => None,
            found => found?,
        };
        let Some(found) = found else { return Ok(TradedThen { next_trade, trades: Vec::new() }) };
        let older = match self.trades_of(symbol, Some(found.id), limit - 1) {
            Ok(page) => page.map_or_else(Vec::new, |(trades, _)| trades),
            Err(HistoryError::NoLongerKept { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(TradedThen { next_trade, trades: std::iter::once(found).chain(older).collect() })
    }

    fn trade_back(&self, symbol: SymbolIndex, at: &mut u64, most: usize) -> Result<Option<Trade>, HistoryError> {
        let mut near = Near::default();
        for _ in 0..most {
            if *at == 0 {
                break;
            }
            let trade = self.read_trade_near(*at, &mut near)?.trade;
            *at -= 1;
            if trade.symbol == symbol {
                return Ok(Some(trade));
            }
        }
        Ok(None)
    }

    /// Finds the number of the first trade of a later command than `then`.
    fn next_trade_behind(&self, then: Sequence) -> Result<u64, HistoryError> {
        match self.first_trade(|trade| trade.sequence > then)? {
            // The trade before it was removed, and so were some of later commands, whose number is unknown.
            (_, Some(until)) if self.trades.reach().gone_until.sequence > then => {
                Err(HistoryError::NoLongerKept { until })
            }
            (first, _) => Ok(first),
        }
    }

    /// Finds the number of the first trade that is late, as all behind it are; and, where the trade before it was
    /// removed, the time of the last removed one.
    fn first_trade(&self, is_late: impl Fn(&Trade) -> bool) -> Result<(u64, Option<Time>), HistoryError> {
        // Trades before `low` are early, and those from `high` on are late.
        let (mut low, mut high, mut gone) = (1, self.next_trade(), None);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.read_trade(middle) {
                Ok(record) if is_late(&record.trade) => high = middle,
                Ok(_) => (low, gone) = (middle + 1, None),
                Err(HistoryError::NoLongerKept { until }) => (low, gone) = (middle + 1, Some(until)),
                Err(error) => return Err(error),
            }
        }
        Ok((low, gone))
    }
}
