//! Gives an open order other terms in one step. One that keeps its place is changed where it stands. Any other is set
//! aside, as if it were canceled, and placed again under its id: it is checked as a new order, and what it held pays
//! for it. If it is refused, it is put back, and nothing has happened.

use terms::{
    AccountIndex, AmendFault, Amendment, CancelReason, Change, Deadline, Event, Money, NewOrder, OrderId, OrderKind,
    Position, Reject, Reply, Shares, Side, SymbolIndex, Trail, Trigger, WaitsFor,
};

use crate::engine::Engine;
use crate::orders::aside::{PlaceAside, SetAside};
use crate::orders::order_terms::OrderTerms;

/// The terms of an open order that an amendment may change. `placed` has its open shares, and its trigger if it waits
/// for one. A new trigger that follows the market is not known yet.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Amendable {
    placed: NewOrder<SymbolIndex>,
    trail: Option<Trail>,
    until: Option<Deadline>,
    display: Option<Shares>,
}

impl Amendable {
    /// Whether an order with these terms may have the place of one with those `before`: nothing of it could execute
    /// sooner or more.
    fn keeps_place(&self, before: &Amendable) -> bool {
        let shares = before.placed.shares;
        NewOrder { shares, ..self.placed } == before.placed
            && self.trail == before.trail
            && self.placed.shares <= shares
            && (self.display.is_some() || before.display.is_none())
    }
}

impl Engine {
    /// Gives an order the terms that an amendment names.
    #[cold]
    pub(crate) fn amend_terms(
        &mut self,
        order: OrderId,
        amendment: &Amendment,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let slot = match self.find_open(amendment.account, order) {
            Ok(slot) => slot,
            Err(Reply::Rejected(Reject::NothingOpen)) => return Err(Reject::NothingToAmend),
            Err(told) => return Ok(told),
        };
        if let Some(working) = self.pends_on(order) {
            return Err(Reject::AmendsPending { working });
        }
        if self.has_ended(order) {
            return Err(Reject::NothingToAmend);
        }
        let (account, executed) = (self.orders.get(slot).account, self.orders.executed(slot));
        let before = self.amendable(slot);
        let after = self.amended(order, &before, executed, amendment)?;
        let open = after.placed.shares;
        if after == before {
            return Ok(Reply::Amended { order, open });
        }
        let symbol = before.placed.symbol;
        let is_less = open < before.placed.shares;
        let only_less = Amendable { placed: NewOrder { shares: open, ..before.placed }, ..before };
        if !(is_less && after == only_less) {
            self.check_amendment((account, symbol), &after)?;
            let more = open > before.placed.shares;
            if let Some(display) = after.display
                && (more || matches!(amendment.display(), Change::Set(_)))
            {
                self.check_display(Some(symbol), executed.plus(open), display)?;
            }
        }
        if after.keeps_place(&before) {
            if let Some(rules) = self.rules(symbol).filter(|_| is_less) {
                rules.check_amended(executed.plus(open)).map_err(Reject::BreaksRule)?;
            }
            // From here the amendment cannot be rejected.
            if is_less {
                let taken = before.placed.shares.less(open);
                self.reduce(slot, &before.placed, taken, CancelReason::Asked, events);
            }
            if after != only_less {
                self.amend_in_place(slot, executed, &before, &after, events);
            }
            return Ok(Reply::Amended { order, open });
        }
        if self.is_in_no_book(slot) && self.stops.turn(&self.orders, slot).is_some() {
            return Err(Reject::CannotAmend(AmendFault::WaitsForTurn));
        }
        // One of two linked orders executes nothing when it is placed again.
        let may_execute = before.placed.trigger.is_none() && after.placed.kind != OrderKind::PostOnly;
        if let Some(partner) = self.links.partner_of(order).filter(|_| may_execute) {
            return Err(Reject::CannotLink { order: partner });
        }
        self.place_amended(slot, executed, &after, events)?;
        let open = self.orders.find(order).map_or(Shares::ZERO, |slot| self.open_of(slot));
        Ok(Reply::Amended { order, open })
    }

