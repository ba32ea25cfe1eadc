//! What had been traded when a command had been applied: found from trades' numbers, which grow as their commands do.

use engine::{Sequence, SymbolIndex};

use crate::error::HistoryError;
use crate::history::History;
use crate::shared::HistoryAt;
use crate::table::Near;
use crate::trade::Trade;

/// Trades of all symbols that are looked at to find one of a symbol.
const LOOKED_AT_MAX: u64 = 8_192;

/// What had been traded by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TradedThen {
    /// The number that the next trade got.
    pub next_trade: u64,
    /// The last ones of a symbol, newest first; none if the last 8,192 of all symbols were of others.
    pub trades: Vec<Trade>,
}

impl HistoryAt<'_> {
    /// What had been traded when the command `then` had been applied, with `limit` trades of a symbol at most.
    /// Errors: `NoLongerKept` where the trades before it are gone.
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
                // The trades before are older, and not asked for.
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

    /// The number of the first trade of a later command than `then`.
    fn next_trade_behind(&self, then: Sequence) -> Result<u64, HistoryError> {
        // Trades before `low` are of `then` or of earlier commands, those from `high` on are of later ones.
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
            // The one before it is gone, and so are some of later commands: how many, nobody knows.
            Some(until) if self.trades.reach().gone_until.sequence > then => Err(HistoryError::NoLongerKept { until }),
            _ => Ok(low),
        }
    }
}
