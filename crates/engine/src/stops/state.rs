//! Orders that wait for a price. Those with the same symbol and trigger stand in one queue, oldest first. When an
//! execution reaches its trigger, the queue moves behind the queues that were reached before it, until its orders are
//! activated (`stops/state/turns.rs`). Orders that wait for their turn without a trigger stand there, too. Orders whose
//! triggers follow the market stand in groups until an execution reaches them (`stops/state/trails.rs`). This file
//! knows nothing of accounts, and of books no more than each symbol's last price.

use std::collections::{BTreeMap, BTreeSet};

use terms::{
    AccountIndex, Event, NewOrder, OrderKind, Price, SelfTrade, Side, SymbolIndex, Trail, Trigger, TriggersLeft,
};

use crate::orders::state::Orders;

mod trails;
mod turns;

use slots::{Following, NONE, Slab};
pub(crate) use turns::Turn;
use turns::Turns;

/// The terms of a waiting order. Its id, account, shares and neighbours in the queue stand with all orders.
#[derive(Clone, Copy)]
pub(crate) struct Stop {
    /// The slot of its order; `NONE` if this stop is not in use.
    slot: u32,
    /// Its queue, or its group while its trigger follows the market.
    queue: u32,
    symbol: SymbolIndex,
    limit: Price,
    side: Side,
    kind: OrderKind,
    self_trade: SelfTrade,
    /// The distance at which its trigger follows the market; none once that was reached.
    trail: Option<Trail>,
}

/// Orders with the same symbol and trigger.
#[derive(Clone, Copy)]
struct Queue {
    symbol: SymbolIndex,
    /// The trigger; none for orders that only wait for their turn.
    trigger: Option<Trigger>,
    oldest: u32,
    newest: u32,
    orders: u32,
    /// The turn of its orders, and their rank among all that have a turn; none while they wait for a price.
    turn: Option<(Turn, u64)>,
}

impl Queue {
    fn new(symbol: SymbolIndex, trigger: Option<Trigger>) -> Queue {
        Queue { symbol, trigger, oldest: NONE, newest: NONE, orders: 0, turn: None }
    }
}

/// The prices that an execution of a symbol is compared with, so that one that reaches no trigger costs next to
/// nothing.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    /// The price of the last execution.
    last: Option<Price>,
    /// The prices that reach further triggers.
    left: TriggersLeft,
    /// The lowest price for which an order waits from below; the highest of all if none does.
    rising: i64,
    /// The highest price for which an order waits from above; zero if none does.
    falling: i64,
}

impl Watch {
    fn new(last: Option<Price>, left: TriggersLeft) -> Watch {
        Watch { last, left, rising: i64::MAX, falling: 0 }
    }
}

/// A waiting order that is out of account.
pub(crate) enum StopAside {
    /// An order that follows the market.
    Trailing,
    /// An order that waits for its turn.
    Turn(SymbolIndex, Turn),
    /// An order that waits for a price. `alone` is its trigger, and the watch with it, if no other order has this
    /// trigger.
    Waiting { symbol: SymbolIndex, queue: u32, alone: Option<(Trigger, Watch)> },
}

/// The key of a queue that has no turn.
type Key = (SymbolIndex, Trigger);

/// All waiting orders.
pub(crate) struct Stops {
    stops: Slab<Stop>,
    queues: Slab<Queue>,
    /// The queues without a turn. Triggers rank nearest first: those reached from above by falling price, and those
    /// reached from below by rising price.
    waiting: BTreeMap<Key, u32>,
    /// The queues whose orders wait for their turn.
    turns: Turns,
    /// The watches by symbol.
    watches: Vec<Watch>,
    /// The orders that follow the price of a symbol, by side.
    followed: BTreeMap<(SymbolIndex, Side), Following>,
    /// The number of orders that follow the price of a symbol, by account; no zero.
    followed_by: BTreeMap<(SymbolIndex, AccountIndex), usize>,
    /// The symbols in which triggers are left. Nothing executes in them until these are reached, except for an order
    /// that is under way.
    being_reached: BTreeSet<SymbolIndex>,
    /// Whether triggers ever were left.
    left_any: bool,
    /// The symbol whose price an order follows that is out of account.
    trailing_aside: Option<SymbolIndex>,
}

