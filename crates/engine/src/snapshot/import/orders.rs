//! Reads orders back: where each waits, and its terms, links and client order id.

use super::{Importer, LastOrder, LastStop};

use terms::{
    AccountIndex, Deadline, Money, NewOrder, OrderId, OrderKind, Phase, Price, SelfTrade, Shares, Side, SymbolIndex,
    Trail,
};

use crate::engine::Engine;
use crate::orders::client_ids::ClientOrder;
use crate::stops::state::Turn;

impl Importer {
    pub(super) fn add_order(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        place: (SymbolIndex, Side),
        limit: Price,
        open: Shares,
    ) -> Result<(), &'static str> {
        self.check_order(order, open)?;
        if let Some(last) = self.last_order.filter(|last| last.place == place) {
            let worse = match place.1 {
                Side::Buy => limit < last.limit,
                Side::Sell => limit > last.limit,
            };
            if !worse && limit != last.limit {
                return Err("an order before its turn in price");
            }
        }
        if self.last_order.is_some_and(|last| last.place > place) {
            return Err("an order on a book before its turn");
        }
        let (symbol, side) = place;
        self.add_held(order, &NewOrder::limit(symbol, side, limit, open))?;
        let plain = (OrderKind::Limit, SelfTrade::Allowed);
        let slot = self.engine.orders.insert(order, account, open, plain);
        self.engine.books.rest((symbol, side, limit), slot, open, &mut self.engine.orders);
        if self.engine.phase(symbol).phase == Phase::Open && !self.engine.is_uncrossed(symbol) {
            return Err("a book whose best bid is not below its best ask");
        }
        self.last_order = Some(LastOrder { slot, place, limit, is_added_up: false });
        Ok(())
    }

    /// Gives the order on a book before it its kind and its mode of self-trade prevention.
    pub(super) fn add_kind(&mut self, kind: OrderKind, self_trade: SelfTrade) -> Result<(), &'static str> {
        let Some(last) = self.last_order else { return Err("a kind without an order") };
        let orders = &mut self.engine.orders;
        let plain = (OrderKind::Limit, SelfTrade::Allowed);
        if orders.kind(last.slot) != plain || !orders.is_unexecuted(last.slot) {
            return Err("a kind behind another one, or behind executions");
        }
        if (kind, self_trade) == plain || !kind.rests() || kind != kind.once_placed() {
            return Err("a kind that no order on a book has, or that needs no item");
        }
        orders.set_kind(last.slot, (kind, self_trade));
        if kind.is_for_auction() { self.add_auction_order(last.slot, last.place.0) } else { Ok(()) }
    }

    /// Notes the order on a book before it as one that ends with the auction of its symbol.
    fn add_auction_order(&mut self, slot: u32, symbol: SymbolIndex) -> Result<(), &'static str> {
        if self.engine.phase(symbol).phase == Phase::Open {
            return Err("an order for an auction in a symbol that is open");
        }
        self.engine.note_auction_order(slot, symbol, self.engine.orders.get(slot).open);
        Ok(())
    }

    pub(super) fn add_stop(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        is_reached: bool,
        trail: Option<Trail>,
    ) -> Result<(), &'static str> {
        self.check_order(order, placed.shares)?;
        check_kind(placed)?;
        let NewOrder { symbol, shares, trigger: Some(trigger), .. } = *placed else {
            return Err("an order that waits for no price");
        };
        if symbol.0 as usize >= self.engine.stops.watched() {
            return Err("an order that waits for a price of a symbol without its last price");
        }
        // Stops with one trigger keep the order in which they came.
        let this = (is_reached, symbol, trail.is_some(), Some(trigger));
        let is_behind = |last: LastStop| if is_reached { last.0 <= is_reached } else { last <= this };
        if !self.last_stop.replace(this).is_none_or(is_behind) {
            return Err("an order that waits before its turn");
        }
        self.add_held(order, placed)?;
        let Engine { orders, stops, .. } = &mut self.engine;
        let slot = orders.insert(order, account, shares, (placed.kind, placed.self_trade));
        if is_reached {
            stops.wait_for_turn(orders, slot, placed, Some(trigger), Turn::Reached);
            if trail.is_some() { Err("a stop that was reached and follows the market") } else { Ok(()) }
        } else if stops.last_price(symbol).is_some_and(|last| trigger.is_reached_by(last))
            && (trail.is_some() || !stops.triggers_left(symbol).reaches(trigger))
        {
            Err("a stop that the last price reaches")
        } else if let Some(trail) = trail {
            self.engine.restore_trailing(slot, placed, trigger, trail)
        } else {
            stops.wait(orders, slot, placed, trigger);
            Ok(())
        }
    }

    pub(super) fn add_delayed(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        is_under_way: bool,
    ) -> Result<(), &'static str> {
        self.check_order(order, placed.shares)?;
        check_kind(placed)?;
        let NewOrder { symbol, side, limit, shares, kind, trigger, .. } = *placed;
        self.last_stop = Some((true, symbol, false, trigger));
        let turn = match is_under_way {
            true => Turn::UnderWay,
            false if kind.is_for_auction() => Turn::Auction,
            false => Turn::Queued,
        };
        let cannot_be = kind == OrderKind::FillOrKill || kind.is_for_auction();
        if is_under_way && (self.engine.stops.is_under_way(symbol) || cannot_be) {
            return Err("an order that is under way where another one is, or of a kind that cannot be");
        }
        if !is_under_way && trigger.is_some() {
            return Err("an order that waits behind another one and for a price");
        }
        self.add_held(order, placed)?;
        let Engine { orders, stops, .. } = &mut self.engine;
        let slot = orders.insert(order, account, shares, (kind, placed.self_trade));
        stops.wait_for_turn(orders, slot, placed, trigger, turn);
        self.last_order = Some(LastOrder { slot, place: (symbol, side), limit, is_added_up: false });
        Ok(())
    }

    /// Counts what an open order holds as issued. For a linked pair the second order adds only what it needs beyond the
    /// first.
    pub(super) fn add_held(&mut self, order: OrderId, placed: &NewOrder<SymbolIndex>) -> Result<(), &'static str> {
        let partner = self.engine.links.partner_of(order).and_then(|partner| self.engine.orders.find(partner));
        let partner = partner.map(|slot| self.engine.standing_as(slot));
        match placed.side {
            Side::Buy => {
                let shared = partner.map_or(Money::ZERO, |partner| partner.held_money());
                if placed.held_money() > shared { self.add_money(placed.held_money().minus(shared)) } else { Ok(()) }
            }
            Side::Sell => {
                if partner.is_none() {
                    self.add_shares(placed.symbol, placed.shares.position());
                }
                Ok(())
            }
        }
    }

    pub(super) fn add_link(&mut self, order: OrderId, partner: OrderId) -> Result<(), &'static str> {
        if order >= partner || self.last_link.replace(order).is_some_and(|last| last >= order) {
            return Err("a link before its turn, or twice");
        }
        if [order, partner].into_iter().any(|order| self.engine.links.partner_of(order).is_some()) {
            return Err("an order that is linked twice");
        }
        self.engine.links.link(order, partner);
        Ok(())
    }

    /// Whether both orders of each link exist and may be linked.
    pub(super) fn are_links_sound(&self) -> bool {
        let engine = &self.engine;
        engine.links.pairs().all(|(one, other)| match (engine.orders.find(one), engine.orders.find(other)) {
            (Some(one), Some(other)) => engine.are_a_pair(one, other),
            _ => false,
        })
    }

    pub(super) fn check_order(&self, order: OrderId, open: Shares) -> Result<(), &'static str> {
        if order >= self.engine.next_order || order == OrderId(0) || open.is_zero() {
            return Err("an order with an impossible id or nothing open");
        }
        match self.engine.orders.find(order) {
            Some(_) => Err("an order that is there twice"),
            None => Ok(()),
        }
    }

    pub(super) fn add_deadline(&mut self, order: OrderId, until: Deadline) -> Result<(), &'static str> {
        if self.last_deadline.replace((until, order)).is_some_and(|last| last >= (until, order)) {
            return Err("a deadline before its turn, or twice");
        }
        match self.engine.orders.find(order).filter(|_| self.engine.deadlines.of(order).is_none()) {
            None => Err("a deadline of an order that is not open, or has one"),
            Some(slot) => {
                self.engine.deadlines.insert(order, self.engine.standing_as(slot).symbol, until);
                Ok(())
            }
        }
    }

    pub(super) fn add_client_order(&mut self, client: ClientOrder) -> Result<(), &'static str> {
        let ClientOrder { id, account, order, placed, until, display, trail, done } = client;
        let now = self.engine.time;
        if trail.is_some() && placed.trigger.is_some() {
            return Err("a client order id for an order with a trigger that follows the market and stands still");
        }
        check_kind(&placed)?;
        if order >= self.engine.next_order || order == OrderId(0) || placed.shares.is_zero() {
            return Err("a client order id for an order with an impossible id or no shares");
        }
        if self.last_client_order.replace(order).is_some_and(|last| last >= order) {
            return Err("a client order id before its turn, or twice for one order");
        }
        if self.engine.client_orders.find(account, id, now).is_some() {
            return Err("a client order id that stands for two orders");
        }
        match (done, self.engine.orders.find(order)) {
            (None, Some(slot)) => {
                let shows = self.engine.icebergs.get(order).map(|iceberg| iceberg.display);
                let is_on_terms = self.engine.deadlines.of(order) == until && shows == display;
                if !self.is_as_placed(slot, account, &placed, trail) || !is_on_terms {
                    return Err("a client order id for an open order that is another one");
                }
                self.engine.client_orders.open(slot, client, now);
            }
            (Some(done), None) => {
                if done > now || !client.stands(now) {
                    return Err("a client order id that stands for an order no longer, or not yet");
                }
                self.engine.client_orders.restore_done(client);
            }
            (None, None) => return Err("a client order id for an open order that is on no book"),
            (Some(_), Some(_)) => return Err("a client order id for a done order that is on a book"),
        }
        Ok(())
    }

    /// Whether an open order equals the order as placed, less its executed and its canceled shares.
    pub(super) fn is_as_placed(
        &self,
        slot: u32,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        trail: Option<Trail>,
    ) -> bool {
        let order = self.engine.orders.get(slot);
        if self.engine.stops.is_waiting(slot, order.level) {
            let waiting = self.engine.stops.placed(&self.engine.orders, slot);
            let trigger = if trail.is_some() { waiting.trigger } else { placed.trigger };
            let trails = self.engine.stops.trail(&self.engine.orders, slot);
            return order.account == account
                && (trails.is_none() || trails == trail)
                && waiting.shares <= placed.shares
                && waiting.as_placed() == NewOrder { shares: waiting.shares, trigger, ..*placed };
        }
        if let Some(pending) = self.engine.pendings.get(order.id) {
            return order.account == account && pending.placed == *placed;
        }
        let level = self.engine.books.level(order.level);
        let executed = i128::from(self.engine.orders.executed(slot).units());
        let all = i128::from(self.engine.open_of(slot).units()).saturating_add(executed);
        order.account == account
            && placed.kind.rests()
            && (level.symbol, level.side, level.price) == (placed.symbol, placed.side, placed.limit)
            && all <= i128::from(placed.shares.units())
    }
}

/// Checks that a post-only-move order has the kind that it gets when it is placed, and that one for an auction waits
/// for no price.
fn check_kind(placed: &NewOrder<SymbolIndex>) -> Result<(), &'static str> {
    let waits = placed.kind.is_for_auction() && placed.trigger.is_some();
    match placed.kind == placed.kind.once_placed() && !waits {
        true => Ok(()),
        false => Err("an order of a kind that no order is of"),
    }
}
