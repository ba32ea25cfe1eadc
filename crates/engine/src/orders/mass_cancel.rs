//! Cancels the open orders of an account, at most [`CANCELS_MAX`](terms::CANCELS_MAX) with one command. The caller
//! continues with those that are left, so nobody waits for all of them. It takes a little less time than single cancels
//! would, between a fifth of a microsecond and one for each order. A question about an account without orders delays
//! nobody: see `orders/of_account.rs`.

use std::hint::black_box;

use slots::NONE;
use terms::{AccountId, AccountIndex, CancelReason, Event, OrderId, Reject, Reply, Symbol, SymbolIndex};

use crate::engine::{AHEAD, Engine};
use crate::orders::of_account::{OrdersOf, Taken};
use crate::orders::state::Order;

impl Engine {
    /// Whether a cancel of all orders of this account, or of those in one symbol, would cancel any. The question
    /// changes no reply, event or state. Errors: the refusal of that cancel.
    pub fn would_cancel_any(
        &mut self,
        account: AccountId,
        symbol: Option<Symbol>,
        through: Option<OrderId>,
    ) -> Result<bool, Reject> {
        let (account, symbol) = self.whose_orders(account, symbol)?;
        Ok(self.has_orders_of(account, symbol, through))
    }

    /// The newest order that was placed.
    pub fn newest_order(&self) -> OrderId {
        OrderId(self.next_order.0.saturating_sub(1))
    }

    /// Cancels open orders of an account, in one symbol or in all, oldest first.
    #[cold]
    pub(crate) fn cancel_all(
        &mut self,
        account: AccountId,
        symbol: Option<Symbol>,
        through: Option<OrderId>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (account, symbol) = self.whose_orders(account, symbol)?;
        // From here it cannot be rejected.
        let taken = self.take_orders_of(account, symbol, through, self.cancels_left);
        Ok(self.cancel_taken(&taken, through, CancelReason::Asked, events))
    }

    /// Cancels open orders that were taken out up to the newest one that is meant, and says what became of them.
    pub(crate) fn cancel_taken(
        &mut self,
        taken: &Taken,
        through: Option<OrderId>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) -> Reply {
        let newest = self.newest_order();
        let left = taken.is_cut.then(|| through.map_or(newest, |through| through.min(newest)));
        let orders = self.cancel_each(&taken.orders, why, events);
        Reply::CanceledAll { orders, left, sequence: self.sequence }
    }

    /// Takes the first open orders of an account, in one symbol or in all, oldest first, for the caller to end.
    /// `through` is the newest order that is meant, if not all are.
    pub(crate) fn take_orders_of(
        &mut self,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        through: Option<OrderId>,
        most: usize,
    ) -> Taken {
        let asked = self.orders_of(account, symbol, through);
        let mut account_orders = std::mem::take(&mut self.account_orders);
        account_orders.look_after(&self.orders, self.next_order);
        let taken = account_orders.take(&self.orders, asked, most, |slot| self.standing_as(slot).symbol);
        self.account_orders = account_orders;
        taken
    }

    /// Whether an account has open orders, in one symbol or in all.
    pub(crate) fn has_orders_of(
        &mut self,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        through: Option<OrderId>,
    ) -> bool {
        if symbol.is_some() {
            return self.take_orders_of(account, symbol, through, 0).is_cut;
        }
        let asked = self.orders_of(account, symbol, through);
        self.account_orders.look_after(&self.orders, self.next_order);
        self.account_orders.has_any(&self.orders, asked)
    }

    fn orders_of(&self, account: AccountIndex, symbol: Option<SymbolIndex>, through: Option<OrderId>) -> OrdersOf {
        let newest = self.newest_order();
        OrdersOf { account, symbol, through: through.map_or(newest, |through| through.min(newest)) }
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

    /// Cancels open orders, by their ids and slots. Returns the number of orders that ended, with those that were
    /// linked with them or waited for them.
    pub(crate) fn cancel_each(
        &mut self,
        found: &[(OrderId, u32)],
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) -> usize {
        let before = self.open_order_count();
        for some in found.chunks(AHEAD) {
            self.look_ahead_canceled(some);
            for &(order, slot) in some {
                // An order that was linked with an earlier one, or pending behind it, has already ended with it.
                if self.orders.get(slot).id != order || self.orders.get(slot).open.is_zero() {
                    continue;
                }
                self.end_order(slot, why, events);
            }
        }
        self.count_ended(before)
    }

    /// Counts what ended since there were this many open orders against the bounds of the command and of its turn.
    /// Returns the number.
    pub(crate) fn count_ended(&mut self, open_before: usize) -> usize {
        let ended = open_before.saturating_sub(self.open_order_count());
        self.cancels_left = self.cancels_left.saturating_sub(ended);
        self.turn_cancels_left = self.turn_cancels_left.saturating_sub(ended);
        ended
    }

    /// Reads the memory that canceling these orders will need, so that the waits for memory overlap.
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
