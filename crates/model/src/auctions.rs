//! The phases of symbols, and the one price of an auction: the model tries all prices. See docs/rules/PHASES.md.

use terms::{
    AccountIndex, AuctionTies, BrokenRule, CancelReason, Deadline, Event, NewOrder, OrderId, OrderKind, Phase, Price,
    Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, SymbolPhase, Time,
};

use crate::exchange::{Delay, Model, Order, Terms};
use crate::icebergs::LOOKED_AT_MAX;

/// The most prices at which an order looks before it may begin an interruption.
const PRICES_LOOKED_AT_MAX: usize = 2_000;

/// The shares that would execute at a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncrossed {
    pub price: Price,
    pub shares: i128,
    /// Bought less sold, if each order got all that it wants at this price.
    pub surplus: i128,
}

impl Model {
    /// The phase of a symbol.
    pub fn phase(&self, symbol: SymbolIndex) -> SymbolPhase {
        self.symbols[symbol.0 as usize].phase
    }

    /// Whether orders of a symbol execute as they arrive.
    pub fn is_open(&self, symbol: SymbolIndex) -> bool {
        self.phase(symbol).phase == Phase::Open
    }

    pub(crate) fn change_phase(
        &mut self,
        symbol: Symbol,
        (phase, due): (Phase, Option<Time>),
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let symbol = self.symbol_named(symbol)?;
        if due.is_some_and(|due| self.phase_was_changed_since(symbol, due)) {
            return Ok(Reply::Created);
        }
        if phase == Phase::Open && self.rules(symbol).is_halted {
            return Err(Reject::HaltedByRules);
        }
        if !self.messages.is_empty() {
            self.phase_changes.push((symbol, due.unwrap_or(self.time)));
        }
        if phase == Phase::Open && !self.is_open(symbol) && self.waits_to_open(symbol) {
            if self.phase(symbol).until.is_none_or(|until| until > self.time) {
                self.enter_phase(symbol, SymbolPhase { phase: Phase::Auction, until: Some(self.time) }, events);
            }
            return Ok(Reply::InAuction);
        }
        let reached_before = self.reached_stops();
        self.enter_phase(symbol, SymbolPhase { phase, until: None }, events);
        self.activate_unless(reached_before, events);
        Ok(if self.phase(symbol).phase == phase { Reply::Created } else { Reply::InAuction })
    }

    /// Whether somebody asked for a change of its phase then or later, or a calendar had one due, where nodes share a
    /// log.
    pub fn phase_was_changed_since(&self, symbol: SymbolIndex, time: Time) -> bool {
        self.phase_changes.iter().any(|(of, at)| *of == symbol && *at >= time)
    }

    /// Ends auctions whose end time is past, in the order of their end times, until the command may execute no further.
    /// The end of an auction counts as an execution, and each kill that keeps orders open as another one where orders
    /// of the auction would execute. Auctions that wait for killed orders come behind all others if the command did not
    /// come to these.
    pub(crate) fn end_auction(&mut self, events: &mut Vec<Event>) {
        let reached_before = self.reached_stops();
        let kills = self.kills_going_on().count() as i64;
        let (mut last, mut waiting) = (None, Vec::new());
        while self.executions_left > 0
            && let Some((until, symbol)) = self.auction_to_end(last)
        {
            last = Some((until, symbol));
            let phase = if self.rules(symbol).is_halted { Phase::Halted } else { Phase::Open };
            let executes = phase == Phase::Open && self.auction_price(symbol).is_some();
            let has_cancels = self.cancels_left > 0;
            let is_rid =
                !executes || (self.end_killed_in(symbol, events) && self.end_expired_in(symbol, until, events));
            let is_stuck = phase == Phase::Open && self.cancels_left == 0 && !self.auction_orders(symbol).is_empty();
            if is_rid && !is_stuck {
                self.enter_phase(symbol, SymbolPhase { phase, until: None }, events);
            } else {
                waiting.push((symbol, has_cancels));
            }
            let counted = if executes { 1 + kills } else { 1 };
            self.executions_left -= counted.min(self.executions_left.max(0));
        }
        // The auctions that the command did not come to are the first ones of the next command, or else those for which
        // it had no cancels left.
        let is_cut = self.executions_left <= 0 && self.auction_to_end(last).is_some();
        if is_cut || waiting.iter().any(|(_, has_cancels)| !has_cancels) {
            for (symbol, _) in waiting.into_iter().filter(|(_, has_cancels)| is_cut || *has_cancels) {
                self.enter_phase(symbol, SymbolPhase { phase: Phase::Auction, until: Some(self.time) }, events);
            }
        }
        self.activate_unless(reached_before, events);
    }

