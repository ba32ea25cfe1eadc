//! Linked orders: one cancels the other. Shares and money that both need are held once.

use terms::{Money, OrderId, Position, Side};

use super::View;

impl View {
    /// Returns the order that is canceled when something happens to this one.
    pub fn partner(&self, order: OrderId) -> Option<OrderId> {
        self.links.get(order)
    }

    /// Links two open orders, each of which holds what it needs.
    pub(super) fn link(&mut self, order: OrderId, partner: OrderId) {
        self.links.insert(order, partner);
        self.links.insert(partner, order);
        for (order, partner) in [(order, partner), (partner, order)] {
            self.orders.set_linked(self.find(order), partner);
        }
        let (money, shares) = self.held_twice(order, partner);
        let order = self.orders.terms(self.find(order));
        let account = self.accounts.get_mut(order.account);
        account.held = account.held.minus(money);
        if shares != Position::ZERO {
            account.holdings.change(order.symbol, |holding| holding.held = holding.held.minus(shares));
        }
    }

    /// Counts what an order and its partner, if it has one, hold in common twice, as if they were not linked.
    pub(super) fn hold_apart(&mut self, order: OrderId) {
        let Some(partner) = self.links.get(order) else { return };
        let (money, shares) = self.held_twice(order, partner);
        let order = self.orders.terms(self.find(order));
        let account = self.accounts.get_mut(order.account);
        account.held = account.held.plus(money);
        if shares != Position::ZERO {
            account.holdings.change(order.symbol, |holding| holding.held = holding.held.plus(shares));
            let listing = &mut self.listings[order.symbol.0 as usize];
            listing.issued = listing.issued.plus(shares);
        }
    }

    /// Counts what an order and its partner, if it has one, hold in common once again.
    pub(super) fn hold_together(&mut self, order: OrderId) {
        let Some(partner) = self.links.get(order) else { return };
        self.count_shares_once(partner);
        self.link(order, partner);
    }

    /// Unlinks an order that is about to be canceled, if it is linked: then both hold what they need again.
    pub(super) fn unlink(&mut self, order: OrderId) {
        self.hold_apart(order);
        if let Some(partner) = self.links.remove(order) {
            self.links.remove(partner);
        }
    }

    /// Corrects the issued shares for the second order of a pair: it was counted as if it held shares of its own, and
    /// holds those of the first.
    pub(super) fn count_shares_once(&mut self, order: OrderId) {
        let order = self.orders.terms(self.find(order));
        if order.side == Side::Sell {
            let listing = &mut self.listings[order.symbol.0 as usize];
            listing.issued = listing.issued.minus(order.open.position());
        }
    }

    /// Returns what two orders of one account, symbol, side and number of shares hold in common.
    fn held_twice(&self, one: OrderId, other: OrderId) -> (Money, Position) {
        let [one, other] = [one, other].map(|order| self.orders.get(self.find(order)));
        match one.side {
            Side::Buy => (one.held_money().min(other.held_money()), Position::ZERO),
            Side::Sell => (Money::ZERO, one.open.position()),
        }
    }
}
