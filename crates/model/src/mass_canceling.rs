//! Cancels of the open orders of an account, a bounded number at once.

use terms::{AccountId, CancelReason, Event, OrderId, Reject, Reply, Symbol};

use crate::exchange::Model;

impl Model {
    /// Cancels the orders one after the other, by their ids, as many as one command ends. An order that ends with one
    /// of them ends as it would if that one were canceled alone.
    pub fn cancel_all(
        &mut self,
        account: AccountId,
        symbol: Option<Symbol>,
        through: Option<OrderId>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let meant = self.meant(account, symbol, through)?;
        Ok(self.cancel_first(meant, through, CancelReason::Asked, events))
    }

    /// Whether an account has an open order, of one symbol or of any, that is no newer than `through`.
    pub fn would_cancel_any(
        &self,
        account: AccountId,
        symbol: Option<Symbol>,
        through: Option<OrderId>,
    ) -> Result<bool, Reject> {
        Ok(!self.meant(account, symbol, through)?.is_empty())
    }

    /// The newest order that was placed.
    pub(crate) fn newest(&self) -> OrderId {
        OrderId(self.orders_placed())
    }

    fn meant(
        &self,
        account: AccountId,
        symbol: Option<Symbol>,
        through: Option<OrderId>,
    ) -> Result<Vec<OrderId>, Reject> {
        let account = self.account_named(account)?;
        let symbol = symbol.map(|symbol| self.symbol_named(symbol)).transpose()?;
        let mut meant: Vec<OrderId> = self
            .open_orders()
            .filter(|order| order.account == account && symbol.is_none_or(|symbol| order.symbol == symbol))
            .map(|order| order.id)
            .filter(|&order| through.is_none_or(|through| order <= through))
            .collect();
        meant.sort();
        Ok(meant)
    }

    /// Cancels the first of these, and says whether others are left.
    pub(crate) fn cancel_first(
        &mut self,
        mut meant: Vec<OrderId>,
        through: Option<OrderId>,
        why: CancelReason,
        events: &mut Vec<Event>,
    ) -> Reply {
        let is_cut = meant.len() > self.cancels_left;
        meant.truncate(self.cancels_left);
        let newest = through.map_or(self.newest(), |through| through.min(self.newest()));
        let orders = self.cancel_each(meant, why, events);
        Reply::CanceledAll { orders, left: is_cut.then_some(newest), sequence: self.sequence }
    }

    /// Cancels those of these orders that are open, and the orders that end with them. Says how many orders ended.
    pub(crate) fn cancel_each(&mut self, mut meant: Vec<OrderId>, why: CancelReason, events: &mut Vec<Event>) -> usize {
        let before = self.open_orders().len();
        meant.sort();
        for order in meant {
            if !self.order(order).open.is_zero() {
                self.end_order(order, why, events);
            }
        }
        let ended = before - self.open_orders().len();
        self.cancels_left = self.cancels_left.saturating_sub(ended);
        self.canceled_in_turn += ended;
        ended
    }

    /// Cancels an open order, and what ends with it.
    pub(crate) fn end_order(&mut self, order: OrderId, why: CancelReason, events: &mut Vec<Event>) {
        self.cancel_partner(order, events);
        self.cancel_open(order, why, events);
        self.say_if_it_is_done(order, events);
    }
}
