//! Places an order: holds what it may cost, matches it by price and time, and lets the remaining shares rest on the
//! book or cancels them. Waiting orders come here from `triggering.rs` when they are triggered.

use slots::NONE;
use terms::{
    AccountId, AccountIndex, BrokenRule, CancelReason, ClientOrderId, Event, Execution, FundsOrder, Money, NewOrder,
    OrderDifference, OrderId, OrderKind, Phase, Position, Price, Reject, Reply, SelfTrade, Shares, Side, SymbolIndex,
};

use crate::charge::Charge;
use crate::client_orders::ClientOrder;
use crate::counting::Counted;
use crate::engine::Engine;
use crate::order_terms::Terms;
use crate::orders::Order;
use crate::stops::Turn;

/// The most resting orders that an order looks at before it executes anything: its client need not take them, and may
/// look at them again and again.
pub(crate) const LOOKED_AT_MAX: usize = 1_000;

/// The order being placed while it matches. Rare calls get it by value: as long as nothing has a reference to it, its
/// fields stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct Aggressor {
    pub(crate) slot: u32,
    order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) side: Side,
    limit: Price,
    /// The shares that it is still to execute.
    pub(crate) wanted: Shares,
    /// The state of the order's account at the last event about it.
    pub(crate) before: Before,
    /// The money that it may pay if it holds nothing, and the lot of which it buys whole multiples.
    funds: Option<(Money, Shares)>,
    /// A seller's proceeds, or what a buyer paid less than it held, or, below zero, what a buyer paid that held
    /// nothing. It is credited once, after the walk.
    money: Money,
    /// The fee in shares, taken from those that a buyer received.
    fees: Shares,
    /// Whether it met an order of its own account, or its account got fees, so that its balance or position changed
    /// meanwhile.
    pub(crate) self_traded: bool,
    /// Whether its remaining shares are canceled, because it met such an order.
    pub(crate) is_prevented: bool,
    /// The shares that it lost without executing them.
    pub(crate) reduced: Shares,
    /// The prices of its first and last execution.
    prices: Option<(Price, Price)>,
}

/// The use of the remaining shares of an order.
#[derive(Clone, Copy)]
pub(crate) enum Rest {
    /// The shares rest in the book.
    Stays,
    Canceled(CancelReason),
}

/// The account's money or shares of the kind that the order holds, before it was placed.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    Buy(Money),
    /// The buy holds nothing and pays for whole lots.
    Pay {
        funds: Money,
        lot: Shares,
    },
    Sell(Position),
    /// The triggered sell held its shares when it was placed, and this position was reported then.
    HeldSell(Position),
}

impl Aggressor {
    /// Lowers the wanted shares to those that it can pay at this price, if it holds nothing.
    #[inline]
    pub(crate) fn want_what_is_paid_for(&mut self, price: Price) {
        if let Some((funds, lot)) = self.funds {
            let paid_for = funds.plus(self.money).buys(price);
            // It buys fewer than it wanted: whole lots only.
            if paid_for < self.wanted {
                self.wanted = paid_for.rounded_down(lot);
            }
        }
    }
}

impl Before {
    #[inline]
    fn funds(&self) -> Option<(Money, Shares)> {
        match *self {
            Before::Pay { funds, lot } => Some((funds, lot)),
            Before::Buy(_) | Before::Sell(_) | Before::HeldSell(_) => None,
        }
    }
}

