//! Pending orders: they wait until their working order is executed wholly. They hold nothing, and stand in no book.

use history::Noted;
use terms::{AccountIndex, CancelReason, Event, Money, NewOrder, OrderId, Shares, SymbolIndex};

use super::{Arriving, News, View};
use crate::orders::{In, Open};

impl View {
    /// Lists the open orders that pend on an order, the first one first.
    pub fn pending_of(&self, working: OrderId) -> Vec<OrderId> {
        let behind = [1, 2].map(|behind| OrderId(working.0.saturating_add(behind)));
        let waits = |order: &OrderId| self.open_order(*order).is_some_and(|open| open.pends_on == Some(working));
        behind.into_iter().filter(waits).collect()
    }

    /// Opens a pending order.
    pub(super) fn pend(&mut self, event: &Event) {
        let Event::OrderPends { order, account, is_second, placed } = *event else { return };
        let working = Event::working(order, is_second);
        let open = Open { pends_on: Some(working), waits: false, ..Open::of(order, account, placed, self.time) };
        let past = open.placed(self.sequence);
        self.enter_pending(open);
        self.tell(account, News::Placed(account, past));
        self.note(order, (account, placed.symbol, placed.side), Noted::Pends(working));
        self.tell(account, News::Order(account, order));
    }

    /// Adds a pending order to its account.
    pub(super) fn enter_pending(&mut self, open: Open) {
        let slot = self.orders.insert(&open);
        let account = self.accounts.get_mut(open.account);
        self.orders.append(&mut account.orders, In::Account, slot);
        account.open_orders += 1;
    }

    /// Places a pending order, whose working order was executed.
    pub(super) fn release(&mut self, order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
        self.arrive();
        let slot = self.find(order);
        self.orders.release(slot);
        self.hold(slot, placed.shares, true);
        self.note(order, (account, placed.symbol, placed.side), Noted::Released);
        self.arriving = Some(Arriving { slot, sequence: self.sequence, paid: Money::ZERO });
    }

    /// Cancels a pending order.
    pub(super) fn end_pending(&mut self, slot: u32, shares: Shares, why: CancelReason) {
        let paid = self.orders.take(slot, shares, Money::ZERO);
        self.end(slot, shares, Some(why), paid);
    }
}
