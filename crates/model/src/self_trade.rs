//! Orders that match others of their own account.

use terms::{CancelReason, Event, OrderId, SelfTrade, Shares};

use crate::exchange::Model;

impl Model {
    /// Keeps an order from executing these shares with an open order of its own account. `wanted` is the most that it
    /// might still execute. Returns whether the rest of it is to be canceled.
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
        self.say_if_it_is_done(order, events);
    }
}
