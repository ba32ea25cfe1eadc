//! Places an order: holds what it may cost, matches it by price and time, and lets the remaining shares rest on the
//! book or cancels them. Waiting orders come here from `stops/apply.rs` when they are triggered.

use terms::{
    AccountId, AccountIndex, Bond, BrokenRule, ClientOrderId, Event, FundsOrder, NewOrder, OrderDifference, OrderForm,
    OrderId, OrderKind, Place, Price, Reject, Reply, SelfTrade, Shares, Side, SymbolIndex,
};

use crate::engine::Engine;
use crate::matching::aggressor::{FundsBefore, Remainder};
use crate::orders::client_ids::ClientOrder;
use crate::orders::order_terms::{Condition, OrderTerms};
use crate::under_way::apply::ACTIVATION;

impl Engine {
    /// Places an order of any form, on its terms and with its bond.
    #[cold]
    pub(crate) fn place(&mut self, place: &Place, events: &mut impl FnMut(Event)) -> Result<Reply, Reject> {
        match place.bond() {
            Bond::Replacing => self.place_replacing(place, events),
            Bond::Alone | Bond::IfCanceled | Bond::Linked | Bond::Working { .. } | Bond::Pending => {
                self.place_form(place, events)
            }
        }
    }

    #[cold]
    pub(crate) fn place_form(&mut self, place: &Place, events: &mut impl FnMut(Event)) -> Result<Reply, Reject> {
        let (account, terms) = (place.account, &OrderTerms::of(place));
        match (&place.form(), place.bond()) {
            (OrderForm::Funds(order), _) => self.place_by_funds(account, order, terms, events),
            (OrderForm::Trailing { order, trail }, _) => self.place_trailing(account, order, *trail, terms, events),
            (OrderForm::Plain(order) | OrderForm::Iceberg { order, .. }, bond) => match bond {
                Bond::Alone | Bond::IfCanceled | Bond::Replacing => self.place_on_terms(account, order, terms, events),
                Bond::Linked => self.place_linked(account, order, terms, events),
                Bond::Working { two_wait } => self.place_working(account, order, terms, two_wait, events),
                Bond::Pending => self.place_pending(account, order, terms, events),
            },
        }
    }

    /// Places an order under a client order id, or answers with the order of that id; or places it on a condition.
    #[cold]
    pub(crate) fn place_on_terms(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        match (self.repeated(index, asked, terms)?, terms.until) {
            (Some((order, limit)), _) => Ok(self.repeated_at(order, asked, limit)),
            (None, _) if !self.is_met(terms.condition) => Err(Reject::NotCanceled),
            (None, Some(until)) if until.time() <= self.time => Err(Reject::DeadlinePassed { until, now: self.time }),
            (None, _) => {
                let symbol = self.symbols.find(asked.symbol);
                terms.display.map_or(Ok(()), |display| self.check_display(symbol, asked.shares, display))?;
                self.place_order(account, asked, terms, events)
            }
        }
    }

    /// The order that the client order id stands for, and its limit, if the terms are the same. Errors: those of
    /// `standing`.
    pub(crate) fn repeated(
        &self,
        account: AccountIndex,
        asked: &NewOrder,
        terms: &OrderTerms,
    ) -> Result<Option<(OrderId, Price)>, Reject> {
        let differs = |before: &ClientOrder| OrderDifference {
            symbol: self.symbols.find(asked.symbol) != Some(before.placed.symbol),
            side: asked.side != before.placed.side,
            // A post-only-move order is the same wherever it moved to, and a market order wherever its limit is.
            limit: asked.limit != before.placed.limit && !asked.may_move() && asked.kind != OrderKind::AuctionMarket,
            shares: asked.shares != before.placed.shares,
            kind: asked.kind.once_placed() != before.placed.kind,
            trigger: asked.trigger != before.placed.trigger || terms.trail != before.trail,
            self_trade: asked.self_trade != before.placed.self_trade,
            until: terms.until != before.until,
            partner: false,
            display: terms.display != before.display,
        };
        self.standing(account, terms.client_id, differs)
    }