    /// The end and the symbol of the auction that ends next behind this one.
    fn auction_to_end(&self, last: Option<(Time, SymbolIndex)>) -> Option<(Time, SymbolIndex)> {
        let symbols = (0..).map(SymbolIndex).zip(&self.symbols);
        let ends = symbols.filter_map(|(symbol, listing)| Some((listing.phase.until?, symbol)));
        let ends = ends.filter(|end| last.is_none_or(|last| *end > last));
        let waits = |symbol| self.is_being_reached(symbol) || self.gathers_further(symbol);
        let (until, symbol) = ends.filter(|(_, symbol)| !waits(*symbol)).min()?;
        (until <= self.time).then_some((until, symbol))
    }

    fn activate_unless(&mut self, reached_before: usize, events: &mut Vec<Event>) {
        if reached_before == 0 {
            self.activate_stops(events);
        }
    }

    /// Orders of the symbol that have ended take no part in the one price: they are taken out before. All triggers that
    /// the last price reaches are reached before there is another one. Orders of kills that go on are canceled before.
    /// Orders that waited for the auction gather before it ends.
    fn waits_to_open(&self, symbol: SymbolIndex) -> bool {
        let waits = !self.ended_by(symbol, self.time).is_empty()
            || self.is_being_reached(symbol)
            || self.kills_going_on().next().is_some();
        self.gathers_further(symbol) || waits && self.auction_price(symbol).is_some()
    }

    /// The open orders of a symbol whose deadlines came by this time, the earliest deadline first.
    fn ended_by(&self, symbol: SymbolIndex, time: Time) -> Vec<OrderId> {
        let its = self.open_orders().filter(|order| order.symbol == symbol);
        let mut ended: Vec<(Deadline, OrderId)> = its.filter_map(|order| Some((order.until?, order.id))).collect();
        ended.retain(|(until, _)| until.time() <= time);
        ended.sort();
        ended.into_iter().map(|(_, order)| order).collect()
    }

    /// Ends the orders of a symbol whose deadlines came by this time, as far as the command goes. Says whether that was
    /// all.
    fn end_expired_in(&mut self, symbol: SymbolIndex, time: Time, events: &mut Vec<Event>) -> bool {
        let (before, mut canceled) = (self.open_orders().len(), 0);
        // Another one of them may end with its partner.
        while canceled < self.cancels_left
            && let Some(&order) = self.ended_by(symbol, time).first()
        {
            canceled += 1;
            self.end_order(order, CancelReason::Expired, events);
        }
        let ended = before - self.open_orders().len();
        self.cancels_left = self.cancels_left.saturating_sub(ended);
        self.canceled_in_turn += ended;
        self.ended_by(symbol, time).is_empty()
    }

