//! Orders that show a part of their shares at a time: of these a book has what is shown, and nobody but their accounts is told the rest.

use engine::{Iceberg, OrderId, Phase, Position, Shares};

use super::View;
use crate::orders::Terms;

impl View {
    /// The order that was just opened shows so many shares at a time.
    pub(super) fn give_display(&mut self, order: OrderId, display: Shares) {
        let slot = self.find(order);
        self.orders.set_iceberg(slot, Iceberg { display, shown: Shares::ZERO });
    }

    /// Other shares of an order are on show than were.
    pub(super) fn show_tip(&mut self, order: OrderId, shares: Shares, stands_last: bool) {
        let slot = self.find(order);
        let before = self.orders.iceberg(slot).expect("invariant: what is shown is a part");
        self.orders.set_iceberg(slot, Iceberg { shown: shares, ..before });
        if self.arriving.as_ref().is_some_and(|arriving| arriving.slot == slot) {
            // It is about to rest, with these.
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

    /// Shares that an order showed were executed.
    pub(super) fn take_shown(&mut self, slot: u32, shares: Shares) {
        if let Some(Iceberg { display, shown }) = self.orders.iceberg(slot) {
            self.orders.set_iceberg(slot, Iceberg { display, shown: shown.less(shares) });
        }
    }

    /// An order that the view began with and that rests, with all that is open of it, or waits, shows so much.
    pub(super) fn begin_iceberg(&mut self, order: OrderId, display: Shares, shown: Shares) {
        let slot = self.find(order);
        let hidden = self.orders.terms(slot).open.less(shown);
        self.orders.set_iceberg(slot, Iceberg { display, shown });
        if !self.orders.is_in_no_book(slot) {
            self.leave_book(slot, hidden, false);
            self.hide(slot, hidden.position());
        }
    }

    /// What an order that rests is open for and does not show. While shares are taken off what it shows it may be below zero, until it is
    /// told what it shows then.
    pub(super) fn hidden(&self, slot: u32) -> Position {
        match self.orders.iceberg(slot).filter(|_| !self.orders.is_in_no_book(slot)) {
            Some(Iceberg { shown, .. }) => self.orders.terms(slot).open.position().minus(shown.position()),
            None => Position::ZERO,
        }
    }

    /// An order that rests hides so much more, or less. That changes the price of an auction, which the followers of its book are told.
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