    /// The terms that an open order has.
    fn amendable(&self, slot: u32) -> Amendable {
        let order = self.orders.get(slot).id;
        let mut placed = NewOrder { trigger: self.waits(slot), ..self.standing_as(slot).as_placed() };
        if !self.is_in_no_book(slot) {
            (placed.kind, placed.self_trade) = self.orders.kind(slot);
        }
        Amendable {
            placed,
            trail: self.trail_of(slot),
            until: self.deadline(order),
            display: self.icebergs.get(order).map(|hiding| hiding.display),
        }
    }

    /// The terms that an amendment makes of those before. Errors: the order cannot have them, whatever the market is.
    fn amended(
        &self,
        order: OrderId,
        before: &Amendable,
        executed: Shares,
        amendment: &Amendment,
    ) -> Result<Amendable, Reject> {
        let fault = |fault| Err(Reject::CannotAmend(fault));
        let Amendable { mut placed, mut trail, .. } = *before;
        let (partner, works) =
            (self.links.partner_of(order), self.pendings.of_working(order).iter().any(Option::is_some));
        if let Some(shares) = amendment.shares() {
            if shares <= executed {
                return Err(Reject::AmendsBelowExecuted { executed });
            }
            placed.shares = shares.less(executed);
            if let Some(partner) = partner.filter(|_| placed.shares != before.placed.shares) {
                return Err(Reject::AmendsOneOfTwo { partner });
            }
        }
        if let Some(limit) = amendment.limit() {
            if placed.kind.is_market() {
                return fault(AmendFault::HasNoLimit);
            }
            placed.limit = limit;
        }
        if let Some(waits_for) = amendment.waits_for() {
            if placed.trigger.is_none() {
                return fault(AmendFault::WaitsForNoPrice);
            }
            (placed.trigger, trail) = match waits_for {
                WaitsFor::StopLoss(price) => (Some(Trigger::stop_loss(placed.side, price)), None),
                WaitsFor::TakeProfit(price) => (Some(Trigger::take_profit(placed.side, price)), None),
                WaitsFor::Trail(named) if trail == Some(named) => (placed.trigger, trail),
                WaitsFor::Trail(named) => (None, Some(named)),
            };
        }
        let waits = before.placed.trigger.is_some();
        let Some(kind) = amendment.kind(placed.kind) else { return fault(AmendFault::KeepsTif) };
        placed.kind = kind;
        if works && !placed.can_work() {
            return Err(Reject::CannotWork);
        }
        let may_show = kind.may_show_a_part() && trail.is_none() && partner.is_none() && !works;
        let may_end = kind.rests() || waits;
        // One that is under way ends at the deadline with which it waited.
        let keeps_end = may_end || kind == before.placed.kind;
        let display = match amendment.display() {
            Change::Set(_) if !may_show => return fault(AmendFault::ShowsAll),
            display @ (Change::Keep | Change::Remove | Change::Set(_)) => {
                display.of(before.display).filter(|_| may_show)
            }
        };
        let until = match amendment.deadline() {
            Change::Set(_) if !may_end => return fault(AmendFault::DoneAtOnce),
            until @ (Change::Keep | Change::Remove | Change::Set(_)) => until.of(before.until).filter(|_| keeps_end),
        };
        Ok(Amendable { placed, trail, until, display })
    }

    /// Whether an order may have other terms now. Errors: its time comes with these terms, or it is killed.
    fn check_amendment(&self, (account, symbol): (AccountIndex, SymbolIndex), after: &Amendable) -> Result<(), Reject> {
        self.check_takes_orders(account, symbol)?;
        match after.until.filter(|until| until.time() <= self.time) {
            Some(until) => Err(Reject::DeadlinePassed { until, now: self.time }),
            None => Ok(()),
        }
    }

    /// Gives an order another deadline and another display. It stays where it stands.
    fn amend_in_place(
        &mut self,
        slot: u32,
        executed: Shares,
        before: &Amendable,
        after: &Amendable,
        events: &mut impl FnMut(Event),
    ) {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let Amendable { placed, until, display, .. } = *after;
        events(Event::amended((order, account), &placed, executed, true));
        self.client_orders.change(slot, |entry| (entry.until, entry.display) = (until, display));
        self.deadlines.remove(order);
        if let Some(until) = until {
            self.deadlines.insert(order, placed.symbol, until);
            events(Event::DeadlineGiven { order, until });
        }
        match display {
            Some(display) if before.display == Some(display) => events(Event::DisplayGiven { order, display }),
            Some(display) => self.change_display(slot, placed.symbol, display, events),
            None => {}
        }
    }

