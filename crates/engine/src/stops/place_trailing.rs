//! Places trailing stops. `stops/state/trails.rs` moves their triggers, and `stops/apply.rs` activates them.

use terms::{
    AccountId, AccountIndex, BrokenRule, Event, NewOrder, OrderId, Reject, Reply, SymbolIndex, TRAILING_MAX,
    TRAILING_OF_ACCOUNT_MAX, Trail, Trigger,
};

use crate::engine::Engine;
use crate::orders::order_terms::OrderTerms;

impl Engine {
    /// The distance of the trigger of the order in a slot, if it follows the market.
    #[inline]
    pub(crate) fn trail_of(&self, slot: u32) -> Option<Trail> {
        match self.stops.is_waiting(slot, self.orders.get(slot).level) {
            true => self.stops.trail(&self.orders, slot),
            false => None,
        }
    }

    /// Visits the orders that follow a symbol's price, with their triggers, in no order that means anything.
    pub fn visit_trailing(&self, symbol: SymbolIndex, visit: &mut impl FnMut(OrderId, Trigger)) {
        self.stops.visit_trailing(symbol, &mut |slot, trigger| visit(self.orders.get(slot).id, trigger));
    }

    /// Places a trailing stop, at a distance from the last execution's price.
    #[cold]
    pub(crate) fn place_trailing(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        trail: Trail,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        // A post-only-move order that waits for a price does not move.
        let order = &NewOrder { kind: asked.kind.once_placed(), ..*asked };
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        match (self.repeated(account, order, terms)?, terms.until) {
            (Some((id, limit)), _) => return Ok(self.repeated_at(id, order, limit)),
            (None, _) if !self.is_met(terms.condition) => return Err(Reject::NotCanceled),
            (None, Some(until)) if until.time() <= self.time => {
                return Err(Reject::DeadlinePassed { until, now: self.time });
            }
            (None, _) => {}
        }
        let symbol = self.symbols.find(order.symbol).ok_or(Reject::UnknownSymbol)?;
        self.check_takes_orders(account, symbol)?;
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        if order.kind.is_for_auction() {
            return Err(Reject::BreaksRule(BrokenRule::NotInAuction));
        }
        let NewOrder { side, limit, shares, kind, self_trade, .. } = *order;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger: None, self_trade };
        self.place_behind(account, &placed, trail, terms, events)
    }

    /// Places a trailing stop whose terms were checked. A `placed` with a trigger follows from there on; one without
    /// begins at the price of the last execution.
    #[cold]
    pub(crate) fn place_behind(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        trail: Trail,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, shares, trigger: kept, .. } = *placed;
        let last = self.stops.last_price(symbol);
        let waits_for = kept.or_else(|| trail.trigger(side, last?));
        if !self.limits.is_empty() {
            self.check_limits(account, &NewOrder { trigger: waits_for, ..*placed }, true, terms)?;
        }
        // The price that it waits for need not be a multiple of the tick, so the rules do not get it as a trigger.
        let around = waits_for.map(|trigger| trigger.price()).or(last);
        let whole = terms.whole(NewOrder { trigger: None, ..*placed });
        self.check_trailing(&whole, around).map_err(Reject::BreaksRule)?;
        let last = last.ok_or(Reject::NothingToTrail)?;
        let trigger = waits_for.ok_or(Reject::TrailTooFar { trail, last })?;
        if kept.is_none() {
            self.check_room_to_follow(account, symbol)?;
        }
        let reply = self.place_stop(account, &placed.triggered_by(trigger), trigger, terms, events);
        if reply.is_ok() && !self.limits.is_empty() {
            self.limits.count_order(account, true);
            self.limits.add(account, symbol, shares);
        }
        reply
    }

    /// Checks that another order of an account may follow the price of a symbol. Errors: `TooManyTrails`.
    fn check_room_to_follow(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), Reject> {
        let all = self.stops.trailing(symbol);
        if all >= TRAILING_MAX {
            return Err(Reject::TooManyTrails { most: TRAILING_MAX, of_account: false });
        }
        let most = TRAILING_OF_ACCOUNT_MAX;
        if self.stops.trailing_of(account, symbol) >= most {
            return Err(Reject::TooManyTrails { most, of_account: true });
        }
        Ok(())
    }

    /// Has the trigger of the order that was just opened follow the market.
    pub(crate) fn trail_behind(
        &mut self,
        order: OrderId,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trail: Trail,
        events: &mut impl FnMut(Event),
    ) {
        let NewOrder { symbol, side, trigger, .. } = *placed;
        let last = self.stops.last_price(symbol).expect("invariant: the trigger was made of it");
        // An order that followed the market before goes on behind a better price than the last one.
        let best = match trigger {
            Some(trigger) if trail.trigger(side, last) != Some(trigger) => trail.best_behind(side, trigger, last),
            Some(_) | None => Some(last),
        };
        let best = best.expect("invariant: the trigger of an order that followed the market was behind a price");
        self.stops.wait_trailing(&mut self.orders, slot, placed, trail, best);
        events(Event::TrailGiven { order, trail });
    }

    /// Has an imported order follow the market. Errors: the fault in it.
    pub(crate) fn restore_trailing(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trigger: Trigger,
        trail: Trail,
    ) -> Result<(), &'static str> {
        let symbol = placed.symbol;
        let Some(last) = self.stops.last_price(symbol) else { return Err("a stop that follows no price") };
        if !trigger.is_stop_loss(placed.side) || trail.moved(placed.side, trigger, last).is_some() {
            return Err("a stop that is farther behind the market than it follows");
        }
        if self.stops.trailing(symbol) >= TRAILING_MAX {
            return Err("more stops that follow a symbol's price than there may be");
        }
        let best = trail.best_behind(placed.side, trigger, last).ok_or("a stop at a price that is behind no other")?;
        self.stops.wait_trailing(&mut self.orders, slot, placed, trail, best);
        Ok(())
    }
}
