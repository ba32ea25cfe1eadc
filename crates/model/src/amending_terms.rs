//! Other terms for open orders. See docs/rules/AMENDMENTS.md.

use terms::{
    AmendFault, Amendment, CancelReason, Change, Deadline, Event, Money, NewOrder, OrderId, OrderKind, Price, Reject,
    Reply, Shares, Side, SymbolIndex, Trail, Trigger, WaitsFor,
};

use crate::exchange::{Model, Order, Terms};
use crate::links::{held_money, money_of};

/// The terms of an open order that an amendment may change.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Amendable {
    open: Shares,
    limit: Price,
    kind: OrderKind,
    /// The trigger that the order waits for.
    trigger: Option<Trigger>,
    /// The distance at which this follows the market.
    trail: Option<Trail>,
    until: Option<Deadline>,
    display: Option<Shares>,
}

impl Amendable {
    fn of(order: &Order) -> Amendable {
        let Order { open, limit, kind, until, display, .. } = *order;
        let trigger = order.trigger.filter(|_| order.waits);
        let trail = order.trail.filter(|_| order.waits && order.follows);
        Amendable { open, limit, kind, trigger, trail, until, display }
    }
}

impl Model {
    pub(crate) fn amend_terms(
        &mut self,
        id: OrderId,
        amendment: &Amendment,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let order = self.owned_order(amendment.account, id)?.clone();
        if order.open.is_zero() {
            return Err(Reject::NothingToAmend);
        }
        if let Some(working) = order.pends_on {
            return Err(Reject::AmendsPending { working });
        }
        if order.until.is_some_and(|until| until.time() <= self.time) {
            return Err(Reject::NothingToAmend);
        }
        let executed = order.placed.less(order.reduced).less(order.open);
        let before = Amendable::of(&order);
        let after = self.amended(&order, executed, amendment)?;
        if after == before {
            return Ok(Reply::Amended { order: id, open: after.open });
        }
        let has_fewer = after.open < before.open;
        let has_other_terms = after != Amendable { open: after.open, ..before };
        if has_other_terms || !has_fewer {
            self.check_takes_orders(order.account, order.symbol)?;
            if let Some(until) = after.until.filter(|until| until.time() <= self.time) {
                return Err(Reject::DeadlinePassed { until, now: self.time });
            }
            let names_display = matches!(amendment.display(), Change::Set(_));
            if let Some(display) = after.display.filter(|_| names_display || after.open > before.open) {
                let whole = self.asked_by(&order, &after, after.open.plus(executed));
                self.refusal_of_display(&whole, display).map_or(Ok(()), Err)?;
            }
        }
        let stays = Amendable { open: before.open, until: before.until, display: before.display, ..after } == before;
        let loses_display = before.display.is_some() && after.display.is_none();
        if stays && after.open <= before.open && !loses_display {
            if has_fewer {
                self.check_fewer(order.symbol, after.open.plus(executed))?;
                self.take_off(id, before.open.less(after.open), CancelReason::Asked, events);
            }
            if has_other_terms {
                self.amend_in_place(id, executed, &after, events);
            }
            return Ok(Reply::Amended { order: id, open: after.open });
        }
        if self.reached.contains(&id) {
            return Err(Reject::CannotAmend(AmendFault::WaitsForTurn));
        }
        if let Some(partner) = self.partner(id)
            && !order.waits
            && after.kind != OrderKind::PostOnly
        {
            return Err(Reject::CannotLink { order: partner });
        }
        let market = self.clone();
        let mut told = Vec::new();
        if let Err(reject) = self.place_again(&order, executed, &after, &mut told) {
            // The look at other orders counts, whatever became of the amendment.
            *self = Model { turns_in_turn: self.turns_in_turn, was_put_off: self.was_put_off, ..market };
            return Err(reject);
        }
        events.extend(told);
        Ok(Reply::Amended { order: id, open: self.order(id).open })
    }