    pub(crate) fn enter_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase, events: &mut Vec<Event>) {
        let listing = &mut self.symbols[symbol.0 as usize];
        if listing.phase == phase {
            return;
        }
        listing.phase = phase;
        let last = listing.last;
        events.push(Event::PhaseChanged { symbol, phase, last });
        if phase.phase == Phase::Open && !(self.uncross(symbol, events) && self.end_auction_orders(symbol, events)) {
            self.enter_phase(symbol, SymbolPhase { phase: Phase::Auction, until: Some(self.time) }, events);
        }
    }

    /// The gathered orders of a symbol that end with its auction.
    fn auction_orders(&self, symbol: SymbolIndex) -> Vec<OrderId> {
        let its = self.resting().filter(|order| order.symbol == symbol && order.kind.is_for_auction());
        let mut its: Vec<OrderId> = its.map(|order| order.id).collect();
        its.sort();
        its
    }

    /// Cancels the orders of a symbol that end with its auction, as far as the command goes. Says whether that was all.
    fn end_auction_orders(&mut self, symbol: SymbolIndex, events: &mut Vec<Event>) -> bool {
        let ended = self.auction_orders(symbol);
        let now = ended.len().min(self.cancels_left);
        for order in &ended[..now] {
            self.end_order(*order, CancelReason::NotResting, events);
        }
        self.cancels_left -= now;
        self.canceled_in_turn += now;
        now == ended.len()
    }

    /// The limit of an order for the auction of its symbol. Errors: it cannot be placed.
    pub(crate) fn limit_at_auction(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        waits: bool,
    ) -> Result<Price, BrokenRule> {
        let until = self.phase(placed.symbol).until;
        if waits || until.is_some_and(|until| until <= self.time) {
            return Err(BrokenRule::NotInAuction);
        }
        let band = self.band(placed.symbol);
        let collar = self.collar(account, placed.symbol, placed.side);
        let end = match (placed.kind, placed.side, band) {
            (OrderKind::AuctionLimit, ..) => return Ok(placed.limit),
            (_, Side::Buy, Some((_, high))) if high < Price::MAX => collar.map_or(high, |worst| high.min(worst)),
            (_, Side::Sell, Some((low, _))) if low > Price::MIN => collar.map_or(low, |worst| low.max(worst)),
            _ => return Err(BrokenRule::AuctionWithoutBand),
        };
        let (end, tick) = (end.units(), self.rules(placed.symbol).tick.units());
        let on_tick = match placed.side {
            Side::Buy => Some(end - end % tick),
            Side::Sell if end % tick == 0 => Some(end),
            Side::Sell => (end - end % tick).checked_add(tick),
        };
        on_tick.and_then(Price::from_units).ok_or(BrokenRule::AuctionWithoutBand)
    }

    /// The rule that an order breaks in the phase of its symbol.
    pub(crate) fn broken_in_phase(&self, placed: &NewOrder<SymbolIndex>) -> Option<BrokenRule> {
        let kinds = [OrderKind::Limit, OrderKind::AuctionLimit, OrderKind::AuctionMarket];
        let waits_for_the_price = kinds.contains(&placed.kind);
        match self.phase(placed.symbol).phase {
            Phase::Open => None,
            Phase::Halted => Some(BrokenRule::Halted),
            Phase::Auction if placed.trigger.is_some() || waits_for_the_price => None,
            Phase::Auction => Some(BrokenRule::Auction),
        }
    }

    /// Places an order that waits until its symbol is in an auction, or until those before it have gathered.
    pub(crate) fn place_before_auction(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = placed;
        let waits = |order: &&Order| order.symbol == symbol && order.delayed == Some(Delay::Auction);
        let waiting = self.open_orders().filter(waits).count();
        let most = 10 * self.execution_bounds.command;
        if terms.amended.is_none() && waiting >= most as usize {
            return Err(Reject::TooManyWaiting { most });
        }
        self.hold(account, symbol, side, limit, shares)?;
        let id = self.open_order(terms, account, placed, events);
        self.delay(id, Delay::Auction, limit, events);
        events.push(match side {
            Side::Buy => self.balance_changed(account),
            Side::Sell => self.position_changed(account, symbol),
        });
        Ok(Reply::Opened(id))
    }

    /// Places an order that rests without executing.
    pub(crate) fn gather(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = placed;
        let begins = self.interruption(&placed);
        self.hold(account, symbol, side, limit, shares)?;
        if let Some(phase) = begins {
            self.enter_phase(symbol, phase, events);
        }
        let id = self.open_order(terms, account, placed, events);
        events.push(match side {
            Side::Buy => self.balance_changed(account),
            Side::Sell => self.position_changed(account, symbol),
        });
        self.show_first(id, events);
        Ok(Reply::Opened(id))
    }

    /// Whether an order looks at others to see whether it interrupts trading: unless the best price on the other side
    /// and its limit lie within the band.
    pub(crate) fn looks_for_interruption(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        let NewOrder { symbol, side, limit, .. } = *placed;
        let rules = self.rules(symbol);
        let gathers = placed.kind == OrderKind::Limit && placed.self_trade == SelfTrade::Allowed;
        let Some((low, high)) = self.band(symbol) else { return false };
        let best = self.matching(symbol, side, limit).first().map(|&best| self.order(best).limit);
        let is_outside = |price: Price| price < low || price > high;
        rules.interruption.is_some()
            && !rules.is_halted
            && gathers
            && best.is_some_and(|best| is_outside(best) || is_outside(limit))
    }

    /// The auction that an order starts because it would execute outside the band.
    pub(crate) fn interruption(&self, placed: &NewOrder<SymbolIndex>) -> Option<SymbolPhase> {
        self.interruption_beyond(placed, self.band(placed.symbol)?)
    }

    /// The auction that an order starts because it would execute at another price than these.
    pub(crate) fn interruption_beyond(
        &self,
        placed: &NewOrder<SymbolIndex>,
        (low, high): (Price, Price),
    ) -> Option<SymbolPhase> {
        let NewOrder { symbol, side, limit, shares, .. } = *placed;
        let rules = self.rules(symbol);
        let pause = rules.interruption.filter(|_| self.is_open(symbol))?;
        if rules.is_halted || placed.kind != OrderKind::Limit || placed.self_trade != SelfTrade::Allowed {
            return None;
        }
        let mut looked_at = self.matching(symbol, side, limit);
        if self.kills_going_on().next().is_some() || !self.ended_by(symbol, self.time).is_empty() {
            looked_at.truncate(LOOKED_AT_MAX);
        }
        let mut left = i128::from(shares.units());
        let of_one_price = |one: &OrderId, next: &OrderId| self.order(*one).limit == self.order(*next).limit;
        for at_one_price in looked_at.chunk_by(of_one_price).take(PRICES_LOOKED_AT_MAX) {
            for maker in at_one_price.iter().filter(|maker| self.ending(**maker).is_none()) {
                let maker = self.order(*maker);
                if left > 0 && (maker.limit < low || maker.limit > high) {
                    let until = Some(self.time.later_by_us(1_000_000 * u64::from(pause.seconds())));
                    return Some(SymbolPhase { phase: Phase::Auction, until });
                }
                left -= i128::from(maker.open.units());
            }
        }
        None
    }

    /// Executes the gathered orders at one price. Returns whether one command was enough for all of them.
    fn uncross(&mut self, symbol: SymbolIndex, events: &mut Vec<Event>) -> bool {
        let Some(Uncrossed { price, .. }) = self.auction_price(symbol) else { return true };
        let mut is_all = true;
        let willing = |model: &Model, side| {
            let queue = model.queue(symbol, side);
            let first = queue.first().filter(|order| match side {
                Side::Buy => order.limit >= price,
                Side::Sell => order.limit <= price,
            });
            first.map(|order| order.id)
        };
        while let (Some(buy), Some(sell)) = (willing(self, Side::Buy), willing(self, Side::Sell)) {
            if self.executions_left <= 0 {
                is_all = false;
                break;
            }
            self.executions_left -= 1;
            self.execute_two(buy, sell, price, events);
        }
        self.prices.push(price);
        self.say_what_was_reached(symbol, Side::Buy, events);
        is_all
    }

    fn execute_two(&mut self, buy: OrderId, sell: OrderId, price: Price, events: &mut Vec<Event>) {
        self.cancel_partner(buy, events);
        self.cancel_partner(sell, events);
        let (maker, aggressor) = (buy.min(sell), buy.max(sell));
        let symbol = self.order(buy).symbol;
        let shares = self.order(buy).shown.min(self.order(sell).shown);
        let money = price.times(shares);
        let [maker_due, aggressor_due] =
            [(maker, true), (aggressor, false)].map(|(id, is_maker)| self.due(id, is_maker, shares, money));
        let parties = [self.order(buy).account, self.order(sell).account];
        self.move_references(symbol, parties, (price, shares), true);
        for (id, due) in [(maker, maker_due), (aggressor, aggressor_due)] {
            let shown = &mut self.orders[id.0 as usize - 1].shown;
            *shown = shown.less(shares);
            self.execute(id, price, shares, due.fee);
        }
        if !maker_due.fee.is_none() || !aggressor_due.fee.is_none() {
            events.push(Event::FeesTaken { maker: maker_due.fee, aggressor: aggressor_due.fee });
        }
        let is_done = |order: OrderId| self.order(order).open.is_zero();
        events.push(Event::Uncrossed {
            symbol,
            maker,
            maker_account: self.order(maker).account,
            aggressor,
            aggressor_account: self.order(aggressor).account,
            aggressor_side: self.order(aggressor).side,
            price,
            shares,
            maker_done: is_done(maker),
            aggressor_done: is_done(aggressor),
        });
        for id in [maker, aggressor] {
            self.show_next(id, events);
            self.say_if_it_is_done(id, events);
        }
        let (bought, sold) = if maker == buy { (maker_due, aggressor_due) } else { (aggressor_due, maker_due) };
        let (buyer, seller) = (self.order(buy).account, self.order(sell).account);
        let limit = self.order(buy).limit;
        if limit > price {
            self.credit_money(buyer, limit.times(shares).minus(money));
            events.push(self.balance_changed(buyer));
        }
        self.credit_shares(buyer, symbol, shares.less(bought.shares).position());
        events.push(self.position_changed(buyer, symbol));
        self.credit_money(seller, money.minus(sold.money));
        events.push(self.balance_changed(seller));
        self.pay_out(&maker_due, symbol, events);
        self.pay_out(&aggressor_due, symbol, events);
    }

    /// The best of all prices at which orders may execute: the limits of all orders, and the reference price.
    pub fn auction_price(&self, symbol: SymbolIndex) -> Option<Uncrossed> {
        let [bids, asks] = [Side::Buy, Side::Sell].map(|side| self.queue(symbol, side));
        let (bid, ask) = (bids.first()?.limit, asks.first()?.limit);
        if bid < ask {
            return None;
        }
        // Limits of market orders count as the best ones only where no limit order of the auction can execute.
        let is_limit = |order: &&&Order| order.kind != OrderKind::AuctionMarket;
        let its = [
            asks.iter().filter(|order| order.limit <= bid).find(is_limit),
            bids.iter().filter(|order| order.limit >= ask).find(is_limit),
        ];
        let (ask, bid) = match its.map(|order| Some(order?.limit)) {
            [Some(ask), Some(bid)] => (ask, bid),
            [one, other] => one.or(other).map_or((ask, bid), |limit| (limit, limit)),
        };
        let halfway = (i128::from(bid.units()) + i128::from(ask.units())) / 2;
        let halfway = Price::from_units(halfway as i64).expect("between two prices");
        let reference = self.last_price(symbol).unwrap_or(halfway);
        let orders = || bids.iter().chain(&asks);
        let limits = orders().map(|order| order.limit);
        let is_between = ask <= reference && reference <= bid;
        let is_on_tick = reference.units() % self.rules(symbol).tick.units() == 0;
        let prices = limits.chain(Some(reference).filter(|_| is_between && is_on_tick));
        let at = |price: Price| {
            let open = |open: Shares| i128::from(open.units());
            let bought: i128 = bids.iter().filter(|bid| bid.limit >= price).map(|bid| open(bid.open)).sum();
            let sold: i128 = asks.iter().filter(|ask| ask.limit <= price).map(|ask| open(ask.open)).sum();
            Uncrossed { price, shares: bought.min(sold), surplus: bought - sold }
        };
        let mut all: Vec<Uncrossed> = prices.map(at).collect();
        let most = all.iter().map(|found| found.shares).max()?;
        all.retain(|found| found.shares == most);
        // The ends at which market orders gather count only where there is no other price.
        let is_limit = |price| orders().any(|order| order.limit == price && order.kind != OrderKind::AuctionMarket);
        let is_other =
            |found: &Uncrossed| is_limit(found.price) || (is_between && is_on_tick && found.price == reference);
        if all.iter().any(is_other) {
            all.retain(is_other);
        }
        let least = all.iter().map(|found| found.surplus.abs()).min()?;
        let best = || all.iter().filter(|found| found.surplus.abs() == least);
        let (all_buy, all_sell) = (best().all(|found| found.surplus > 0), best().all(|found| found.surplus < 0));
        let distance = |found: &Uncrossed| (i128::from(found.price.units()) - i128::from(reference.units())).abs();
        let chosen = match self.rules(symbol).auction_ties {
            AuctionTies::Pressure if all_buy => best().max_by_key(|found| found.price),
            AuctionTies::Pressure if all_sell => best().min_by_key(|found| found.price),
            AuctionTies::Pressure | AuctionTies::Nearest => best().min_by_key(|found| (distance(found), found.price)),
        };
        chosen.copied()
    }

    /// The end time of the auction that ends next.
    pub fn next_auction_end(&self) -> Option<terms::Time> {
        self.symbols.iter().filter_map(|listing| listing.phase.until).min()
    }
}
