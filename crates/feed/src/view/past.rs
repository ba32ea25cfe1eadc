//! Puts back from the history, when a view begins, the trades and candles that memory held before the restart, and the
//! times at which open orders were triggered.

use engine::SymbolIndex;
use history::{Candle, History, HistoryError, KEPT, Note, Noted};

use super::View;
use crate::market::{RECALLED, Series};

/// The history's trades and candles of a symbol.
#[derive(Debug)]
pub(super) struct Recalled {
    /// Trades, oldest first.
    trades: Vec<history::Trade>,
    /// The complete candles of each kept interval, oldest first, and the incomplete one.
    candles: [(Vec<Candle>, Option<Candle>); KEPT.len()],
}

impl View {
    /// Takes what the history knows of the symbols' markets, before either follows anything. The history may be ahead:
    /// then the view puts it back once it has followed events up to there.
    pub fn recall(&mut self, history: &History) -> Result<(), HistoryError> {
        for symbol in (0..).map(SymbolIndex).take(history.symbol_count()) {
            let mut trades = match history.trades_of(symbol, None, RECALLED) {
                // The symbol's last trade was long ago.
                Err(HistoryError::NoLongerKept { .. }) => Vec::new(),
                page => page?.ok_or(HistoryError::Ended)?.0,
            };
            trades.reverse();
            let mut candles: [(Vec<Candle>, Option<Candle>); KEPT.len()] = Default::default();
            for (interval, candles) in KEPT.into_iter().zip(&mut candles) {
                let closed = history.closed_candles(symbol, interval, None, Series::KEPT_MAX)?;
                *candles = (closed, history.current_candle(symbol, interval));
            }
            self.recalled.push(Recalled { trades, candles });
        }
        self.recall_notes(history)?;
        self.recall_before(self.sequence.next());
        Ok(())
    }

    /// Puts back the notes of open orders, which a state does not hold.
    fn recall_notes(&mut self, history: &History) -> Result<(), HistoryError> {
        for Note { order, what, time, sequence, .. } in history.notes_of_open()? {
            let slot = self.orders.find(order).filter(|_| sequence <= self.sequence);
            match (slot, what) {
                (Some(slot), Noted::Triggered(trigger)) => self.orders.set_triggered(slot, trigger, time),
                (Some(slot), Noted::Linked(partner)) => self.orders.set_linked(slot, partner),
                // The state says which orders still pend.
                (Some(_), Noted::Pends(_) | Noted::Released) => {}
                // The order was done by a command that comes again, or the event of the note comes again.
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Puts the recalled trades and candles back.
    pub(super) fn put_back(&mut self) {
        for (listing, Recalled { trades, candles }) in self.listings.iter_mut().zip(std::mem::take(&mut self.recalled))
        {
            for (interval, (closed, current)) in KEPT.into_iter().zip(candles) {
                listing.recall(interval, closed, current);
            }
            trades.into_iter().for_each(|trade| listing.remember(trade));
        }
    }
}