    /// The terms that an amendment makes of those of an order. Errors: the order cannot have them.
    fn amended(&self, order: &Order, executed: Shares, amendment: &Amendment) -> Result<Amendable, Reject> {
        let mut after = Amendable::of(order);
        let works = !self.behind(order.id).is_empty();
        let partner = self.partner(order.id);
        if let Some(shares) = amendment.shares() {
            if shares <= executed {
                return Err(Reject::AmendsBelowExecuted { executed });
            }
            after.open = shares.less(executed);
            if let Some(partner) = partner
                && after.open != order.open
            {
                return Err(Reject::AmendsOneOfTwo { partner });
            }
        }
        if let Some(limit) = amendment.limit() {
            if matches!(order.kind, OrderKind::Market | OrderKind::AuctionMarket) {
                return Err(Reject::CannotAmend(AmendFault::HasNoLimit));
            }
            after.limit = limit;
        }
        if let Some(waits_for) = amendment.waits_for() {
            if !order.waits {
                return Err(Reject::CannotAmend(AmendFault::WaitsForNoPrice));
            }
            let above = |price| Some(Trigger::from_below(price));
            let below = |price| Some(Trigger::from_above(price));
            match (waits_for, order.side) {
                (WaitsFor::Trail(trail), _) if after.trail == Some(trail) => {}
                (WaitsFor::Trail(trail), _) => (after.trigger, after.trail) = (None, Some(trail)),
                (WaitsFor::StopLoss(price), Side::Buy) | (WaitsFor::TakeProfit(price), Side::Sell) => {
                    (after.trigger, after.trail) = (above(price), None);
                }
                (WaitsFor::StopLoss(price), Side::Sell) | (WaitsFor::TakeProfit(price), Side::Buy) => {
                    (after.trigger, after.trail) = (below(price), None);
                }
            }
        }
        let Some(kind) = amendment.kind(order.kind) else {
            return Err(Reject::CannotAmend(AmendFault::KeepsTif));
        };
        after.kind = kind;
        if works && !matches!(kind, OrderKind::Limit | OrderKind::PostOnly) {
            return Err(Reject::CannotWork);
        }
        let may_show =
            kind.rests() && kind != OrderKind::AuctionMarket && after.trail.is_none() && partner.is_none() && !works;
        after.display = match amendment.display() {
            Change::Set(_) if !may_show => return Err(Reject::CannotAmend(AmendFault::ShowsAll)),
            Change::Set(display) => Some(display),
            Change::Keep => after.display.filter(|_| may_show),
            Change::Remove => None,
        };
        let may_end = kind.rests() || order.waits;
        after.until = match amendment.deadline() {
            Change::Set(_) if !may_end => return Err(Reject::CannotAmend(AmendFault::DoneAtOnce)),
            Change::Set(until) => Some(until),
            Change::Keep => after.until.filter(|_| may_end || kind == order.kind),
            Change::Remove => None,
        };
        Ok(after)
    }

    /// Gives an order another deadline and display. It stays where it stands, and shows no more than before.
    fn amend_in_place(&mut self, id: OrderId, executed: Shares, after: &Amendable, events: &mut Vec<Event>) {
        let rests = self.resting().any(|order| order.id == id);
        let order = &mut self.orders[id.0 as usize - 1];
        let shows_otherwise = rests && order.display != after.display;
        (order.until, order.display) = (after.until, after.display);
        let (account, symbol) = (order.account, order.symbol);
        let placed = NewOrder { shares: order.open, trigger: after.trigger, ..order.as_placed() };
        events.push(Event::amended((id, account), &placed, executed, true));
        events.extend(after.until.map(|until| Event::DeadlineGiven { order: id, until }));
        events.extend(after.display.map(|display| Event::DisplayGiven { order: id, display }));
        if let Some(display) = after.display.filter(|_| shows_otherwise) {
            order.shown = order.shown.min(display);
            events.push(Event::TipShown { order: id, symbol, shares: order.shown, stands_last: false });
        }
    }

    /// Takes an order out of the market, as if it were canceled, and places it with other terms.
    fn place_again(
        &mut self,
        order: &Order,
        executed: Shares,
        after: &Amendable,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let asked = self.asked_by(order, after, after.open);
        let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = asked;
        let placed = NewOrder { symbol: order.symbol, side, limit, shares, kind, trigger, self_trade };
        let partner = self.partner(order.id);
        // Two linked orders hold their shares once, and as much money as the one that needs more.
        let money = match partner {
            None => held_money(order),
            Some(partner) => {
                let others = held_money(self.order(partner));
                self.held_by_two(order.id, partner).minus(others).plus(others.min(money_of(&placed)))
            }
        };
        if money != Money::ZERO {
            self.credit_money(order.account, money);
        }
        if side == Side::Sell {
            self.credit_shares(order.account, order.symbol, order.open.position());
        }
        self.open.retain(|&open| open != order.id);
        let Amendable { until, display, trail, .. } = *after;
        let terms = Terms { until, display, trail, amended: Some(order.id), executed, ..Terms::NONE };
        let account = self.accounts[order.account.0 as usize].id;
        self.linking = partner;
        let reply = self.place(terms, account, asked, events);
        self.linking = None;
        reply
    }

    /// Gives an order that is placed again its terms.
    pub(crate) fn begin_amended(
        &mut self,
        id: OrderId,
        terms: Terms,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let Terms { until, display, trail, executed, .. } = terms;
        let order = &mut self.orders[id.0 as usize - 1];
        let account = order.account;
        *order = Order {
            limit: placed.limit,
            kind: placed.kind,
            open: placed.shares,
            placed: placed.shares.plus(executed),
            reduced: Shares::ZERO,
            display,
            shown: Shares::ZERO,
            until,
            trigger: placed.trigger,
            trail,
            follows: trail.is_some(),
            waits: placed.trigger.is_some(),
            arrival,
            ..order.clone()
        };
        self.open.push(id);
        events.push(Event::OrderSetAside { order: id, symbol: placed.symbol, side: placed.side });
        events.push(Event::amended((id, account), &placed, executed, false));
        events.extend(until.map(|until| Event::DeadlineGiven { order: id, until }));
        events.extend(display.map(|display| Event::DisplayGiven { order: id, display }));
        events.extend(trail.map(|trail| Event::TrailGiven { order: id, trail }));
    }

    /// The order that a client would ask for with these terms and this number of shares.
    fn asked_by(&self, order: &Order, after: &Amendable, shares: Shares) -> NewOrder {
        let symbol = self.symbols[order.symbol.0 as usize].name;
        let (side, self_trade) = (order.side, order.self_trade);
        NewOrder { symbol, side, limit: after.limit, shares, kind: after.kind, trigger: after.trigger, self_trade }
    }
}
