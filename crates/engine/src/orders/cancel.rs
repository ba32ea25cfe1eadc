//! Ends orders before they are executed: on request, or at their deadline.

use slots::NONE;
use terms::{
    AccountId, AccountIndex, CancelReason, ClientOrderId, Deadline, Event, Execution, NewOrder, OrderId, Position,
    Reject, Reply, Sequence, Shares, Side, Status, SymbolIndex, Time,
};

use crate::engine::Engine;
use crate::matching::book::Level;
use crate::orders::order_terms::Condition;
use crate::orders::state::Order;

impl Engine {
    /// Whether an `ExpireOrders` at this time may end an order: one of a kill that goes on, or one whose deadline has
    /// come.
    pub fn has_orders_to_end(&self, now: Time) -> bool {
        self.has_kills_going_on() || self.has_passed_deadlines(now)
    }

    /// Whether there are open orders whose deadlines came by this time.
    #[inline]
    pub(crate) fn has_passed_deadlines(&self, now: Time) -> bool {
        self.deadlines.next_passed(now).is_some()
    }

    /// Whether there may be open orders with an [`ending`](Engine::ending).
    #[inline]
    pub(crate) fn are_some_ending(&self) -> bool {
        self.has_kills_going_on() || self.has_passed_deadlines(self.time)
    }

    /// The reason why an open order executes with no order any more, and is canceled when one meets it: it remains of a
    /// kill that goes on, or its time has come.
    pub(crate) fn ending(&self, slot: u32, symbol: SymbolIndex) -> Option<CancelReason> {
        self.ending_of(self.orders.get(slot), symbol)
    }

    /// The ending of the open order with this record.
    pub(crate) fn ending_of(&self, order: &Order, symbol: SymbolIndex) -> Option<CancelReason> {
        if self.is_killed_order(order.account, symbol) {
            Some(CancelReason::Asked)
        } else if self.has_passed_deadlines(self.time) && self.has_ended(order.id) {
            Some(CancelReason::Expired)
        } else {
            None
        }
    }

    /// Whether the time of an open order has come.
    pub(crate) fn has_ended(&self, order: OrderId) -> bool {
        self.deadline(order).is_some_and(|until| until.time() <= self.time)
    }

