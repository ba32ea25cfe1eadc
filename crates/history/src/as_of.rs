//! Trades up to a past command: found by trades' numbers, which grow with their commands.

use terms::{Sequence, SymbolIndex};

use crate::error::HistoryError;
use crate::history::History;
use crate::shared::HistoryAt;
use crate::table::Near;
use crate::trade::Trade;

/// The most trades of all symbols that are read to find one of a symbol.
const LOOKED_AT_MAX: u64 = 8_192;

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
}

impl History {
    fn traded_then(&self, then: Sequence, symbol: SymbolIndex, limit: usize) -> Result<TradedThen, HistoryError> {
        let next_trade = self.next_trade_behind(then)?;
        if limit == 0 {
            return Ok(TradedThen { next_trade, trades: Vec::new() });
        }
        let mut near = Near::default();
        let looked_at = (1..next_trade).rev().take(LOOKED_AT_MAX as usize);
        for number in looked_at {
            let found = match self.read_trade_near(number, &mut near) {
                Ok(record) => record.trade,
                // The trades before are older, and not needed.
                Err(HistoryError::NoLongerKept { .. }) => break,
                Err(error) => return Err(error),
            };
            if found.symbol == symbol {
                let older = match self.trades_of(symbol, Some(number), limit - 1) {
                    Ok(page) => page.map_or_else(Vec::new, |(trades, _)| trades),
                    Err(HistoryError::NoLongerKept { .. }) => Vec::new(),
                    Err(error) => return Err(error),
                };
                return Ok(TradedThen { next_trade, trades: std::iter::once(found).chain(older).collect() });
            }
        }
        Ok(TradedThen { next_trade, trades: Vec::new() })
    }

    /// Finds the number of the first trade of a later command than `then`.
    fn next_trade_behind(&self, then: Sequence) -> Result<u64, HistoryError> {
        // Trades before `low` belong to `then` or earlier commands, those from `high` on to later ones.
        let (mut low, mut high, mut gone) = (1, self.next_trade(), None);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.read_trade(middle) {
                Ok(record) if record.trade.sequence > then => high = middle,
                Ok(_) => (low, gone) = (middle + 1, None),
                Err(HistoryError::NoLongerKept { until }) => (low, gone) = (middle + 1, Some(until)),
                Err(error) => return Err(error),
            }
        }
        match gone {
            // The trade before it was removed, and so were some of later commands, whose number is unknown.
            Some(until) if self.trades.reach().gone_until.sequence > then => Err(HistoryError::NoLongerKept { until }),
            _ => Ok(low),
        }
    }
}
