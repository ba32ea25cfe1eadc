//! Cancels of all open orders of an account at once.

use engine::{AccountId, CancelReason, Event, OrderId, Reject, Reply, Symbol};

use crate::exchange::Model;

impl Model {
    /// Cancels the orders one after the other, by their ids. An order that ends with one of them ends as it would if
    /// that one were canceled alone.
    pub fn cancel_all(
        &mut self,
        account: AccountId,
        symbol: Option<Symbol>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        let symbol = symbol.map(|symbol| self.symbol_named(symbol)).transpose()?;
        let is_meant =
            |order: &crate::Order| order.account == account && symbol.is_none_or(|symbol| order.symbol == symbol);
        let meant = self.open_orders().filter(|order| is_meant(order)).map(|order| order.id).collect();
        Ok(self.cancel_each(meant, CancelReason::Asked, events))
    }

    /// Whether an account has an open order, of one symbol or of any.
    pub fn would_cancel_any(&self, account: AccountId, symbol: Option<Symbol>) -> Result<bool, Reject> {
        let account = self.account_named(account)?;
        let symbol = symbol.map(|symbol| self.symbol_named(symbol)).transpose()?;
        Ok(self
            .open_orders()
            .any(|order| order.account == account && symbol.is_none_or(|symbol| order.symbol == symbol)))
    }

    /// Cancels those of these orders that are open, and the orders that end with them.
    pub(crate) fn cancel_each(&mut self, mut meant: Vec<OrderId>, why: CancelReason, events: &mut Vec<Event>) -> Reply {
        meant.sort();
        for &order in &meant {
            if !self.order(order).open.is_zero() {
                self.cancel_partner(order, events);
                self.cancel_open(order, why, events);
                self.say_if_it_is_done(order, events);
            }
        }
        Reply::CanceledAll { orders: meant.len(), sequence: self.sequence }
    }
}
