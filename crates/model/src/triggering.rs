//! Orders that wait for a price.

use std::collections::BTreeSet;

use terms::{
    AccountIndex, Event, NewOrder, OrderId, Phase, Price, Reject, Reply, Side, SymbolIndex, Trigger, TriggersLeft,
};

use crate::exchange::{Delay, Listing, Model, Order, Terms};
use crate::placing::pays_as_it_goes;

/// The most turns of one command: an order that is activated counts as ten turns, an order that only waited behind
/// others as one.
pub(crate) const TURNS_MAX: usize = 10_000;

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
        let left = self.triggers_left(symbol);
        let reaches = if trigger.is_from_below() { left.up_to } else { left.down_to };
        for last in [self.last_price(symbol), reaches].into_iter().flatten().filter(|_| terms.trail.is_none()) {
            if trigger.is_reached_by(last) {
                return Err(Reject::TriggersAtOnce { trigger, last });
            }
        }
        self.forget_prices();
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

    /// Reaches and moves triggers at the prices of the executions of an order of this side, and appends the events. An
    /// order that follows the market is moved by each price until one reaches it: then it follows no more, and begins
    /// to wait behind those with the same trigger. Each of these counts as an execution, also if the command has none
    /// left. So does each trigger that is reached; later commands reach those for which this one has none left.
    pub(crate) fn say_what_was_reached(&mut self, symbol: SymbolIndex, side: Side, events: &mut Vec<Event>) {
        self.forget_prices();
        let prices = std::mem::take(&mut self.prices);
        let Some(&last) = prices.last() else { return };
        let (mut reached, mut moved) = (Vec::new(), BTreeSet::new());
        for &price in &prices {
            let is_reached = |id: &OrderId| self.order(*id).trigger.is_some_and(|trigger| trigger.is_reached_by(price));
            let now: Vec<OrderId> =
                self.following(symbol).into_iter().filter(|id| !reached.contains(id) && is_reached(id)).collect();
            reached.extend(now);
            moved.extend(self.come_nearer(symbol, price, &reached));
        }
        self.say_moves(symbol, side, &prices, &moved, events);
        reached.sort_by_key(|&id| (self.place_in_line(id), id));
        for id in reached {
            (self.executions_left, self.ended_in_turn) = (self.executions_left - 1, self.ended_in_turn + 1);
            self.arrivals += 1;
            let arrival = self.arrivals;
            let order = &mut self.orders[id.0 as usize - 1];
            (order.follows, order.arrival) = (false, arrival);
            events.push(Event::TrailReached { order: id, symbol, trigger: order.trigger.expect("it waits") });
        }
        let fixed = self.waiting().filter(|order| order.symbol == symbol && !order.follows);
        let is_reached = |trigger: Trigger| prices.iter().any(|&price| trigger.is_reached_by(price));
        let reached = fixed.filter(|order| order.trigger.is_some_and(is_reached)).map(|order| order.id).collect();
        let listing = &mut self.symbols[symbol.0 as usize];
        listing.last = Some(last);
        listing.rose.extend(&prices);
        listing.fell.extend(&prices);
        self.reach(symbol, reached, events);
        self.say_moves(symbol, side.opposite(), &prices, &moved, events);
        self.forget_prices();
    }

    /// Appends the event of the moves of one side, if there were any: the best price moved them.
    fn say_moves(
        &self,
        symbol: SymbolIndex,
        side: Side,
        prices: &[Price],
        moved: &BTreeSet<OrderId>,
        events: &mut Vec<Event>,
    ) {
        let best = if side == Side::Buy { prices.iter().min() } else { prices.iter().max() };
        if moved.iter().any(|&id| self.order(id).side == side) {
            events.extend(best.map(|&price| Event::TrailsMoved { symbol, side, price }));
        }
    }

    /// Marks these orders as reached, as far as the command may go on: triggers from below first, then the nearest
    /// trigger, then the longest wait.
    fn reach(&mut self, symbol: SymbolIndex, mut orders: Vec<OrderId>, events: &mut Vec<Event>) {
        orders.sort_by_key(|&id| (self.place_in_line(id), self.order(id).arrival));
        let mut told = None;
        for id in orders {
            let trigger = self.order(id).trigger.expect("it waited");
            if told != Some(trigger) {
                if self.executions_left <= 0 {
                    return;
                }
                self.executions_left -= 1;
                told = Some(trigger);
                events.push(Event::TriggerReached { symbol, trigger });
            }
            self.reached.push(id);
        }
    }

    /// The place of an order's trigger among those that one order reaches.
    fn place_in_line(&self, id: OrderId) -> (bool, i64) {
        let trigger = self.order(id).trigger.expect("it waits");
        let price = trigger.price().units();
        if trigger.is_from_below() { (false, price) } else { (true, -price) }
    }

    /// The orders whose triggers do not follow the market, and that executions have reached and no command yet.
    fn left(&self, symbol: SymbolIndex) -> Vec<OrderId> {
        let Listing { rose, fell, .. } = &self.symbols[symbol.0 as usize];
        if rose.is_empty() && fell.is_empty() {
            return Vec::new();
        }
        let is_left = |trigger: Trigger| {
            let prices = if trigger.is_from_below() { rose } else { fell };
            prices.iter().any(|&price| trigger.is_reached_by(price))
        };
        let of_symbol = self.waiting().filter(|order| order.symbol == symbol && !order.follows);
        of_symbol.filter(|order| order.trigger.is_some_and(is_left)).map(|order| order.id).collect()
    }

    /// Whether triggers of a symbol are left, from below and from above.
    fn are_left(&self, symbol: SymbolIndex) -> [bool; 2] {
        let left = self.left(symbol);
        let rises = |id: &OrderId| self.order(*id).trigger.is_some_and(Trigger::is_from_below);
        [left.iter().any(rises), left.iter().any(|id| !rises(id))]
    }

    /// The highest price while triggers from below are left, and the lowest one while triggers from above are.
    pub fn triggers_left(&self, symbol: SymbolIndex) -> TriggersLeft {
        let (listing, [rises, falls]) = (&self.symbols[symbol.0 as usize], self.are_left(symbol));
        TriggersLeft {
            up_to: listing.rose.iter().max().copied().filter(|_| rises),
            down_to: listing.fell.iter().min().copied().filter(|_| falls),
        }
    }

    /// Forgets the prices that reach no trigger which is left.
    pub(crate) fn forget_prices(&mut self) {
        for symbol in (0..self.symbols.len() as u32).map(SymbolIndex) {
            let ([rises, falls], at) = (self.are_left(symbol), symbol.0 as usize);
            let Listing { rose, fell, .. } = &mut self.symbols[at];
            rose.retain(|_| rises);
            fell.retain(|_| falls);
        }
    }

    /// Whether executions of a symbol have reached triggers that no command has reached yet.
    pub fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        !self.left(symbol).is_empty()
    }

    /// The symbols in which triggers are left.
    pub(crate) fn being_reached(&self) -> impl Iterator<Item = SymbolIndex> {
        (0..self.symbols.len() as u32).map(SymbolIndex).filter(|&symbol| self.is_being_reached(symbol))
    }

    /// Whether orders of a symbol have turns. While triggers are left, only one that is under way has.
    pub(crate) fn has_turns(&self, symbol: SymbolIndex) -> bool {
        let under_way =
            |&id: &OrderId| self.order(id).symbol == symbol && self.order(id).delayed == Some(Delay::UnderWay);
        let gathers = |id: &OrderId| self.order(*id).symbol == symbol && self.is_for_auction(*id);
        match self.phase(symbol).phase {
            Phase::Open => {
                let other = |&id: &OrderId| self.order(id).symbol == symbol && !self.is_for_auction(id);
                let has_others = !self.is_being_reached(symbol) && self.reached.iter().any(other);
                has_others || self.reached.iter().any(under_way)
            }
            Phase::Auction => self.reached.iter().any(gathers),
            Phase::Halted => false,
        }
    }

    /// Whether an order that waits for its turn waits for an auction.
    pub(crate) fn is_for_auction(&self, order: OrderId) -> bool {
        self.order(order).delayed == Some(Delay::Auction)
    }

    /// Whether the symbol of an order is in the phase in which the order has its turn.
    pub(crate) fn is_in_its_phase(&self, order: OrderId) -> bool {
        let its = if self.is_for_auction(order) { Phase::Auction } else { Phase::Open };
        self.phase(self.order(order).symbol).phase == its
    }

    /// Whether orders that waited for the auction in which a symbol is have still to come to its book.
    pub fn gathers_further(&self, symbol: SymbolIndex) -> bool {
        let mut its = self.reached.iter().filter(|&&order| self.order(order).symbol == symbol);
        its.any(|&order| self.is_for_auction(order) && self.is_in_its_phase(order))
    }

    /// Reaches the triggers that earlier commands left, then takes the turns of all orders that wait for theirs.
    pub(crate) fn activate_reached(&mut self, may_fill: bool, events: &mut Vec<Event>) {
        // Half of the executions are left to other symbols.
        let half = (self.executions_left / 2).max(1);
        let symbols: Vec<SymbolIndex> = self.being_reached().take(half as usize).collect();
        for &symbol in &symbols {
            let part = half / symbols.len() as i64;
            let kept = (self.executions_left - part).max(0);
            self.executions_left -= kept;
            self.reach(symbol, self.left(symbol), events);
            self.executions_left += kept;
        }
        self.forget_prices();
        self.take_rounds(may_fill, events);
    }

    /// Activates orders that were reached, but none whose working order was executed.
    pub(crate) fn activate_stops(&mut self, events: &mut Vec<Event>) {
        self.passed_over.clear();
        let (mut turns, most) = (0, self.turns_of_command());
        while turns < most
            && self.executions_left > 0
            && let Some(next) = self.next_turn(None)
        {
            let id = self.reached[next];
            if self.are_too_much(&[id]) {
                break;
            }
            turns += self.turns(&[id]);
            self.take_turn(next, events);
        }
        self.turns_in_turn += turns;
    }

    /// The most turns of a command that is no `ActivateReached`.
    pub(crate) fn turns_of_command(&self) -> usize {
        let left = (self.execution_bounds.turns as usize).saturating_sub(self.turns_in_turn);
        TURNS_MAX.min(left.max(100))
    }

    /// Whether an order that looks at others has to wait, because the commands of the turn have taken all turns.
    pub(crate) fn puts_off(&mut self) -> bool {
        self.was_put_off = self.turns_in_turn >= self.execution_bounds.turns as usize;
        self.was_put_off
    }

    /// Whether the last command met an order that looks at others, when all turns were taken.
    pub fn was_put_off(&self) -> bool {
        self.was_put_off
    }

    /// Takes the turn of an order, an index into `reached`.
    pub(crate) fn take_turn(&mut self, next: usize, events: &mut Vec<Event>) {
        let id = self.reached.remove(next);
        if let Some(why) = self.ending(id) {
            self.end_order(id, why, events);
            return;
        }
        let delayed = self.orders[id.0 as usize - 1].delayed.take();
        if !matches!(delayed, Some(Delay::Queued | Delay::Auction)) {
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
        if delayed == Some(Delay::Auction) {
            self.show_first(id, events);
            return;
        }
        if delayed == Some(Delay::UnderWay) {
            let near_end = self.band(symbol).map(|(low, high)| match placed.side {
                Side::Buy => (low, Price::MAX),
                Side::Sell => (Price::MIN, high),
            });
            if let Some(phase) = near_end.and_then(|within| self.interruption_beyond(&placed, within)) {
                self.orders[id.0 as usize - 1].worst = None;
                self.enter_phase(symbol, phase, events);
                self.show_first(id, events);
                return;
            }
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
        self.reached.iter().filter(|&&order| self.is_in_its_phase(order)).count()
    }

    /// The number of orders with a reached trigger that wait until their symbols are open.
    pub fn held_back_orders(&self) -> usize {
        self.reached.iter().filter(|&&order| !self.is_for_auction(order) && !self.is_in_its_phase(order)).count()
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
