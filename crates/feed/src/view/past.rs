//! What a view and its history tell each other beside events: what memory held before a start, and what to make durable.

use engine::SymbolIndex;
use history::{Candle, History, HistoryError, Interval, KEPT};

use super::View;
use crate::market::{RECALLED, Series};

impl View {
    /// Puts back what the history knows of the symbols' markets.
    pub(super) fn recall(&mut self, history: &History) -> Result<(), HistoryError> {
        for (symbol, listing) in (0..).map(SymbolIndex).zip(&mut self.listings) {
            let mut trades = match history.trades_of(symbol, None, RECALLED) {
                // The symbol was traded last long ago.
                Err(HistoryError::NoLongerKept { .. }) => Vec::new(),
                page => page?.ok_or(HistoryError::Ended)?.0,
            };
            trades.reverse();
            for interval in KEPT {
                let closed = history.closed_candles(symbol, interval, None, Series::KEPT_MAX)?;
                listing.recall(interval, closed, history.current_candle(symbol, interval));
            }
            trades.into_iter().for_each(|trade| listing.remember(trade));
        }
        Ok(())
    }

    /// Has the history make durable all that both have followed.
    pub fn checkpoint(&self, history: &mut History) -> Result<(), HistoryError> {
        history.checkpoint(self.sequence, self.current_candles())
    }

    fn current_candles(&self) -> impl Iterator<Item = (SymbolIndex, Interval, Candle)> {
        let listings = (0..).map(SymbolIndex).zip(&self.listings);
        listings.flat_map(|(symbol, listing)| {
            KEPT.into_iter()
                .filter_map(move |interval| listing.series(interval)?.current.map(|candle| (symbol, interval, candle)))
        })
    }

    /// After a replay: has the history take back what commands did that the machine lost. Gives how many orders are open again.
    pub fn settle(&self, history: &mut History) -> Result<u64, HistoryError> {
        history.settle(self.open_order_ids())
    }
}
