//! Orders that meet others of their own account.

use engine::{AccountIndex, CancelReason, Event, OrderId, SelfTrade, Shares};

use crate::exchange::Model;
use crate::placing::LOOKED_AT_MAX;

impl Model {
    /// Of orders that one of this account would execute with, in this order, those that it counts on before it executes.
    pub(crate) fn counted(&self, account: AccountIndex, mode: SelfTrade, matching: &[OrderId]) -> Vec<OrderId> {
        let looked_at = matching.iter().copied().take(LOOKED_AT_MAX);
        let is_own = |order: &OrderId| self.order(*order).account == account;
        match mode {
            SelfTrade::Allowed => looked_at.collect(),
            SelfTrade::CancelOldest => looked_at.filter(|order| !is_own(order)).collect(),
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => {
                looked_at.take_while(|order| !is_own(order)).collect()
            }
        }
    }

    /// An order does not execute these shares with an open one of its own account. `wanted` is what it might still execute. Says
    /// whether what is left of it is to be canceled.
    pub(crate) fn prevent(
        &mut self,
        newest: OrderId,
        oldest: OrderId,
        shares: Shares,
        wanted: Shares,
        events: &mut Vec<Event>,
    ) -> bool {
        match self.order(newest).self_trade {
            SelfTrade::Allowed => panic!("then they execute"),
            SelfTrade::CancelNewest => true,
            SelfTrade::CancelOldest => {
                self.cancel_own(oldest, events);
                false
            }
            SelfTrade::CancelBoth => {
                self.cancel_own(oldest, events);
                true
            }
            SelfTrade::Decrement => {
                self.cancel_partner(oldest, events);
                if shares == self.order(oldest).open {
                    self.cancel_own(oldest, events);
                } else {
                    self.take_off(oldest, shares, CancelReason::SelfTrade, events);
                }
                if shares < wanted {
                    self.take_off(newest, shares, CancelReason::SelfTrade, events);
                }
                shares == wanted
            }
        }
    }

    fn cancel_own(&mut self, order: OrderId, events: &mut Vec<Event>) {
        self.cancel_partner(order, events);
        self.cancel_open(order, CancelReason::SelfTrade, events);
        self.say_if_client_order_is_done(order, events);
    }
}