    /// Takes an order from its place and has it placed with other terms. Errors: the refusal; nothing has changed then.
    fn place_amended(
        &mut self,
        slot: u32,
        executed: Shares,
        after: &Amendable,
        events: &mut impl FnMut(Event),
    ) -> Result<(), Reject> {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let Amendable { placed, trail, until, display } = *after;
        let amended = Some((order, slot));
        let terms = OrderTerms { until, display, trail, amended, executed, ..OrderTerms::NONE };
        self.aside = Some(Box::new(self.set_amended_aside(slot, &placed)));
        let reply = match trail {
            Some(trail) => self.place_behind(account, &placed, trail, &terms, events),
            None => self.place_anew(account, &placed, &terms, events),
        };
        if let Some(aside) = self.aside.take() {
            assert!(reply.is_err(), "invariant: an order that is placed has left its place");
            self.put_back(&aside);
        }
        reply.map(drop)
    }

    fn place_anew(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let mut placed = *placed;
        if placed.kind.is_for_auction() {
            placed.limit = self.limit_at_auction(account, &placed)?;
        }
        if !self.limits.is_empty()
            && let Some(reply) = self.place_limited(account, &placed, terms, events)
        {
            return reply;
        }
        self.place_special(account, &placed, terms, events)
    }

    /// Sets an order aside, and gives back what it holds. A partner goes on holding what it needs: the two hold their
    /// common part once, so what is given back has the part that the order shares with it under its new terms.
    fn set_amended_aside(&mut self, slot: u32, after: &NewOrder<SymbolIndex>) -> SetAside {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let before = self.standing_as(slot);
        let symbol = before.symbol;
        let partner = self.links.partner_of(order).and_then(|partner| self.orders.find(partner));
        let shares = if before.side == Side::Sell { before.shares.position() } else { Position::ZERO };
        let money = match partner.map(|partner| self.standing_as(partner).held_money()) {
            None => before.held_money(),
            Some(others) => before.held_money().max(others).minus(others).plus(others.min(after.held_money())),
        };
        let held: (Money, Position) = (money, shares);
        let counted = Some((symbol, before.shares));
        self.limits.count_order(account, false);
        self.limits.take(account, symbol, before.shares);
        let places = vec![self.leave_place(slot)];
        self.give_hold(account, symbol, held);
        SetAside { slot, account, symbol, held, places, counted: vec![counted] }
    }

    /// Begins the new terms of an order that was set aside: it can no longer be rejected, and has left its place.
    #[cold]
    pub(crate) fn begin_amended(
        &mut self,
        (order, slot): (OrderId, u32),
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) {
        let aside = self.aside.take().expect("invariant: an order that is amended was set aside");
        for place in &aside.places {
            if let PlaceAside::Stop(stop) = place {
                self.stops.put_back(stop);
                self.stops.remove(&mut self.orders, slot);
            }
        }
        let OrderTerms { until, display, trail, executed, .. } = *terms;
        self.icebergs.remove(order);
        self.deadlines.remove(order);
        self.orders.get_mut(slot).open = placed.shares;
        self.orders.set_kind(slot, (placed.kind, placed.self_trade));
        let account = self.orders.get(slot).account;
        // No client asked for the present trigger of a trailing stop.
        let trigger = placed.trigger.filter(|_| trail.is_none());
        let asked = NewOrder { trigger, ..terms.whole(*placed) };
        self.client_orders.change(slot, |entry| {
            (entry.placed, entry.until, entry.display, entry.trail) = (asked, until, display, trail);
        });
        events(Event::OrderSetAside { order, symbol: placed.symbol, side: placed.side });
        events(Event::amended((order, account), placed, executed, false));
        if let Some(until) = until {
            self.deadlines.insert(order, placed.symbol, until);
            events(Event::DeadlineGiven { order, until });
        }
        if let Some(display) = display {
            self.give_display(order, display, events);
        }
    }
}
