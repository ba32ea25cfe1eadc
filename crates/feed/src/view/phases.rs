//! Phases of symbols, and the executions at an auction's end, between two orders that both rested.

use terms::{Event, OrderId, Price, Side, SymbolIndex, SymbolPhase};

use super::View;

impl View {
    pub(super) fn change_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase, last: Option<Price>) {
        let listing = &mut self.listings[symbol.0 as usize];
        (listing.phase, listing.reference) = (phase, last);
        // Watchers of the book get an update when a level changes, so one is touched that did not.
        let best = listing.book.best(Side::Buy).unwrap_or(Price::MIN);
        listing.touch(Side::Buy, best);
        self.symbol_news(symbol);
    }

    pub(super) fn uncrossed(&mut self, event: &Event, orders: [OrderId; 2]) {
        let trade = self.read_trade(event, None);
        let slots = orders.map(|order| self.find(order));
        let paid = slots.map(|slot| self.take_at_rest(slot, &trade));
        self.traded(&trade);
        for (slot, paid) in slots.into_iter().zip(paid) {
            self.end_if_done(slot, paid);
        }
    }
}
