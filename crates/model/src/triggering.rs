//! Orders that wait for a price.

use std::collections::BTreeSet;

use terms::{AccountIndex, CancelReason, Event, NewOrder, OrderId, Price, Reject, Reply, Side, SymbolIndex, Trigger};

use crate::exchange::{Delay, Model, Order, Terms};
use crate::placing::pays_as_it_goes;

/// The most turns of one command: an order that is activated counts as ten turns, an order that only waited behind
/// others as one.
const TURNS_MAX: usize = 10_000;

impl Model {
    /// Makes an order wait until an execution reaches its trigger.
    pub(crate) fn place_stop(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        trigger: Trigger,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = placed;
        if let Some(last) = self.symbols[symbol.0 as usize].last
            && trigger.is_reached_by(last)
        {
            return Err(Reject::TriggersAtOnce { trigger, last });
        }
        if !pays_as_it_goes(&placed) {
            self.hold(account, symbol, side, limit, shares)?;
        }
        let id = self.open_order(terms, account, placed, events);
        match side {
            Side::Buy if pays_as_it_goes(&placed) => {}
            Side::Buy => events.push(self.balance_changed(account)),
            Side::Sell => events.push(self.position_changed(account, symbol)),
        }
        Ok(Reply::Opened(id))
    }

    /// Marks the orders whose triggers an execution at this price reaches. Each trigger counts as an execution; later
    /// commands reach those for which this one has none left.
    fn reach(&mut self, symbol: SymbolIndex, price: Price, may_reach: impl Fn(Trigger) -> bool) {
        let listing = &mut self.symbols[symbol.0 as usize];
        listing.last = Some(price);
        let mut reached: Vec<(bool, i64, bool, u64, OrderId)> = self
            .waiting()
            .filter(|order| order.symbol == symbol)
            .filter_map(|order| Some((order.id, order.arrival, order.trail.is_some(), order.trigger?)))
            .filter(|(.., trigger)| trigger.is_reached_by(price) && may_reach(*trigger))
            .map(|(id, arrival, trails, trigger)| match trigger.is_from_below() {
                true => (false, trigger.price().units(), trails, arrival, id),
                false => (true, -trigger.price().units(), trails, arrival, id),
            })
            .collect();
        // The order: triggers from below first; then the nearest trigger; then fixed triggers before those that follow
        // the market; then the longest wait.
        reached.sort();
        let mut told = None;
        for (.., id) in reached {
            let Order { trail, trigger, .. } = *self.order(id);
            let trigger = trigger.expect("it waited");
            let is_next = told.replace((trigger, trail.is_some())) != Some((trigger, trail.is_some()));
            if is_next && self.executions_left == 0 {
                break;
            }
            self.executions_left -= u64::from(is_next);
            if trail.is_some() {
                self.noted.push(Event::TrailReached { order: id, trigger });
            } else if is_next {
                self.noted.push(Event::TriggerReached { symbol, trigger });
            }
            self.reached.push(id);
        }
    }

    /// Before an order goes on from its first price: a buy goes up, so that its further prices would no longer reach
    /// all triggers from above that the first one reaches; and they may reach those of buys that the first one moves. A
    /// sell goes down. Returns the number of moves, which are not counted as executions yet.
    pub(crate) fn leave_first_price(&mut self, symbol: SymbolIndex, side: Side, events: &mut Vec<Event>) -> u64 {
        let first = self.prices[0];
        self.reach(symbol, first, |trigger| trigger.is_from_below() == (side == Side::Sell));
        self.come_nearer(symbol, first, &[side]);
        self.tell_reached(events)
    }

    /// Reaches and moves triggers at the prices of an order's executions, and appends the events. Each order whose
    /// trigger moves counts as an execution.
    pub(crate) fn say_what_was_reached(&mut self, symbol: SymbolIndex, events: &mut Vec<Event>) {
        for price in std::mem::take(&mut self.prices) {
            self.reach(symbol, price, |_| true);
            self.come_nearer(symbol, price, &[Side::Buy, Side::Sell]);
        }
        let moves = self.tell_reached(events);
        self.count_moves(moves);
    }

    /// Appends the events of what was reached and moved. Returns the number of moves.
    fn tell_reached(&mut self, events: &mut Vec<Event>) -> u64 {
        events.append(&mut self.noted);
        std::mem::take(&mut self.moved).len() as u64
    }

    /// Counts moves as executions.
    pub(crate) fn count_moves(&mut self, moves: u64) {
        self.moved_beyond += moves.saturating_sub(self.executions_left);
        self.executions_left = self.executions_left.saturating_sub(moves);
    }

