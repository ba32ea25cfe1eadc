//! Puts back from the history, when a view begins, the trades and candles that memory held before the restart, and the
//! times at which open orders were triggered.

use exchange::Trade;
use history::{History, HistoryError, Interval, KEPT, Note, Noted};
use terms::SymbolIndex;

use super::View;
use crate::market::{RECALLED, Series};
use crate::remembered::Remembered;

/// The history's trades and candles of a symbol.
#[derive(Debug)]
pub(super) struct Recalled {
    /// Trades, oldest first.
    trades: Vec<Trade>,
    /// Whether there were trades before these.
    has_older: bool,
    /// The candles of each kept interval.
    candles: [Series; KEPT.len()],
}

impl View {
    /// Takes what the history knows of the symbols' markets, before either follows anything. The history may be ahead:
    /// then the view puts it back once it has followed events up to there.
    pub fn recall(&mut self, history: &History) -> Result<(), HistoryError> {
        let symbols = || (0..).map(SymbolIndex).take(history.symbol_count());
        let was_traded = |symbol: &SymbolIndex| history.current_candle(*symbol, Interval::Day).is_some();
        let shares = Remembered::of(symbols().filter(was_traded).count());
        for symbol in symbols() {
            let (mut trades, has_older) = match history.trades_of(symbol, None, RECALLED.min(shares.trades_each())) {
                // The symbol's last trade was long ago.
                Err(HistoryError::NoLongerKept { .. }) => (Vec::new(), true),
                page => page?.ok_or(HistoryError::Ended).map(|(trades, next)| (trades, next.is_some()))?,
            };
            trades.reverse();
            let mut candles: [Series; KEPT.len()] = Default::default();
            for (interval, candles) in KEPT.into_iter().zip(&mut candles) {
                let most = shares.candles_each(interval);
                let closed = history.closed_candles(symbol, interval, None, most)?;
                *candles = Series::recalled(closed, history.current_candle(symbol, interval), most);
            }
            self.recalled.push(Recalled { trades, has_older, candles });
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
                (Some(slot), Noted::Triggered(reached)) => {
                    let trigger = history.trigger_behind(order, reached, self.sequence);
                    self.orders.set_triggered(slot, trigger, time);
                }
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
        let symbols = (0..self.listings.len() as u32).map(SymbolIndex);
        for (symbol, Recalled { trades, has_older, candles }) in symbols.zip(std::mem::take(&mut self.recalled)) {
            if !trades.is_empty() {
                self.share_memory(symbol);
            }
            let (listing, all) = (&mut self.listings[symbol.0 as usize], &mut self.remembered);
            listing.has_older |= has_older;
            for (interval, recalled) in KEPT.into_iter().zip(candles) {
                listing.recall(interval, recalled, all);
            }
            trades.into_iter().for_each(|trade| listing.remember(trade, all));
        }
    }
}
