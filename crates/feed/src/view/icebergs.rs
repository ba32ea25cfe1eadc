//! Orders that show a part of their shares at a time: the book has the shown part, and only their accounts see the
//! rest.

use terms::{Iceberg, OrderId, Phase, Position, Shares};

use super::View;
use crate::orders::Terms;

impl View {
    /// Makes the order that was just opened or amended an iceberg with this display. One that rests shows what it
    /// showed before, until the next event.
    pub(super) fn give_display(&mut self, order: OrderId, display: Shares) {
        let slot = self.find(order);
        let arrives = self.arriving.as_ref().is_some_and(|arriving| arriving.slot == slot);
        let rests = !arrives && !self.orders.is_in_no_book(slot) && !self.orders.pends(slot);
        let shown = if rests { self.orders.shown(slot) } else { Shares::ZERO };
        self.orders.set_iceberg(slot, Iceberg { display, shown });
    }

    /// Sets how many shares an order shows.
    pub(super) fn show_tip(&mut self, order: OrderId, shares: Shares, stands_last: bool) {
        let slot = self.find(order);
        let before = self.orders.iceberg(slot).expect("invariant: what is shown is a part");
        self.orders.set_iceberg(slot, Iceberg { shown: shares, ..before });
        if self.arriving.as_ref().is_some_and(|arriving| arriving.slot == slot) {
            // The order is about to rest, with these shares.
            return;
        }
        self.hide(slot, before.shown.position().minus(shares.position()));
        let symbol = self.orders.terms(slot).symbol;
        let book = &mut self.listings[symbol.0 as usize].book;
        if stands_last {
            book.stand_last(&mut self.orders, slot);
        }
        book.show(&self.orders, slot, shares);
        self.leave_book(slot, before.shown, false);
    }

    /// Takes executed shares off the tip.
    pub(super) fn take_shown(&mut self, slot: u32, shares: Shares) {
        if let Some(Iceberg { display, shown }) = self.orders.iceberg(slot) {
            self.orders.set_iceberg(slot, Iceberg { display, shown: shown.less(shares) });
        }
    }

    /// Sets display and tip of an order of the state that the view begins with, which rests with all its open shares,
    /// or waits.
    pub(super) fn begin_iceberg(&mut self, order: OrderId, display: Shares, shown: Shares) {
        let slot = self.find(order);
        let hidden = self.orders.terms(slot).open.less(shown);
        self.orders.set_iceberg(slot, Iceberg { display, shown });
        if !self.orders.is_in_no_book(slot) {
            self.leave_book(slot, hidden, false);
            self.hide(slot, hidden.position());
        }
    }

    /// Returns how many shares a resting order hides. After an execution the number may be below zero until the event
    /// that sets the next tip.
    pub(super) fn hidden(&self, slot: u32) -> Position {
        match self.orders.iceberg(slot).filter(|_| !self.orders.is_in_no_book(slot)) {
            Some(Iceberg { shown, .. }) => self.orders.terms(slot).open.position().minus(shown.position()),
            None => Position::ZERO,
        }
    }

    /// Adds to what a resting order hides; a negative number reduces it. That changes an auction's price, which
    /// watchers of the book see.
    pub(super) fn hide(&mut self, slot: u32, more: Position) {
        if more == Position::ZERO {
            return;
        }
        let Terms { symbol, side, limit, .. } = self.orders.terms(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.hide(side, limit, more);
        if listing.phase.phase != Phase::Open {
            listing.touch(side, limit);
            self.symbol_news(symbol);
        }
    }
}
