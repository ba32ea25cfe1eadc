//! Orders that wait for a price that follows the market. See docs/rules/TRAILING_STOPS.md.

use terms::{AccountId, Event, NewOrder, OrderId, OrderKind, Price, Reject, Reply, Side, SymbolIndex, Trail, Trigger};

use crate::exchange::{Model, Order, Terms};

/// The most orders that follow the price of a symbol.
const TRAILING_MAX: usize = 1_000;
/// The most of one account.
const TRAILING_OF_ACCOUNT_MAX: usize = 100;

impl Model {
    pub(crate) fn place_trailing(
        &mut self,
        terms: Terms,
        account: AccountId,
        mut order: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        // An order that waits for a price does not move.
        if order.kind == OrderKind::PostOnlyMove {
            order.kind = OrderKind::PostOnly;
        }
        self.place_under(terms, account, order, events)
    }

    /// Places an order, as `place` does, whose trigger follows the market.
    pub(crate) fn place_behind(
        &mut self,
        terms: Terms,
        trail: Trail,
        account: AccountId,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        let last = self.last_price(placed.symbol).ok_or(Reject::NothingToTrail)?;
        if let Some(trigger) = placed.trigger {
            // An amended order that followed the market before goes on from there.
            return self.place_stop(terms, account, placed, trigger, events);
        }
        let trigger = behind(trail, placed.side, last).ok_or(Reject::TrailTooFar { trail, last })?;
        let following = self.following(placed.symbol);
        if following.len() >= TRAILING_MAX {
            return Err(Reject::TooManyTrails { most: TRAILING_MAX, of_account: false });
        }
        if following.iter().filter(|&&order| self.order(order).account == account).count() >= TRAILING_OF_ACCOUNT_MAX {
            return Err(Reject::TooManyTrails { most: TRAILING_OF_ACCOUNT_MAX, of_account: true });
        }
        self.place_stop(terms, account, NewOrder { trigger: Some(trigger), ..placed }, trigger, events)
    }

    /// The trigger of an order at this distance from the symbol's last price.
    pub(crate) fn trigger_behind(&self, symbol: SymbolIndex, side: Side, trail: Trail) -> Option<Trigger> {
        behind(trail, side, self.last_price(symbol)?)
    }

    /// The orders that follow a symbol's price.
    pub(crate) fn following(&self, symbol: SymbolIndex) -> Vec<OrderId> {
        let follow = self.waiting().filter(|order| order.symbol == symbol && order.follows);
        follow.map(|order| order.id).collect()
    }

    /// Moves the triggers of the orders that follow the market closer to it, after an execution at this price. Returns
    /// the orders that moved. Those in `reached` stay.
    pub(crate) fn come_nearer(&mut self, symbol: SymbolIndex, price: Price, reached: &[OrderId]) -> Vec<OrderId> {
        let mut moved = Vec::new();
        for id in self.following(symbol) {
            let order = &mut self.orders[id.0 as usize - 1];
            let (Some(trail), Some(now)) = (order.trail, order.trigger) else { continue };
            let nearer = behind(trail, order.side, price).filter(|to| match order.side {
                Side::Buy => to.price() < now.price(),
                Side::Sell => to.price() > now.price(),
            });
            if nearer.is_some() && !reached.contains(&id) {
                (order.trigger, order.has_moved) = (nearer, true);
                moved.push(id);
            }
        }
        moved
    }
}

/// The trigger of an order of this side at its distance from a price, rounded so that it triggers later.
fn behind(trail: Trail, side: Side, price: Price) -> Option<Trigger> {
    let price = i128::from(price.units());
    let scaled = match (trail.distance(), trail.bips()) {
        (Some(distance), _) => i128::from(distance.units()) * 10_000,
        (None, bips) => price * i128::from(bips.expect("one or the other")),
    };
    let units = match side {
        Side::Sell => (price * 10_000 - scaled).div_euclid(10_000),
        Side::Buy => -(-(price * 10_000 + scaled)).div_euclid(10_000),
    };
    let price = Price::from_units(i64::try_from(units).ok()?)?;
    Some(if side == Side::Sell { Trigger::from_above(price) } else { Trigger::from_below(price) })
}

impl Order {
    /// The order that the client asked for: without the trigger, if that follows the market.
    pub fn asked(&self) -> NewOrder<SymbolIndex> {
        NewOrder { trigger: self.trigger.filter(|_| self.trail.is_none()), ..self.as_placed() }
    }
}
