//! Finds an order by its name, and ends it: what is kept of a done order, and until when.

use terms::{AccountId, ClientOrderId, Event, OrderId, OrderName, Reject, Reply};

use crate::engine::{AHEAD, DoneOrders, Engine};

impl Engine {
    /// Visits the done orders that were not taken yet, in the order in which they were done. Queries find them until
    /// `forget`.
    pub fn take_done(&mut self, visit: &mut impl FnMut(OrderId)) {
        while let Some(slot) = self.done.pop_front() {
            visit(self.orders.get(slot).id);
        }
    }

    /// Forgets many orders: in a large state the waits for memory overlap.
    pub fn forget_all(&mut self, mut orders: impl Iterator<Item = OrderId>) {
        loop {
            let mut next = [OrderId(0); AHEAD];
            let count = next.iter_mut().zip(&mut orders).map(|(place, order)| *place = order).count();
            let next = &next[..count];
            if self.is_far() {
                self.look_ahead_forgotten(next);
            }
            next.iter().for_each(|&order| self.forget(order));
            if count < AHEAD {
                return;
            }
        }
    }

    /// Drops a done order that was taken and is kept elsewhere now. Changes no reply and no state hash.
    pub fn forget(&mut self, order: OrderId) {
        self.orders.remove(order);
        self.done_kept = self.done_kept.saturating_sub(1);
    }

    /// The id of the named order, whether or not there is such an order. Errors: those of `client_order`.
    #[inline]
    pub(crate) fn named_order(&self, account: AccountId, order: OrderName) -> Result<OrderId, Reject> {
        match order {
            OrderName::Id(order) => Ok(order),
            OrderName::Client(id) => self.client_order(account, id),
        }
    }

    /// The slot of an account's open order. Errors: the reply to a cancel of an order that is not open.
    #[inline(always)]
    pub(crate) fn find_open(&self, account: AccountId, order: OrderId) -> Result<u32, Reply> {
        match self.find_order(account, order) {
            Ok(Some(slot)) if self.orders.get(slot).open.is_zero() => Err(Reply::Rejected(Reject::NothingOpen)),
            Ok(Some(slot)) => Ok(slot),
            Ok(None) => Err(Reply::Done(order)),
            Err(reject) => Err(Reply::Rejected(reject)),
        }
    }

    /// The slot of an account's order; none if it is done and no longer kept. Errors: `UnknownAccount`; `UnknownOrder`,
    /// also for another account's order.
    pub(crate) fn find_order(&self, account: AccountId, order: OrderId) -> Result<Option<u32>, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if order >= self.next_order || order == OrderId(0) {
            return Err(Reject::UnknownOrder);
        }
        match self.orders.find(order) {
            Some(slot) if self.orders.get(slot).account == account => Ok(Some(slot)),
            Some(_) => Err(Reject::UnknownOrder),
            None => Ok(None),
        }
    }

    /// Ends an order without open shares: it waits for `forget`, or goes at once.
    #[inline]
    pub(crate) fn finish(&mut self, slot: u32, events: &mut impl FnMut(Event)) {
        if self.client_orders.open_count() > 0 {
            self.finish_client_order(slot, events);
        }
        if !self.deadlines.is_empty() || !self.icebergs.is_empty() {
            self.forget_terms(slot);
        }
        if !self.auction_orders.is_empty() {
            self.auction_orders.remove(self.orders.get(slot).id);
        }
        if !self.limits.is_empty() {
            self.count_done(slot);
        }
        if self.pendings.are_any() {
            self.tell_pending(slot, events);
        }
        match self.done_orders {
            DoneOrders::Keep => {
                self.done.push_back(slot);
                self.done_kept = self.done_kept.saturating_add(1);
            }
            DoneOrders::Drop => self.orders.remove(self.orders.get(slot).id),
        }
    }

    #[cold]
    pub(crate) fn finish_client_order(&mut self, slot: u32, events: &mut impl FnMut(Event)) {
        if self.client_orders.finish(slot, self.time) {
            events(Event::ClientOrderDone { order: self.orders.get(slot).id });
        }
    }

    /// Frees a client order id. Errors: `UnknownAccount`; `UnknownOrder` for an id that stands for none.
    #[cold]
    pub(crate) fn free_client_order_id(
        &mut self,
        account: AccountId,
        id: ClientOrderId,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let order = self.client_order(account, id)?;
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if !self.client_orders.free(index, id) {
            return Ok(Reply::Repeated(order));
        }
        events(Event::ClientOrderIdFreed { order });
        Ok(Reply::Freed(order))
    }

    #[cold]
    pub(crate) fn count_done(&mut self, slot: u32) {
        self.limits.count_order(self.orders.get(slot).account, false);
    }

    /// Drops the deadline and the display of a done order: nobody needs them any more.
    #[cold]
    pub(crate) fn forget_terms(&mut self, slot: u32) {
        let order = self.orders.get(slot).id;
        self.deadlines.remove(order);
        self.icebergs.remove(order);
    }
}