impl Stops {
    pub(crate) fn new() -> Stops {
        Stops {
            stops: Slab::new(),
            queues: Slab::new(),
            waiting: BTreeMap::new(),
            turns: Turns::new(),
            watches: Vec::new(),
            followed: BTreeMap::new(),
            followed_by: BTreeMap::new(),
            being_reached: BTreeSet::new(),
            left_any: false,
            trailing_aside: None,
        }
    }

    /// Begins to watch the next symbol, whose last execution had this price, and in which these triggers are left.
    pub(crate) fn watch_next(&mut self, last: Option<Price>, left: TriggersLeft) {
        let symbol = SymbolIndex(u32::try_from(self.watches.len()).expect("invariant: at most 2^32 - 1 symbols"));
        self.watches.push(Watch::new(last, left));
        self.note_being_reached(symbol, !left.is_none());
    }

    /// The number of symbols that are watched: of an engine that is not being imported, all.
    pub(crate) fn watched(&self) -> usize {
        self.watches.len()
    }

    /// The price of a symbol's last execution.
    pub(crate) fn last_price(&self, symbol: SymbolIndex) -> Option<Price> {
        self.watches.get(symbol.0 as usize)?.last
    }

    /// The prices of a symbol's executions that reach further triggers.
    pub(crate) fn triggers_left(&self, symbol: SymbolIndex) -> TriggersLeft {
        self.watches.get(symbol.0 as usize).map(|watch| watch.left).unwrap_or_default()
    }

    /// The price of an execution that reaches a fixed trigger which is placed now.
    pub(crate) fn price_at(&self, symbol: SymbolIndex, trigger: Trigger) -> Option<Price> {
        let prices = [self.last_price(symbol), self.triggers_left(symbol).price_for(trigger)];
        prices.into_iter().flatten().find(|&price| trigger.is_reached_by(price))
    }

    /// Notes once more in which directions the triggers of an imported symbol are left. Returns whether these are the
    /// ones that it had.
    pub(crate) fn check_left(&mut self, symbol: SymbolIndex, told: TriggersLeft) -> bool {
        self.look_out(symbol);
        self.triggers_left(symbol) == told
    }

    /// Whether an order waits or ever waited.
    pub(crate) fn were_any(&self) -> bool {
        self.stops.was_used()
    }

    /// Whether triggers are left or ever were.
    pub(crate) fn left_any(&self) -> bool {
        self.left_any
    }

    /// The last prices of all symbols, and the prices that reach further triggers.
    pub(crate) fn watches(&self) -> impl Iterator<Item = (SymbolIndex, Option<Price>, TriggersLeft)> {
        (0..).map(SymbolIndex).zip(&self.watches).map(|(symbol, watch)| (symbol, watch.last, watch.left))
    }

    /// Whether the open order in a slot waits. `at` is the order's `level`.
    #[inline]
    pub(crate) fn is_waiting(&self, slot: u32, at: u32) -> bool {
        !self.stops.is_empty() && self.stops.get(at).is_some_and(|stop| stop.slot == slot)
    }

    /// The order that a waiting one becomes; its shares are the open ones.
    pub(crate) fn placed(&self, orders: &Orders, slot: u32) -> NewOrder<SymbolIndex> {
        let order = orders.get(slot);
        let Stop { symbol, queue, limit, side, kind, self_trade, trail, .. } = self.stops[order.level];
        let trigger = match trail {
            Some(trail) => self.followed.get(&(symbol, side)).map(|following| following.trigger(trail, queue)),
            None => self.queues[queue].trigger,
        };
        NewOrder { symbol, side, limit, shares: order.open, kind, trigger, self_trade }
    }

