//! Links orders to pairs: whatever happens first to one of them, an execution, its trigger, a cancel or its end,
//! cancels the other. Both trade the same shares, so they hold them once, and as much money as the dearer one needs.

use terms::{
    AccountId, AccountIndex, CancelReason, Event, Money, NewOrder, OrderId, Position, Reject, Reply, Sequence, Side,
    SymbolIndex,
};

use crate::engine::Engine;
use crate::orders::order_terms::OrderTerms;
use crate::orders::state::Order;

impl Engine {
    /// The other order of a pair.
    pub fn partner(&self, order: OrderId) -> Option<OrderId> {
        self.links.partner_of(order)
    }

    /// Cancels the partner of an open order to which something is about to happen. `placed` gives what the order holds.
    #[cold]
    pub(crate) fn cancel_partner(
        &mut self,
        order: OrderId,
        placed: &NewOrder<SymbolIndex>,
        events: &mut impl FnMut(Event),
    ) {
        let Some(partner) = self.links.unlink(order) else { return };
        let slot = self.orders.find(partner).expect("invariant: both orders of a pair are open");
        let account = self.orders.get(slot).account;
        let other = self.standing_as(slot);
        self.leave_queue(slot);
        self.uncover(slot);
        let shares = self.orders.cancel(slot, self.time);
        events(Event::OrderCanceled {
            order: partner,
            account,
            symbol: other.symbol,
            shares,
            why: CancelReason::Linked,
        });
        // The order that is left goes on holding the shares, and as much money as it needs.
        if other.held_money() > placed.held_money() {
            self.credit_money(account, other.held_money().minus(placed.held_money()), events);
        }
        self.finish(slot, events);
    }

    /// The part of an open order's hold that is not counted with its partner: the younger one counts what it needs
    /// beyond the older.
    pub(crate) fn held_beside(&self, order: OrderId, placed: &NewOrder<SymbolIndex>) -> (Money, Position) {
        let older = self.links.partner_of(order).filter(|&partner| partner < order);
        let older = older.and_then(|older| self.orders.find(older)).map(|slot| self.standing_as(slot));
        let shared = older.map_or(Money::ZERO, |older| older.held_money());
        let money = placed.held_money();
        match placed.side {
            Side::Buy => (if money > shared { money.minus(shared) } else { Money::ZERO }, Position::ZERO),
            Side::Sell if older.is_some() => (Money::ZERO, Position::ZERO),
            Side::Sell => (Money::ZERO, placed.shares.position()),
        }
    }

    /// Whether two open orders may be linked.
    pub(crate) fn are_a_pair(&self, one: u32, other: u32) -> bool {
        let [first, second] = [one, other].map(|slot| self.standing_as(slot));
        let waits = |slot: u32| self.stops.is_waiting(slot, self.orders.get(slot).level);
        let same = |order: &NewOrder<SymbolIndex>| (order.symbol, order.side, order.shares);
        self.orders.get(one).account == self.orders.get(other).account
            && same(&first) == same(&second)
            && (waits(one) || waits(other))
            && [one, other].into_iter().all(|slot| self.orders.is_unexecuted(slot))
    }

    /// Places the second order of a pair, whose first the command just before placed. If the second is refused, the
    /// first is canceled.
    #[cold]
    pub(crate) fn place_linked(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let first = OrderId(self.next_order.0.saturating_sub(1));
        let was_just_placed = self.last_opened != Sequence::ZERO && self.last_opened.next() == self.sequence;
        if !was_just_placed {
            // A pair that is sent again gets its first answers.
            return match self.repeated(index, asked, terms)? {
                Some((order, limit)) => Ok(self.repeated_at(order, asked, limit)),
                None => Err(Reject::NotLinked),
            };
        }
        let placed = self.place_linked_with(first, index, account, asked, terms, events);
        if !matches!(placed, Ok(Reply::Opened(_)))
            && let Some(slot) = self.open_order_of(index, first)
        {
            self.take_out(slot, CancelReason::Linked, events);
            self.finish(slot, events);
        }
        placed
    }

    fn open_order_of(&self, account: AccountIndex, order: OrderId) -> Option<u32> {
        let slot = self.orders.find(order)?;
        let Order { account: owner, open, .. } = *self.orders.get(slot);
        (owner == account && !open.is_zero()).then_some(slot)
    }

    fn place_linked_with(
        &mut self,
        first: OrderId,
        index: AccountIndex,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let slot = self.open_order_of(index, first).ok_or(Reject::NotLinked)?;
        assert!(
            self.pends_on(first).is_none(),
            "invariant: an order that waits for another one is not counted as the last that was placed"
        );
        let before = self.standing_as(slot);
        let symbol = self.symbols.find(asked.symbol).ok_or(Reject::UnknownSymbol)?;
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = *asked;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        let is_pair = (before.symbol, before.side, before.shares) == (symbol, side, shares)
            && self.orders.is_unexecuted(slot)
            && (self.waits(slot).is_some() || trigger.is_some())
            && placed.can_be_linked();
        if !is_pair {
            return Err(Reject::CannotLink { order: first });
        }
        // The pair holds only once what both need, so the common part is given back while the second order takes it.
        let shared = before.held_money().min(placed.held_money());
        match side {
            Side::Buy => drop(self.accounts.credit(index, shared)),
            Side::Sell => drop(self.positions.credit(index, symbol, shares.position())),
        }
        self.limits.take(index, symbol, shares);
        let reply = self.place_on_terms(account, asked, terms, events);
        if !matches!(reply, Ok(Reply::Opened(_))) {
            self.limits.add(index, symbol, shares);
        }
        match (&reply, side) {
            (Ok(Reply::Opened(order)), _) => {
                self.links.link(first, *order);
                events(Event::OrdersLinked { order: first, partner: *order, account: index, symbol, side });
            }
            (_, Side::Buy) => self.accounts.debit(index, shared),
            (_, Side::Sell) => {
                let held = self.positions.debit(index, symbol, shares.position());
                held.expect("invariant: it was credited just now");
            }
        }
        reply
    }
}
