//! Orders that wait for a price.

use engine::{AccountIndex, Event, NewOrder, OrderId, Price, Reject, Reply, Side, SymbolIndex, Trigger};

use crate::exchange::{Model, Order, Terms};
use crate::placing::pays_as_it_goes;

/// One command activates so many orders at most.
const ACTIVATED_MAX: usize = 1_000;

impl Model {
    /// Has an order wait until an execution reaches its trigger.
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
        self.symbols[symbol.0 as usize].is_watched = true;
        match side {
            Side::Buy if pays_as_it_goes(&placed) => {}
            Side::Buy => events.push(self.balance_changed(account)),
            Side::Sell => events.push(self.position_changed(account, symbol)),
        }
        Ok(Reply::Opened(id))
    }

    /// There was an execution at this price: whoever waits for it need wait no more.
    pub(crate) fn reach(&mut self, symbol: SymbolIndex, price: Price) {
        let listing = &mut self.symbols[symbol.0 as usize];
        if !listing.is_watched {
            return;
        }
        listing.last = Some(price);
        let mut reached: Vec<(bool, i64, u64, OrderId)> = self
            .waiting()
            .filter(|order| order.symbol == symbol)
            .filter_map(|order| Some((order.arrival, order.id, order.trigger?)))
            .filter(|(_, _, trigger)| trigger.is_reached_by(price))
            .map(|(arrival, id, trigger)| match trigger.is_from_below() {
                true => (false, trigger.price().units(), arrival, id),
                false => (true, -trigger.price().units(), arrival, id),
            })
            .collect();
        // Those reached from below first; the nearest trigger first; who waits the longest first.
        reached.sort();
        self.reached.extend(reached.into_iter().map(|(.., id)| id));
    }

    /// Tells of the triggers that were reached since these orders were, each once.
    pub(crate) fn say_what_was_reached(&self, reached_before: &[OrderId], events: &mut Vec<Event>) {
        let triggers: Vec<(SymbolIndex, Option<Trigger>)> = self
            .reached
            .iter()
            .filter(|id| !reached_before.contains(id))
            .map(|&id| self.order(id))
            .map(|order| (order.symbol, order.trigger))
            .collect();
        for orders in triggers.chunk_by(|one, next| one == next) {
            let (symbol, trigger) = orders[0];
            events.push(Event::TriggerReached { symbol, trigger: trigger.expect("it waited") });
        }
    }

    /// Activates those that were reached first, and behind them those that they reach.
    pub(crate) fn activate_reached(&mut self, events: &mut Vec<Event>) {
        self.activate(true, events);
    }

    /// The same without those whose working order was executed.
    pub(crate) fn activate_stops(&mut self, events: &mut Vec<Event>) {
        self.activate(false, events);
    }

    fn activate(&mut self, releases: bool, events: &mut Vec<Event>) {
        for _ in 0..ACTIVATED_MAX {
            let is_next = |&order: &OrderId| self.is_open(self.order(order).symbol);
            let Some(next) = self.reached.iter().position(is_next) else {
                if releases && self.release_next(events) {
                    continue;
                }
                return;
            };
            let id = self.reached.remove(next);
            self.cancel_partner(id, events);
            self.arrivals += 1;
            let arrival = self.arrivals;
            let order = &mut self.orders[id.0 as usize - 1];
            (order.waits, order.arrival) = (false, arrival);
            let Order { account, symbol, open: shares, .. } = *order;
            let placed = NewOrder { shares, ..order.as_placed() };
            events.push(Event::OrderTriggered { order: id, account, placed });
            if let Some(phase) = self.interruption(&placed) {
                // It rests, and gathers.
                self.enter_phase(symbol, phase, events);
                self.show_first(id, events);
                continue;
            }
            let before = [self.balance_changed(account), self.position_changed(account, symbol)];
            self.execute_all(id, before, events.len(), events);
        }
    }

    /// How many orders were reached or have an executed working order, are not active yet, and wait for nothing else: the symbols of those
    /// that were reached are open.
    pub fn reached_orders(&self) -> usize {
        self.reached_stops() + self.due_orders().count()
    }

    /// The same without those whose working orders were executed.
    pub(crate) fn reached_stops(&self) -> usize {
        self.reached.iter().filter(|&&order| self.is_open(self.order(order).symbol)).count()
    }

    /// Those that were reached, and wait until their symbols are open.
    pub fn held_back_orders(&self) -> usize {
        self.reached.len() - self.reached_stops()
    }

    /// Those that were reached, whether or not their symbols are open.
    pub fn all_reached_orders(&self) -> usize {
        self.reached.len()
    }

    /// The open orders that no execution has reached.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Order> {
        self.open_orders().filter(|order| order.waits && !self.reached.contains(&order.id))
    }
}
