//! Takes shares off an open order, which keeps its place. The engine does not keep an order's number of shares: it is
//! the sum of the open and the executed ones.

use slots::NONE;
use terms::{AccountId, CancelReason, Event, NewOrder, OrderId, Position, Reject, Reply, Shares, SymbolIndex};

use crate::engine::Engine;
use crate::matching::book::Level;
use crate::orders::state::Order;

impl Engine {
    /// Leaves an order with this many shares, executed ones included.
    #[cold]
    pub(crate) fn amend_order(
        &mut self,
        account: AccountId,
        order: OrderId,
        shares: Shares,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let slot = match self.find_open(account, order) {
            Ok(slot) => slot,
            Err(Reply::Rejected(Reject::NothingOpen)) => return Err(Reject::NothingToAmend),
            Err(told) => return Ok(told),
        };
        if let Some(working) = self.pends_on(order) {
            return Err(Reject::AmendsPending { working });
        }
        let open = self.open_of(slot);
        let now = self.orders.executed(slot).plus(open);
        if shares >= now {
            return Err(Reject::AmendsUpward { shares: now });
        }
        let taken = now.less(shares);
        if taken >= open {
            return Err(Reject::AmendsBelowExecuted { executed: now.less(open) });
        }
        if let Some(partner) = self.links.partner_of(order) {
            return Err(Reject::AmendsOneOfTwo { partner });
        }
        let placed = self.standing_as(slot);
        if let Some(rules) = self.rules(placed.symbol) {
            rules.check_amended(shares).map_err(Reject::BreaksRule)?;
        }
        // From here the amendment cannot be rejected.
        self.reduce(slot, &placed, taken, CancelReason::Asked, events);
        Ok(Reply::Amended { order, open: self.open_of(slot) })
    }

    /// The terms of an open order that waits or rests: its limit and the other terms that decide what it holds.
    pub(crate) fn standing_as(&self, slot: u32) -> NewOrder<SymbolIndex> {
        let order = self.orders.get(slot);
        if self.stops.is_waiting(slot, order.level) {
            return self.stops.placed(&self.orders, slot);
        }
        if let Some(pending) = self.pendings.get(order.id) {
            return pending.placed;
        }
        let Level { symbol, side, price, .. } = *self.books.level(order.level);
        NewOrder::limit(symbol, side, price, self.open_of(slot))
    }

    /// Takes shares off an order, fewer than are open, wherever it stands, and gives back what they hold. For an
    /// iceberg the hidden shares go first, unless it was about to execute its tip.
    pub(crate) fn reduce(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        shares: Shares,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        let Order { id: order, account, level, .. } = *self.orders.get(slot);
        if level != NONE && !self.stops.is_waiting(slot, level) {
            self.count_if_market(slot, Position::ZERO.minus(shares.position()));
            self.books.take(level, shares);
        }
        let of_shown = if why == CancelReason::SelfTrade { shares } else { self.take_hidden(order, shares) };
        let reduced = self.orders.get_mut(slot);
        reduced.open = reduced.open.less(of_shown);
        let is_shown = !reduced.open.is_zero();
        assert!(is_shown || !self.hidden_shares(order).is_zero(), "invariant: an order that is reduced is not done");
        events(Event::OrderReduced { order, account, symbol: placed.symbol, shares, why });
        if !of_shown.is_zero() {
            self.show_rest(slot, placed.symbol, events);
        }
        self.give_back(account, placed, shares, events);
    }
}