    /// The order that a client order id stands for, if the terms are the same; none without an id, or if the id is free
    /// and there is room for it. Errors: `ClientOrderIdTaken`, `Full`.
    fn standing(
        &self,
        account: AccountIndex,
        id: Option<ClientOrderId>,
        differs: impl FnOnce(&ClientOrder) -> OrderDifference,
    ) -> Result<Option<(OrderId, Price)>, Reject> {
        let Some(id) = id else { return Ok(None) };
        let Some(before) = self.client_orders.find(account, id, self.time) else {
            return if self.client_orders.has_room() { Ok(None) } else { Err(Reject::Full) };
        };
        match differs(before) {
            differs if differs.is_none() => Ok(Some((before.order, before.placed.limit))),
            differs => Err(Reject::ClientOrderIdTaken { order: before.order, differs }),
        }
    }

    /// Places an order for as many shares as its funds trade. That number is unknown when the client sends the order
    /// again, so under the same client order id any amount of funds is the same order.
    #[cold]
    pub(crate) fn place_by_funds(
        &mut self,
        account: AccountId,
        asked: &FundsOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let FundsOrder { symbol, side, funds, self_trade } = *asked;
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let differs = |before: &ClientOrder| OrderDifference {
            symbol: self.symbols.find(symbol) != Some(before.placed.symbol),
            side: side != before.placed.side,
            kind: before.placed.kind != OrderKind::Market,
            trigger: before.placed.trigger.is_some() || before.trail.is_some(),
            self_trade: self_trade != before.placed.self_trade,
            until: before.until.is_some(),
            ..OrderDifference::default()
        };
        match self.standing(index, terms.client_id, differs)? {
            Some((order, _)) => return Ok(Reply::Repeated(order)),
            None if !self.is_met(terms.condition) => return Err(Reject::NotCanceled),
            None => {}
        }
        let listing = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        self.check_takes_orders(index, listing)?;
        if !self.limits.is_empty() {
            self.check_value(index, funds)?;
        }
        self.check_trading(listing).map_err(Reject::BreaksRule)?;
        let lot = self.rules(listing).map_or(Shares::MIN, |rules| rules.lot);
        let available = self.accounts.get(index).balance;
        if side == Side::Buy && available < funds {
            return Err(Reject::InsufficientFunds { needed: funds, available });
        }
        if self.waits_for_turn(listing) || self.turns_left == 0 {
            return Err(Reject::WouldWait);
        }
        self.count_turns(ACTIVATION);
        let shares = self.traded_for(index, listing, asked);
        if shares.is_zero() {
            return Err(Reject::FundsTradeNothing { funds });
        }
        let lots = shares.rounded_down(lot);
        if lots.is_zero() {
            return Err(Reject::BreaksRule(BrokenRule::TooFewShares { shares, least: lot }));
        }
        self.place_order(account, &NewOrder::market(symbol, side, lots).with_self_trade(self_trade), terms, events)
    }

    /// Places an order whose terms were checked: its client order id is free. Inlined into its callers, with the walk,
    /// as `cancel_order` is.
    #[inline(always)]
    pub(crate) fn place_order(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = *asked;
        assert!(!shares.is_zero(), "invariant: an order of no shares is refused by the parser");
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        if !self.kills.is_empty() || self.account_statuses.has_closed() {
            self.check_takes_orders(account, symbol)?;
        }
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        let limit = match kind.is_for_auction() {
            true => {
                self.limit_at_auction(account, &NewOrder { symbol, side, limit, shares, kind, trigger, self_trade })?
            }
            false => limit,
        };
        if !self.limits.is_empty() {
            let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
            if let Some(reply) = self.place_limited(account, &placed, terms, events) {
                return reply;
            }
        }
        let is_plain = kind == OrderKind::Limit && trigger.is_none() && self_trade == SelfTrade::Allowed;
        if !is_plain || self.instruments.get(symbol).is_some() || self.any_wait_for_turn() {
            let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
            return self.place_special(account, &placed, terms, events);
        }
        // The compiler sees a plain limit order here, so its path has none of the code for other orders.
        let placed = NewOrder::limit(symbol, side, limit, shares);
        let before = self.hold(account, &placed)?;
        self.place_held(account, &placed, &placed, shares, before, terms, events)
    }