    /// Has an order wait for a price. Its trigger was not reached, or is left.
    pub(crate) fn wait(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, trigger: Trigger) {
        let symbol = placed.symbol;
        let queue = self.queue_at(symbol, trigger);
        self.append(orders, slot, placed, queue);
        let watch = &mut self.watches[symbol.0 as usize];
        match trigger.is_from_below() {
            true => watch.rising = watch.rising.min(trigger.price().units()),
            false => watch.falling = watch.falling.max(trigger.price().units()),
        }
    }

    /// The queue of a trigger that no execution has reached, or that is left.
    fn queue_at(&mut self, symbol: SymbolIndex, trigger: Trigger) -> u32 {
        let new = || self.queues.insert(Queue::new(symbol, Some(trigger)));
        *self.waiting.entry((symbol, trigger)).or_insert_with(new)
    }

    fn append(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, queue: u32) {
        orders.get_mut(slot).level = self.insert_stop(orders, slot, placed, queue);
        self.join(orders, slot, queue);
    }

    /// Puts an order at the end of a queue. Its `level` is its stop.
    fn join(&mut self, orders: &mut Orders, slot: u32, queue: u32) {
        let at = &mut self.queues[queue];
        at.orders = at.orders.saturating_add(1);
        let older = std::mem::replace(&mut at.newest, slot);
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        let order = orders.get_mut(slot);
        (order.older, order.newer) = (older, NONE);
        self.stops[order.level].queue = queue;
    }

    fn insert_stop(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, queue: u32) -> u32 {
        orders.begin_to_wait(slot);
        let NewOrder { symbol, limit, side, kind, self_trade, .. } = *placed;
        // The slab fills the slots by which it grows with this value, which is not in use.
        let stop = self.stops.insert(Stop { slot: NONE, queue, symbol, limit, side, kind, self_trade, trail: None });
        self.stops[stop].slot = slot;
        stop
    }

    /// Notes the first and the last price of an order's executions. Returns whether these reach or move a trigger.
    #[inline]
    pub(crate) fn traded(&mut self, symbol: SymbolIndex, first: Price, last: Price) -> bool {
        let watch = &mut self.watches[symbol.0 as usize];
        watch.last = Some(last);
        first.max(last).units() >= watch.rising || first.min(last).units() <= watch.falling
    }

    /// Reaches the queues whose triggers lie in these ranges, as many as the command may: in each range the nearest
    /// trigger first. Returns how many more the command may reach.
    fn reach(
        &mut self,
        symbol: SymbolIndex,
        ranges: [Option<(Trigger, Trigger)>; 2],
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let mut left = left;
        for range in ranges.into_iter().flatten() {
            while left > 0
                && let Some((trigger, queue)) = self.next_in(symbol, range)
            {
                left = left.saturating_sub(1);
                self.waiting.remove(&(symbol, trigger));
                self.give_turn(queue, Turn::Reached);
                events(Event::TriggerReached { symbol, trigger });
            }
        }
        self.look_out(symbol);
        left
    }

    /// Symbols in which triggers are left, at most `most`. An order under way keeps no symbol from this list: the stops
    /// that its executions reached have to stand before orders that come meanwhile.
    pub(crate) fn to_reach(&self, most: u32) -> Vec<SymbolIndex> {
        (0..most).zip(&self.being_reached).map(|(_, &symbol)| symbol).collect()
    }