    /// Whether the last execution of a symbol reaches triggers that no command has reached yet.
    pub fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        let Some(last) = self.last_price(symbol) else { return false };
        let is_reached = |order: &&Order| order.trigger.is_some_and(|trigger| trigger.is_reached_by(last));
        let reached: BTreeSet<OrderId> = self.reached.iter().copied().collect();
        let of_symbol = self.open_orders().filter(|order| order.symbol == symbol && order.waits);
        of_symbol.filter(is_reached).any(|order| !reached.contains(&order.id))
    }

    /// The symbols whose last executions reach further triggers.
    pub(crate) fn being_reached(&self) -> impl Iterator<Item = SymbolIndex> {
        (0..self.symbols.len() as u32).map(SymbolIndex).filter(|&symbol| self.is_being_reached(symbol))
    }

    /// Whether orders of a symbol have turns.
    pub(crate) fn has_turns(&self, symbol: SymbolIndex) -> bool {
        self.is_open(symbol) && !self.is_being_reached(symbol)
    }

    /// The number of triggers that an order of this side would reach before it goes on from its first price.
    pub(crate) fn reached_first(&self, symbol: SymbolIndex, side: Side, first: Price) -> usize {
        let of_symbol = self.waiting().filter(|order| order.symbol == symbol);
        let triggers = of_symbol.filter_map(|order| Some((order.trigger?, order.trail.is_some())));
        let is_behind = |trigger: Trigger| trigger.is_from_below() == (side == Side::Sell);
        let reached = triggers.filter(|&(trigger, _)| trigger.is_reached_by(first) && is_behind(trigger));
        reached.collect::<BTreeSet<_>>().len()
    }

    /// Reaches the triggers that earlier commands left, then takes the turns of all orders that wait for theirs.
    pub(crate) fn activate_reached(&mut self, may_fill: bool, events: &mut Vec<Event>) {
        // Half of the executions are left to other symbols.
        let half = (self.executions_left / 2).max(1);
        let symbols: Vec<SymbolIndex> = self.being_reached().take(half as usize).collect();
        for &symbol in &symbols {
            let part = half / symbols.len() as u64;
            let kept = self.executions_left.saturating_sub(part);
            self.executions_left -= kept;
            self.prices.push(self.last_price(symbol).expect("it reaches a trigger"));
            self.say_what_was_reached(symbol, events);
            self.executions_left += kept;
        }
        self.take_rounds(may_fill, events);
    }

    /// Activates orders that were reached, but none whose working order was executed.
    pub(crate) fn activate_stops(&mut self, events: &mut Vec<Event>) {
        self.passed_over.clear();
        let mut turns = 0;
        while self.may_take_turns(turns)
            && let Some(next) = self.next_turn(None)
        {
            let id = self.reached[next];
            if self.are_too_much(&[id]) {
                return;
            }
            turns += self.turns(&[id]);
            self.take_turn(next, events);
        }
    }

    /// Whether a command that took so many turns may take another one.
    pub(crate) fn may_take_turns(&self, turns: usize) -> bool {
        turns < TURNS_MAX && self.executions_left > 0
    }

    /// Takes the turn of an order, an index into `reached`.
    pub(crate) fn take_turn(&mut self, next: usize, events: &mut Vec<Event>) {
        let id = self.reached.remove(next);
        if self.is_killed_order(id) {
            self.end_order(id, CancelReason::Asked, events);
            return;
        }
        let delayed = self.orders[id.0 as usize - 1].delayed.take();
        if delayed != Some(Delay::Queued) {
            self.cancel_partner(id, events);
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        let order = &mut self.orders[id.0 as usize - 1];
        (order.waits, order.arrival) = (false, arrival);
        let Order { account, symbol, open: shares, .. } = *order;
        let placed = NewOrder { shares, limit: order.worst.unwrap_or(order.limit), ..order.as_placed() };
        events.push(match delayed {
            Some(_) => Event::OrderResumed { order: id, account, placed },
            None => Event::OrderTriggered { order: id, account, placed },
        });
        if delayed == Some(Delay::UnderWay) {
            let before = [self.balance_changed(account), self.position_changed(account, symbol)];
            self.execute_all(id, before, events.len(), events);
            return;
        }
        let is_near = self.past_collar(account, &placed).is_none();
        if let Some(phase) = self.interruption(&placed).filter(|_| is_near) {
            // The order rests, and gathers.
            self.enter_phase(symbol, phase, events);
            self.show_first(id, events);
            return;
        }
        let meets = !self.matching(symbol, placed.side, placed.limit).is_empty();
        if meets || !placed.kind.rests() || self.refusal_on_arrival(account, &placed).is_some() {
            self.cancel_partner(id, events);
        }
        let before = [self.balance_changed(account), self.position_changed(account, symbol)];
        self.execute_all(id, before, events.len(), events);
    }

    /// The number of orders that are not active yet and wait for nothing but their turn: those with a reached trigger
    /// in an open symbol, and those with an executed working order. Each symbol with further triggers to be reached
    /// counts as one more.
    pub fn reached_orders(&self) -> usize {
        self.reached_stops() + self.due_orders().count()
    }

    /// The number of orders with a reached trigger in an open symbol that are not active yet, and of symbols with
    /// further triggers to be reached.
    pub(crate) fn reached_stops(&self) -> usize {
        self.orders_with_turns() + self.being_reached().count()
    }

    fn orders_with_turns(&self) -> usize {
        self.reached.iter().filter(|&&order| self.is_open(self.order(order).symbol)).count()
    }

    /// The number of orders with a reached trigger that wait until their symbols are open.
    pub fn held_back_orders(&self) -> usize {
        self.reached.len() - self.orders_with_turns()
    }

    /// The number of orders with a reached trigger that are not active yet, in open symbols or not.
    pub fn all_reached_orders(&self) -> usize {
        self.reached.len()
    }

    /// The open orders whose triggers no execution has reached.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Order> {
        self.open_orders().filter(|order| order.waits && !self.reached.contains(&order.id))
    }
}
