//! Cancels all open orders of an account with one command. It takes a little less than the single cancels would, a fifth of a
//! microsecond for each order to one, and nobody comes between: 100,000 orders take 20 ms. Who has none makes nobody wait:
//! see `account_orders.rs`.

use std::hint::black_box;

use crate::command::CancelReason;
use crate::engine::{AHEAD, Engine};
use crate::event::Event;
use crate::ids::{AccountId, AccountIndex, OrderId, Symbol, SymbolIndex};
use crate::orders::Order;
use crate::reject::Reject;
use crate::reply::Reply;
use crate::slab::NONE;

impl Engine {
    /// Whether a cancel of all orders of this account, or of those of one symbol, would cancel one. To ask changes no reply, event or state.
    /// Errors: what that cancel is told.
    pub fn would_cancel_any(&mut self, account: AccountId, symbol: Option<Symbol>) -> Result<bool, Reject> {
        let (account, symbol) = self.whose_orders(account, symbol)?;
        self.account_orders.enter_new(&self.orders, self.next_order);
        let mut account_orders = std::mem::take(&mut self.account_orders);
        let has_any = account_orders.has_any(&self.orders, account, symbol, |slot| self.standing_as(slot).symbol);
        self.account_orders = account_orders;
        Ok(has_any)
    }

    /// Cancels all open orders of an account, of one symbol or of all, the oldest first.
    #[cold]
    pub(crate) fn cancel_all(
        &mut self,
        account: AccountId,
        symbol: Option<Symbol>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (account, symbol) = self.whose_orders(account, symbol)?;
        // From here it cannot be rejected.
        let found = self.take_orders_of(account, symbol);
        self.cancel_each(&found, CancelReason::Asked, events);
        Ok(Reply::CanceledAll { orders: found.len(), sequence: self.sequence })
    }

    /// The ids and slots of the open orders of an account, of one symbol or of all, the oldest first: who asks ends them.
    pub(crate) fn take_orders_of(&mut self, account: AccountIndex, symbol: Option<SymbolIndex>) -> Vec<(OrderId, u32)> {
        let mut account_orders = std::mem::take(&mut self.account_orders);
        account_orders.enter_new(&self.orders, self.next_order);
        let found = account_orders.take(&self.orders, account, symbol, |slot| self.standing_as(slot).symbol);
        self.account_orders = account_orders;
        found
    }

    fn whose_orders(
        &self,
        account: AccountId,
        symbol: Option<Symbol>,
    ) -> Result<(AccountIndex, Option<SymbolIndex>), Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let found = |symbol| self.symbols.find(symbol).ok_or(Reject::UnknownSymbol);
        Ok((account, symbol.map(found).transpose()?))
    }

    /// Cancels orders that are open, by their ids and slots.
    pub(crate) fn cancel_each(&mut self, found: &[(OrderId, u32)], why: CancelReason, events: &mut impl FnMut(Event)) {
        for some in found.chunks(AHEAD) {
            self.look_ahead_canceled(some);
            for &(order, slot) in some {
                // One that was linked with one before it, or waited for that, has ended with it.
                if self.orders.get(slot).id != order || self.orders.get(slot).open.is_zero() {
                    continue;
                }
                if !self.links.is_empty() {
                    self.cancel_partner(order, &self.standing_as(slot), events);
                }
                self.take_out(slot, why, events);
                self.finish(slot, events);
            }
        }
    }

    /// Reads what canceling these orders will need, so that the waits for memory overlap.
    fn look_ahead_canceled(&self, found: &[(OrderId, u32)]) {
        let mut seen = 0u64;
        for &(order, slot) in found {
            seen ^= self.orders.touch_index(order) ^ self.orders.touch(slot);
        }
        for &(_, slot) in found {
            let Order { older, newer, .. } = *self.orders.get(slot);
            for neighbour in [older, newer].into_iter().filter(|&slot| slot != NONE) {
                seen ^= self.orders.get(neighbour).id.0;
            }
        }
        black_box(seen);
    }
}
