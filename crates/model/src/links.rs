//! Pairs of orders, each of which cancels the other.

use terms::{
    AccountId, AccountIndex, CancelReason, Event, Money, NewOrder, OrderId, OrderKind, Reject, Reply, Side, SymbolIndex,
};

use crate::exchange::{Model, Order, Terms};
use crate::placing::pays_as_it_goes;

impl Model {
    /// All pairs of linked orders.
    pub fn pairs(&self) -> impl Iterator<Item = (OrderId, OrderId)> {
        self.links.iter().copied()
    }

    /// The number of pairs.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The other order of a pair.
    pub fn partner(&self, order: OrderId) -> Option<OrderId> {
        self.links.iter().find_map(|&(one, other)| match order {
            _ if order == one => Some(other),
            _ if order == other => Some(one),
            _ => None,
        })
    }

    /// Cancels the partner of an order, before something happens to the order. The order alone then holds what both
    /// held.
    pub(crate) fn cancel_partner(&mut self, order: OrderId, events: &mut Vec<Event>) {
        self.cancel_pending_partner(order, events);
        let Some(partner) = self.partner(order) else { return };
        let held = self.held_by_two(order, partner);
        self.links.retain(|&(one, other)| one != order && other != order);
        let account = self.order(partner).account;
        let symbol = self.order(partner).symbol;
        let shares = self.cancel(partner);
        events.push(Event::OrderCanceled { order: partner, account, symbol, shares, why: CancelReason::Linked });
        let too_much = held.minus(held_money(self.order(order)));
        if too_much != Money::ZERO {
            self.credit_money(account, too_much);
            events.push(self.balance_changed(account));
        }
        self.say_if_it_is_done(partner, events);
    }

    /// The money that two linked orders hold: as much as the order that needs more.
    pub(crate) fn held_by_two(&self, one: OrderId, other: OrderId) -> Money {
        held_money(self.order(one)).max(held_money(self.order(other)))
    }

    /// Places an order that is linked with the one that the last command placed. If this one is refused, the market
    /// cancels the first, too.
    pub(crate) fn place_linked(
        &mut self,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let index = self.account_named(account)?;
        let Some(first) = self.just_opened else {
            // The reply is the one about the account or the client order id, and the market places nothing.
            let told = self.clone().place_under(terms, account, asked, &mut Vec::new());
            return match told {
                Ok(Reply::Repeated(_) | Reply::Moved { is_new: false, .. })
                | Err(Reject::UnknownAccount | Reject::ClientOrderIdTaken { .. }) => told,
                _ => Err(Reject::NotLinked),
            };
        };
        let mut after = self.clone();
        let mut told = Vec::new();
        let placed = after.try_to_place_linked(first, index, terms, account, asked, &mut told);
        if let Ok(Reply::Opened(_)) = placed {
            *self = after;
            events.append(&mut told);
        } else if self.order(first).account == index && !self.order(first).open.is_zero() {
            self.cancel_open(first, CancelReason::Linked, events);
            self.say_if_it_is_done(first, events);
        }
        placed
    }

    fn try_to_place_linked(
        &mut self,
        first: OrderId,
        index: AccountIndex,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let before = self.order(first).clone();
        if before.account != index || before.open.is_zero() {
            return Err(Reject::NotLinked);
        }
        let symbol = self.symbol_named(asked.symbol)?;
        let is_pair = before.symbol == symbol
            && before.side == asked.side
            && before.open == asked.shares
            && before.executions.is_empty()
            && (before.waits || asked.trigger.is_some())
            && !asked.kind.is_for_auction()
            && (asked.trigger.is_some() || asked.kind == OrderKind::PostOnly);
        if !is_pair {
            return Err(Reject::CannotLink { order: first });
        }
        // The second order may hold what the first one holds.
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = asked;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        match side {
            Side::Buy => self.credit_money(index, held_money(&before).min(money_of(&placed))),
            Side::Sell => self.credit_shares(index, symbol, shares.position()),
        }
        self.linking = Some(first);
        let reply = self.place_under(terms, account, asked, events);
        self.linking = None;
        let reply = reply?;
        if let Reply::Opened(order) = reply {
            self.links.push((first, order));
            events.push(Event::OrdersLinked { order: first, partner: order, account: index, symbol, side });
        }
        Ok(reply)
    }
}

/// The money that an order would hold alone.
pub(crate) fn held_money(order: &Order) -> Money {
    match order.pends_on {
        Some(_) => Money::ZERO,
        None => money_of(&NewOrder { shares: order.open, ..order.as_placed() }),
    }
}

pub(crate) fn money_of(placed: &NewOrder<SymbolIndex>) -> Money {
    match placed.side {
        Side::Buy if !pays_as_it_goes(placed) => placed.limit.times(placed.shares),
        Side::Buy | Side::Sell => Money::ZERO,
    }
}