    /// Whether triggers are left in a symbol.
    pub(crate) fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        self.being_reached.contains(&symbol)
    }

    /// Goes on with the triggers that are left in a symbol, as many as the command may. Returns how many more it may
    /// reach.
    #[cold]
    pub(crate) fn reach_further(&mut self, symbol: SymbolIndex, left: u32, events: &mut impl FnMut(Event)) -> u32 {
        let left_triggers = self.triggers_left(symbol);
        let ranges = [left_triggers.up_to.map(rising_to), left_triggers.down_to.map(falling_to)];
        self.reach(symbol, ranges, left, events)
    }

    /// The queue of the nearest trigger in a range.
    fn next_in(&self, symbol: SymbolIndex, (nearest, farthest): (Trigger, Trigger)) -> Option<(Trigger, u32)> {
        let mut range = self.waiting.range((symbol, nearest)..=(symbol, farthest));
        range.next().map(|(&(_, trigger), &queue)| (trigger, queue))
    }

    /// Notes the nearest prices of a symbol for which orders wait or at which triggers move, and in which directions
    /// triggers are left.
    fn look_out(&mut self, symbol: SymbolIndex) {
        let nearest = |range| self.next_in(symbol, range).map(|(trigger, _)| trigger.price().units());
        let (rising, falling) = (nearest(rising_to(Price::MAX)), nearest(falling_to(Price::MIN)));
        let (above, below) = self.followed_from(symbol);
        let watch = &mut self.watches[symbol.0 as usize];
        watch.rising = rising.unwrap_or(i64::MAX).min(above);
        watch.falling = falling.unwrap_or(0).max(below);
        watch.left.up_to = watch.left.up_to.filter(|up_to| rising.is_some_and(|price| price <= up_to.units()));
        watch.left.down_to = watch.left.down_to.filter(|down| falling.is_some_and(|price| price >= down.units()));
        let is_being_reached = !watch.left.is_none();
        self.note_being_reached(symbol, is_being_reached);
    }

    /// Notes whether triggers are left in a symbol.
    fn note_being_reached(&mut self, symbol: SymbolIndex, is_being_reached: bool) {
        let has_changed = match is_being_reached {
            true => self.being_reached.insert(symbol),
            false => self.being_reached.remove(&symbol),
        };
        self.left_any |= is_being_reached;
        if has_changed {
            self.turns.note_being_reached(symbol, is_being_reached);
        }
    }

    /// The number of waiting orders.
    pub(crate) fn len(&self) -> usize {
        self.stops.len()
    }

    /// Leaves a waiting order out of account, so that it keeps no order waiting, and no trigger is left for it alone.
    /// It keeps its place.
    pub(crate) fn set_aside(&mut self, orders: &Orders, slot: u32) -> StopAside {
        let Stop { symbol, queue, trail, .. } = self.stops[orders.get(slot).level];
        if trail.is_some() {
            self.trailing_aside = Some(symbol);
            return StopAside::Trailing;
        }
        let at = &mut self.queues[queue];
        if let Some((turn, _)) = at.turn {
            self.turns.delay(symbol, turn, false);
            return StopAside::Turn(symbol, turn);
        }
        at.orders = at.orders.saturating_sub(1);
        let alone = at.trigger.filter(|_| at.orders == 0).map(|trigger| (trigger, self.watches[symbol.0 as usize]));
        if let Some((trigger, _)) = alone {
            self.waiting.remove(&(symbol, trigger));
            self.look_out(symbol);
        }
        StopAside::Waiting { symbol, queue, alone }
    }

    /// Takes a waiting order back into account. Nothing else has changed since.
    pub(crate) fn put_back(&mut self, aside: &StopAside) {
        match *aside {
            StopAside::Trailing => self.trailing_aside = None,
            StopAside::Turn(symbol, turn) => self.turns.delay(symbol, turn, true),
            StopAside::Waiting { symbol, queue, alone } => {
                let orders = &mut self.queues[queue].orders;
                *orders = orders.saturating_add(1);
                if let Some((trigger, watch)) = alone {
                    self.waiting.insert((symbol, trigger), queue);
                    self.watches[symbol.0 as usize] = watch;
                    self.note_being_reached(symbol, !watch.left.is_none());
                }
            }
        }
    }

    /// Takes out a waiting order.
    pub(crate) fn remove(&mut self, orders: &mut Orders, slot: u32) {
        let stop = orders.get(slot).level;
        if self.stops[stop].trail.is_some() {
            self.forget_trailing(stop, orders.get(slot).account);
        } else {
            self.leave(orders, slot);
        }
        orders.get_mut(slot).level = NONE;
        orders.end_to_wait(slot);
        self.stops[stop].slot = NONE;
        self.stops.remove(stop);
    }

    /// Takes an order out of its queue. The last one takes the queue with it.
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        let queue = self.unlink(orders, slot);
        let Queue { symbol, trigger, oldest, turn, .. } = self.queues[queue];
        match (turn, trigger) {
            (Some((turn, rank)), _) => self.leave_turn(queue, symbol, turn, rank),
            (None, Some(trigger)) if oldest == NONE => {
                self.waiting.remove(&(symbol, trigger));
                self.queues.remove(queue);
                self.look_out(symbol);
            }
            (None, _) => {}
        }
    }

    /// Takes an order out of its queue, which may be empty then. Returns the queue.
    fn unlink(&mut self, orders: &mut Orders, slot: u32) -> u32 {
        let order = orders.get_mut(slot);
        let (stop, older, newer) = (order.level, order.older, order.newer);
        (order.older, order.newer) = (NONE, NONE);
        let queue = self.stops[stop].queue;
        let at = &mut self.queues[queue];
        at.orders = at.orders.saturating_sub(1);
        match older {
            NONE => at.oldest = newer,
            older => orders.get_mut(older).newer = newer,
        }
        match newer {
            NONE => at.newest = older,
            newer => orders.get_mut(newer).older = older,
        }
        queue
    }

    /// Visits the slots of all waiting orders: by symbol those that no execution has reached, fixed triggers first, in
    /// the order in which an execution would reach them, and then those that wait for their turn, in the order in which
    /// they began to, with the turn of each.
    pub(crate) fn walk(&self, orders: &Orders, visit: &mut impl FnMut(u32, Option<Turn>)) {
        let mut walked = None;
        let following = self.followed.keys().map(|&(symbol, _)| symbol);
        let mut following = following.filter(|&symbol| walked.replace(symbol) != Some(symbol)).peekable();
        for (&(symbol, _), &queue) in &self.waiting {
            while let Some(before) = following.next_if(|&followed| followed < symbol) {
                self.in_order(orders, before).into_iter().for_each(|slot| visit(slot, None));
            }
            self.walk_queue(orders, queue, &mut |slot| visit(slot, None));
        }
        for symbol in following {
            self.in_order(orders, symbol).into_iter().for_each(|slot| visit(slot, None));
        }
        for queue in self.turns.in_order() {
            self.walk_queue(orders, queue, &mut |slot| visit(slot, self.queues[queue].turn.map(|(turn, _)| turn)));
        }
    }

    fn walk_queue(&self, orders: &Orders, queue: u32, visit: &mut impl FnMut(u32)) {
        orders.queue_from(self.queues[queue].oldest).for_each(visit);
    }

    /// The slots of the first orders of all queues of a symbol, and of each order that follows its price, in the order
    /// of [`Stops::walk`].
    pub(crate) fn queues_of(&self, orders: &Orders, symbol: SymbolIndex) -> impl Iterator<Item = u32> {
        let (first, last) = (Trigger::from_above(Price::MAX), Trigger::from_below(Price::MAX));
        let waiting = self.waiting.range((symbol, first)..=(symbol, last)).map(|(_, &queue)| queue);
        let waiting = waiting.map(|queue| self.queues[queue].oldest);
        // These are sorted only when the walk comes to them.
        let following = std::iter::once(symbol).flat_map(|symbol| self.in_order(orders, symbol));
        waiting.chain(following).chain(self.turns.of_symbol(symbol).map(|queue| self.queues[queue].oldest))
    }
}

/// The triggers from below up to a price, the nearest first.
fn rising_to(price: Price) -> (Trigger, Trigger) {
    (Trigger::from_below(Price::MIN), Trigger::from_below(price))
}

/// The triggers from above down to a price, the nearest first.
fn falling_to(price: Price) -> (Trigger, Trigger) {
    (Trigger::from_above(Price::MAX), Trigger::from_above(price))
}