    /// Places an order that is more than a limit order, or in a symbol with rules.
    #[inline(never)]
    pub(crate) fn place_special(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if placed.kind == OrderKind::PostOnlyMove {
            return self.place_moving(account, placed, terms, events);
        }
        if placed.kind.is_for_auction() {
            return self.place_for_auction(account, placed, terms, events);
        }
        if self.instruments.get(placed.symbol).is_some() {
            return self.place_by_rules(account, placed, terms, events);
        }
        if let Some(trigger) = placed.trigger {
            return self.place_stop(account, placed, trigger, terms, events);
        }
        if self.waits_when_placed(placed) {
            return self.place_behind_others(account, placed, terms, events);
        }
        let arriving = self.within_collar(account, placed);
        let wanted = self.wanted(account, &arriving)?;
        if self.fills_later(wanted.fills) {
            return self.place_behind_others(account, placed, terms, events);
        }
        let before = self.hold(account, placed)?;
        self.place_held(account, placed, &arriving, wanted.shares, before, terms, events)
    }

    /// Places an order that can no longer be rejected. It executes within the limit of `arriving`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn place_held(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        arriving: &NewOrder<SymbolIndex>,
        wanted: Shares,
        before: FundsBefore,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (order, slot) = self.open_order(account, placed, terms, events);
        let reached_before = self.stops.reached_orders();
        self.execute_all((slot, order, account), arriving, wanted, before, Remainder::of(placed, terms), events);
        self.activate_after(reached_before, events);
        Ok(Reply::Opened(order))
    }

    /// Gives an accepted order its id and its slot.
    #[inline(always)]
    pub(crate) fn open_order(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> (OrderId, u32) {
        if let Some((order, slot)) = terms.amended {
            self.begin_amended((order, slot), placed, terms, events);
            return (order, slot);
        }
        if let Some((order, slot)) = terms.released {
            events(Event::OrderReleased { order, account, placed: *placed });
            return (order, slot);
        }
        if terms.condition == Condition::Replacing {
            self.end_replaced(placed, events);
        }
        let order = self.take_id();
        self.last_opened = self.sequence;
        let slot = self.orders.insert(order, account, placed.shares, (placed.kind, placed.self_trade));
        events(Event::OrderOpened { order, account, placed: *placed });
        self.give_terms((order, slot), account, placed, terms, events);
        (order, slot)
    }

    /// Takes the id of the next accepted order.
    #[inline(always)]
    pub(crate) fn take_id(&mut self) -> OrderId {
        let order = self.next_order;
        self.next_order = OrderId(order.0.checked_add(1).expect("invariant: fewer than 2^64 orders"));
        order
    }

    /// Notes the terms of an accepted order, and reports them.
    #[inline(always)]
    pub(crate) fn give_terms(
        &mut self,
        (order, slot): (OrderId, u32),
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) {
        let OrderTerms { client_id, until, display, trail, .. } = *terms;
        if let Some(id) = client_id {
            // No client asked for the present trigger of a trailing stop.
            let placed = NewOrder { trigger: placed.trigger.filter(|_| trail.is_none()), ..*placed };
            let client_order = ClientOrder { id, account, order, placed, until, display, trail, done: None };
            self.client_orders.open(slot, client_order, self.time);
            events(Event::ClientOrderIdGiven { order, id });
        }
        if let Some(until) = until {
            self.deadlines.insert(order, placed.symbol, until);
            events(Event::DeadlineGiven { order, until });
        }
        if let Some(display) = display {
            self.give_display(order, display, events);
        }
    }

    /// Takes the most that an order may cost; returns what the account had before. Errors: `InsufficientFunds`,
    /// `InsufficientShares`.
    #[inline(always)]
    pub(crate) fn hold(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
    ) -> Result<FundsBefore, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        match side {
            Side::Buy if placed.pays_as_it_goes() => {
                Ok(FundsBefore::Pay { funds: self.accounts.get(account).balance, lot: Shares::MIN })
            }
            Side::Buy => {
                let (needed, available) = (limit.times(shares), self.accounts.get(account).balance);
                if available < needed {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts.debit(account, needed);
                Ok(FundsBefore::Buy(available))
            }
            Side::Sell => {
                let needed = shares.position();
                match self.positions.debit(account, symbol, needed) {
                    Ok(available) => Ok(FundsBefore::Sell(available)),
                    Err(available) => Err(Reject::InsufficientShares { needed, available }),
                }
            }
        }
    }
}