impl Engine {
    /// Places an order under a client order id, or answers with the order of that id; or places it on a condition.
    #[cold]
    pub(crate) fn place_on_terms(
        &mut self,
        account: AccountId,
        asked: &NewOrder,
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        match (self.repeated(index, asked, terms)?, terms.until) {
            (Some((order, limit)), _) => Ok(self.repeated_at(order, asked, limit)),
            (None, _) if !self.is_met(terms.condition) => Err(Reject::NotCanceled),
            (None, Some(until)) if until.time() <= self.time => Err(Reject::DeadlinePassed { until, now: self.time }),
            (None, _) => {
                terms.display.map_or(Ok(()), |display| self.check_display(asked, display))?;
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
        terms: &Terms,
    ) -> Result<Option<(OrderId, Price)>, Reject> {
        let differs = |before: &ClientOrder| OrderDifference {
            symbol: self.symbols.find(asked.symbol) != Some(before.placed.symbol),
            side: asked.side != before.placed.side,
            // A post-only-move order is the same wherever it moved to.
            limit: asked.limit != before.placed.limit && !asked.may_move(),
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
        terms: &Terms,
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
        self.check_not_killed(index, listing)?;
        if !self.limits.is_empty() {
            self.check_value(index, funds)?;
        }
        self.check_trading(listing).map_err(Reject::BreaksRule)?;
        let lot = self.rules(listing).map_or(Shares::MIN, |rules| rules.lot);
        let available = self.accounts.get(index).balance;
        if side == Side::Buy && available < funds {
            return Err(Reject::InsufficientFunds { needed: funds, available });
        }
        // No shares are available while another order is under way, or if the order would wait for its turn.
        let shares = if self.delays(listing) { Shares::ZERO } else { self.traded_for(index, listing, asked) };
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
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = *asked;
        assert!(!shares.is_zero(), "invariant: an order of no shares is refused by the parser");
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        if !self.kills.is_empty() {
            self.check_not_killed(account, symbol)?;
        }
        if !self.orders.has_room() {
            return Err(Reject::Full);
        }
        if !self.limits.is_empty() {
            let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
            if let Some(reply) = self.place_limited(account, &placed, terms, events) {
                return reply;
            }
        }
        let is_plain = kind == OrderKind::Limit && trigger.is_none() && self_trade == SelfTrade::Allowed;
        if !is_plain || self.instruments.get(symbol).is_some() || self.delays_any() {
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
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if placed.kind == OrderKind::PostOnlyMove {
            return self.place_moving(account, placed, terms, events);
        }
        if self.instruments.get(placed.symbol).is_some() {
            return self.place_by_rules(account, placed, terms, events);
        }
        if let Some(trigger) = placed.trigger {
            return self.place_stop(account, placed, trigger, terms, events);
        }
        if self.delays(placed.symbol) {
            return self.place_behind_others(account, placed, terms, events);
        }
        let arriving = self.within_collar(account, placed);
        let wanted = self.wanted(account, &arriving)?;
        if self.fills_later(account, placed) {
            return self.place_behind_others(account, placed, terms, events);
        }
        let before = self.hold(account, placed)?;
        self.place_held(account, placed, &arriving, wanted, before, terms, events)
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
        before: Before,
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let (order, slot) = self.open_order(account, placed, terms, events);
        let reached_before = self.stops.reached_orders();
        let rest = if placed.kind.rests() { Rest::Stays } else { Rest::Canceled(CancelReason::NotResting) };
        self.execute_all((slot, order, account), arriving, wanted, before, rest, events);
        self.activate_after(reached_before, events);
        Ok(Reply::Opened(order))
    }

    /// Gives an accepted order its id and its slot.
    #[inline(always)]
    pub(crate) fn open_order(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> (OrderId, u32) {
        if let Some((order, slot)) = terms.released {
            events(Event::OrderReleased { order, account, placed: *placed });
            return (order, slot);
        }
        let order = self.take_id();
        self.last_opened = self.sequence;
        let slot = self.orders.insert(order, account, placed.shares);
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
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) {
        let Terms { client_id, until, display, trail, condition: _, released: _ } = *terms;
        if let Some(id) = client_id {
            // No client asked for the present trigger of a trailing stop.
            let placed = NewOrder { trigger: placed.trigger.filter(|_| trail.is_none()), ..*placed };
            let client_order = ClientOrder { id, account, order, placed, until, display, trail, done: None };
            self.client_orders.open(slot, client_order, self.time);
            events(Event::ClientOrderIdGiven { order, id });
        }
        if let Some(until) = until {
            self.deadlines.insert(order, until);
            events(Event::DeadlineGiven { order, until });
        }
        if let Some(display) = display {
            self.give_display(order, display, events);
        }
    }

    /// Executes the wanted shares of an active order as far as the book goes. Its executions reach triggers.
    #[inline(always)]
    pub(crate) fn execute_all(
        &mut self,
        (slot, order, account): (u32, OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        wanted: Shares,
        before: Before,
        rest: Rest,
        events: &mut impl FnMut(Event),
    ) {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        let mut aggressor = Aggressor {
            slot,
            order,
            account,
            symbol,
            side,
            limit,
            wanted,
            funds: before.funds(),
            before,
            money: Money::ZERO,
            fees: Shares::ZERO,
            self_traded: false,
            is_prevented: false,
            reduced: Shares::ZERO,
            prices: None,
        };
        let goes_on = self.walk_book(&mut aggressor, placed, events);
        self.settle(&aggressor, shares.less(aggressor.reduced), events);
        if self.orders.get(slot).open.is_zero() {
            self.finish(slot, events);
        } else if goes_on {
            self.delay(slot, placed, Turn::UnderWay, events);
        } else {
            match rest {
                _ if aggressor.is_prevented => self.cancel_rest(slot, placed, CancelReason::SelfTrade, events),
                Rest::Canceled(why) => self.cancel_rest(slot, placed, why, events),
                Rest::Stays => {
                    let open = self.orders.get(slot).open;
                    if !self.icebergs.is_empty() {
                        self.show_first(slot, symbol, events);
                    }
                    self.books.rest((symbol, side, limit), slot, open, &mut self.orders);
                    let is_sound = self.is_uncrossed(symbol) || self.phase(symbol).phase == Phase::Auction;
                    assert!(is_sound, "invariant: the best bid is below the best ask");
                }
            }
        }
        if let Some(prices) = aggressor.prices {
            self.follow_prices((symbol, side), prices, events);
        }
    }

    /// Applies the executions of an order, from its first to its last price, to triggers. Each one that they reach or
    /// move counts as an execution; later commands reach the fixed ones for which this one has none left.
    #[inline(always)]
    pub(crate) fn follow_prices(
        &mut self,
        (symbol, side): (SymbolIndex, Side),
        (first, last): (Price, Price),
        events: &mut impl FnMut(Event),
    ) {
        if self.stops.traded(symbol, first, last) {
            let left = self.executions_left;
            let (left, moves) = self.stops.follow(&mut self.orders, (symbol, side), (first, last), left, events);
            self.count_moves(left, moves);
        }
    }

    /// The shares that an order of another kind than a limit order may execute when it arrives. Errors: `WouldTake`;
    /// `InsufficientFunds` of a market buy that can pay for nothing.
    #[cold]
    pub(crate) fn wanted(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Shares, Reject> {
        let best = self.books.best(placed.symbol, placed.side.opposite()).map(|level| self.books.level(level).price);
        match (placed.kind, best) {
            (OrderKind::PostOnly, Some(price)) if placed.accepts(price) => Err(Reject::WouldTake { price }),
            (OrderKind::Market, Some(price)) if placed.side == Side::Buy && placed.accepts(price) => {
                let available = self.accounts.get(account).balance;
                match available.buys(price).is_zero() {
                    true => Err(Reject::InsufficientFunds { needed: price.times(placed.shares), available }),
                    false => Ok(placed.shares),
                }
            }
            (OrderKind::FillOrKill, _) if self.executions_to_fill(account, placed).is_err() => Ok(Shares::ZERO),
            (
                OrderKind::Limit
                | OrderKind::PostOnly
                | OrderKind::PostOnlyMove
                | OrderKind::ImmediateOrCancel
                | OrderKind::FillOrKill
                | OrderKind::Market,
                _,
            ) => Ok(placed.shares),
        }
    }

    /// The shares that an order trades for this money, at most as many as one order may have.
    fn traded_for(&self, account: AccountIndex, symbol: SymbolIndex, asked: &FundsOrder) -> Shares {
        let (mut left, mut room) = (asked.funds, Shares::MAX);
        let limit = self.nearest_limit(account, symbol, asked.side, self.market_limit(symbol, asked.side));
        let within = NewOrder::limit(symbol, asked.side, limit, Shares::MAX);
        self.look(symbol, asked.side, &mut |price, maker| {
            if !within.accepts(price) {
                return false;
            }
            match self.counts(asked.self_trade, account, symbol, maker) {
                Counted::Nothing => return true,
                Counted::NothingFromHere => return false,
                Counted::Whole => {}
            }
            let shares = maker.open.min(left.buys(price)).min(room);
            left = left.minus(price.times(shares));
            room = room.less(shares);
            shares == maker.open
        });
        Shares::MAX.less(room)
    }

    /// Visits the first [`LOOKED_AT_MAX`] orders on the other side, with their prices, until `visit` says that it has
    /// seen enough. Hidden shares are executed, and visited, after all shown shares at their price.
    pub(crate) fn look(&self, symbol: SymbolIndex, side: Side, visit: &mut impl FnMut(Price, &Order) -> bool) {
        let mut looked_at = 0usize;
        for level in self.books.levels(symbol, side.opposite()) {
            let mut maker = level.oldest;
            while maker != NONE {
                let order = self.orders.get(maker);
                if looked_at == LOOKED_AT_MAX || !visit(level.price, order) {
                    return;
                }
                maker = order.newer;
                looked_at = looked_at.saturating_add(1);
            }
            if !self.icebergs.is_empty() && !self.look_below(level, visit) {
                return;
            }
        }
    }

    /// Cancels the remaining shares of an order that does not rest.
    #[cold]
    fn cancel_rest(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        why: CancelReason,
        events: &mut impl FnMut(Event),
    ) {
        self.cancel_open(slot, placed, why, events);
        self.finish(slot, events);
    }

    /// Takes the most that an order may cost; returns what the account had before. Errors: `InsufficientFunds`,
    /// `InsufficientShares`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Before, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        match side {
            Side::Buy if placed.pays_as_it_goes() => {
                Ok(Before::Pay { funds: self.accounts.get(account).balance, lot: Shares::MIN })
            }
            Side::Buy => {
                let (needed, available) = (limit.times(shares), self.accounts.get(account).balance);
                if available < needed {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts.debit(account, needed);
                Ok(Before::Buy(available))
            }
            Side::Sell => {
                let needed = shares.position();
                match self.positions.debit(account, symbol, needed) {
                    Ok(available) => Ok(Before::Sell(available)),
                    Err(available) => Err(Reject::InsufficientShares { needed, available }),
                }
            }
        }
    }

    /// Counts moves as executions of a command that has so many left besides.
    fn count_moves(&mut self, left: u32, moves: u32) {
        self.executions_left = left.saturating_sub(moves);
        self.moved_beyond = self.moved_beyond.saturating_add(moves.saturating_sub(left));
    }

    /// Executes against the other side of the book, best level first, while the limit and the bound of the command
    /// allow. Its prices all lie in one direction, so the first and the last one say which triggers they reach. These
    /// take none of its executions. Returns whether the order would go on beyond the bound.
    #[inline(always)]
    fn walk_book(
        &mut self,
        aggressor: &mut Aggressor,
        placed: &NewOrder<SymbolIndex>,
        events: &mut impl FnMut(Event),
    ) -> bool {
        let mut left = self.executions_left;
        let mut goes_on = false;
        while !aggressor.wanted.is_zero() {
            let Some(level) = self.books.best(aggressor.symbol, aggressor.side.opposite()) else { break };
            let (price, mut maker) = {
                let level = self.books.level(level);
                (level.price, level.oldest)
            };
            if !placed.accepts(price) {
                break;
            }
            aggressor.want_what_is_paid_for(price);
            if left == 0 {
                goes_on = !aggressor.wanted.is_zero();
                break;
            }
            while maker != NONE && !aggressor.wanted.is_zero() && left > 0 {
                left = left.wrapping_sub(1);
                let (newer, account) = (self.orders.get(maker).newer, self.orders.get(maker).account);
                if self.is_killed_order(account, aggressor.symbol) {
                    self.end_order(maker, CancelReason::Asked, events);
                } else if self.is_own(placed.self_trade, aggressor.account, account) {
                    self.prevent(aggressor, placed, maker, price, events);
                } else {
                    self.execute(aggressor, maker, price, events);
                }
                maker = newer;
            }
        }
        self.executions_left = left;
        goes_on
    }

    #[inline(always)]
    fn execute(&mut self, aggressor: &mut Aggressor, maker: u32, price: Price, events: &mut impl FnMut(Event)) {
        if self.fees.is_empty() && self.limits.is_empty() {
            self.execute_for(aggressor, maker, price, &Charge::NONE, events);
        } else {
            let Aggressor { wanted, money, fees, self_traded, prices, .. } =
                self.execute_charged(*aggressor, maker, price, events);
            *aggressor = Aggressor { wanted, money, fees, self_traded, prices, ..*aggressor };
        }
    }

    /// Executes once, at the maker's price: the aggressor keeps the improvement. Returns the shares. Each party is
    /// credited with its proceeds less its fee.
    #[inline(always)]
    pub(crate) fn execute_for(
        &mut self,
        aggressor: &mut Aggressor,
        maker: u32,
        price: Price,
        charge: &Charge,
        events: &mut impl FnMut(Event),
    ) -> Shares {
        let Order { id: maker_order, account: maker_account, open: maker_open, level, .. } = *self.orders.get(maker);
        aggressor.self_traded |= maker_account == aggressor.account;
        aggressor.prices = Some((aggressor.prices.map_or(price, |(first, _)| first), price));
        if !self.links.is_empty() {
            let all = maker_open.plus(self.hidden_shares(maker_order));
            let rested = NewOrder::limit(aggressor.symbol, aggressor.side.opposite(), price, all);
            self.cancel_partner(maker_order, &rested, events);
        }
        let shares = aggressor.wanted.min(maker_open);
        let execution = Execution { shares, price, time: self.time, fee: charge.aggressor.fee };
        aggressor.wanted = aggressor.wanted.less(shares);
        self.orders.execute(aggressor.slot, execution);
        self.books.take(level, shares);
        let maker_left = self.orders.execute(maker, Execution { fee: charge.maker.fee, ..execution });
        let symbol = aggressor.symbol;
        let hides = maker_left.is_zero() && !self.icebergs.is_empty() && !self.hidden_shares(maker_order).is_zero();
        if !charge.is_none() {
            events(Event::FeesTaken { maker: charge.maker.fee, aggressor: charge.aggressor.fee });
        }
        events(Event::Executed {
            symbol,
            maker: maker_order,
            maker_account,
            aggressor: aggressor.order,
            price,
            shares,
            maker_done: maker_left.is_zero() && !hides,
        });
        if hides {
            self.show_next(maker, symbol, events);
        } else if maker_left.is_zero() {
            self.books.remove(maker, Shares::ZERO, &mut self.orders);
            self.finish(maker, events);
        }
        match aggressor.side {
            Side::Buy => {
                let held = if aggressor.funds.is_none() { aggressor.limit.times(shares) } else { Money::ZERO };
                let money = price.times(shares);
                aggressor.money = aggressor.money.plus(held.minus(money));
                aggressor.fees = aggressor.fees.plus(charge.aggressor.taken_of_shares(shares));
                self.credit_money(maker_account, money.minus(charge.maker.taken_of_money(money)), events);
            }
            Side::Sell => {
                let money = price.times(shares);
                aggressor.money = aggressor.money.plus(money.minus(charge.aggressor.taken_of_money(money)));
                let received = shares.less(charge.maker.taken_of_shares(shares));
                self.credit_shares(maker_account, symbol, received.position(), events);
            }
        }
        shares
    }

    /// Credits the aggressor with the result of its executions, and reports the changes of its account.
    #[inline(always)]
    fn settle(&mut self, aggressor: &Aggressor, placed: Shares, events: &mut impl FnMut(Event)) {
        let Aggressor { account, symbol, money, .. } = *aggressor;
        match aggressor.before {
            Before::Buy(balance_before) | Before::Pay { funds: balance_before, .. } => {
                let balance = self.accounts.credit(account, money);
                if balance != balance_before || money != Money::ZERO {
                    events(Event::BalanceChanged { account, balance });
                }
                let bought = placed.less(self.orders.get(aggressor.slot).open).less(aggressor.fees);
                if !bought.is_zero() {
                    self.credit_shares(account, symbol, bought.position(), events);
                }
            }
            Before::Sell(position_before) => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                let shares = match aggressor.self_traded {
                    // Its own resting buys may have bought all that it sold.
                    true => self.positions.get(account, symbol),
                    false => position_before.minus(placed.position()),
                };
                if shares != position_before {
                    events(Event::PositionChanged { account, symbol, shares });
                }
            }
            Before::HeldSell(position_before) => {
                if money != Money::ZERO {
                    self.credit_money(account, money, events);
                }
                if aggressor.self_traded {
                    let shares = self.positions.get(account, symbol);
                    if shares != position_before {
                        events(Event::PositionChanged { account, symbol, shares });
                    }
                }
            }
        }
    }
}