    /// The time at which the next open order ends; none if no open order has a deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.next().map(|(until, _)| until.time())
    }

    /// The deadline of an open order.
    pub fn deadline(&self, order: OrderId) -> Option<Deadline> {
        self.deadlines.of(order)
    }

    /// Cancels the order of a client order id.
    #[cold]
    pub(crate) fn cancel_client_order(
        &mut self,
        account: AccountId,
        id: ClientOrderId,
        executions: &mut Vec<Execution>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let order = self.client_order(account, id)?;
        self.cancel_order(account, order, executions, events)
    }

    // Inlined into both callers, so that orders without client order ids do not pay for the second one.
    #[inline(always)]
    pub(crate) fn cancel_order(
        &mut self,
        account: AccountId,
        order: OrderId,
        executions: &mut Vec<Execution>,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let slot = match self.find_open(account, order) {
            Ok(slot) => slot,
            Err(told) => return Ok(told),
        };
        // From here the cancel cannot be rejected.
        self.last_cancel = self.sequence;
        if !self.links.is_empty() {
            self.cancel_partner(order, &self.standing_as(slot), events);
        }
        self.take_out(slot, CancelReason::Asked, events);
        let start = executions.len();
        let canceled = self.orders.history(slot, executions);
        let elsewhere = self.orders.added_up(slot).map(Box::new);
        self.finish(slot, events);
        Ok(Reply::Canceled(Status {
            order,
            open: Shares::ZERO,
            terms: None,
            canceled,
            executions: start..executions.len(),
            elsewhere,
        }))
    }

    /// Cancels an open order, wherever it stands, without finishing it.
    #[inline(always)]
    pub(crate) fn take_out(&mut self, slot: u32, why: CancelReason, events: &mut impl FnMut(Event)) {
        if self.stops.is_waiting(slot, self.orders.get(slot).level) {
            self.cancel_stop(slot, why, events);
        } else if self.orders.get(slot).level == NONE {
            self.cancel_pending(slot, why, events);
        } else {
            let Level { symbol, side, price, .. } = *self.books.level(self.orders.get(slot).level);
            self.leave_book(slot);
            self.cancel_open(slot, &NewOrder::limit(symbol, side, price, Shares::ZERO), why, events);
        }
    }

    /// Takes an open order off its book.
    #[inline(always)]
    pub(crate) fn leave_book(&mut self, slot: u32) {
        let open = if self.icebergs.is_empty() { self.orders.get(slot).open } else { self.open_of(slot) };
        self.count_if_market(slot, Position::ZERO.minus(open.position()));
        self.books.remove(slot, open, &mut self.orders);
    }

    /// Takes an open order out of the queue that it stands in.
    pub(crate) fn leave_queue(&mut self, slot: u32) {
        if self.stops.is_waiting(slot, self.orders.get(slot).level) {
            self.stops.remove(&mut self.orders, slot);
        } else {
            self.leave_book(slot);
        }
    }

    /// Cancels a waiting order.
    #[cold]
    fn cancel_stop(&mut self, slot: u32, why: CancelReason, events: &mut impl FnMut(Event)) {
        let placed = self.stops.placed(&self.orders, slot);
        self.stops.remove(&mut self.orders, slot);
        self.cancel_open(slot, &placed, why, events);
    }

    /// Cancels the open shares of an order, and gives back what they hold. The order has left its queue, and is not
    /// finished here.
    #[inline]
    pub(crate) fn cancel_open(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        if !self.icebergs.is_empty() {
            self.uncover(slot);
        }
        let NewOrder { symbol, .. } = *placed;
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let shares = self.orders.cancel(slot, self.time);
        events(Event::OrderCanceled { order, account, symbol, shares, why });
        self.give_back(account, placed, shares, events);
    }

    /// Gives back what these shares of an order hold.
    #[inline]
    pub(crate) fn give_back(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        shares: Shares,
        events: &mut impl FnMut(Event),
    ) {
        let NewOrder { symbol, side, limit, .. } = *placed;
        if !self.limits.is_empty() {
            self.limits.take(account, symbol, shares);
        }
        match side {
            Side::Buy if placed.pays_as_it_goes() => {}
            Side::Buy => self.credit_money(account, limit.times(shares), events),
            Side::Sell => self.credit_shares(account, symbol, shares.position(), events),
        }
    }

    /// Cancels the remaining orders of kills, and as many orders whose deadlines have come, the earliest first: neither
    /// keeps the other waiting.
    #[cold]
    pub(crate) fn expire_orders(&mut self, events: &mut impl FnMut(Event)) {
        self.go_on_with_kills(events);
        let before = self.open_order_count();
        for _ in 0..self.cancel_bounds.command {
            let Some(order) = self.deadlines.next_passed(self.time) else { break };
            let slot = self.orders.find(order).expect("invariant: an order with a deadline is open");
            self.end_order(slot, CancelReason::Expired, events);
        }
        self.count_ended(before);
    }

    /// Cancels the orders of a symbol whose deadlines have come by this time, the earliest first, as far as the command
    /// goes. Returns whether these were all.
    pub(crate) fn end_expired_in(&mut self, symbol: SymbolIndex, now: Time, events: &mut impl FnMut(Event)) -> bool {
        let before = self.open_order_count();
        for _ in 0..self.cancels_left {
            let Some(order) = self.deadlines.next_passed_in(symbol, now) else { break };
            let slot = self.orders.find(order).expect("invariant: an order with a deadline is open");
            self.end_order(slot, CancelReason::Expired, events);
        }
        self.count_ended(before);
        self.deadlines.next_passed_in(symbol, now).is_none()
    }

    /// Cancels an open order, whatever its place, and the order that is linked with it.
    #[inline(never)]
    pub(crate) fn end_order(&mut self, slot: u32, why: CancelReason, events: &mut impl FnMut(Event)) {
        if !self.links.is_empty() {
            self.cancel_partner(self.orders.get(slot).id, &self.standing_as(slot), events);
        }
        self.take_out(slot, why, events);
        self.finish(slot, events);
    }

    /// Whether the current command may place an order on this condition.
    pub(crate) fn is_met(&self, condition: Condition) -> bool {
        match condition {
            Condition::Always => true,
            Condition::Replacing => self.aside.is_some(),
            Condition::Canceled => self.last_cancel != Sequence::ZERO && self.last_cancel.next() == self.sequence,
        }
    }
}
