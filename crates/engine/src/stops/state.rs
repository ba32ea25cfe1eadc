//! Orders that wait for a price. Those with the same symbol and trigger stand in one queue, oldest first. When an
//! execution reaches its trigger, the queue moves behind the queues that were reached before it, until its orders are
//! activated (`stops/state/turns.rs`). Orders that wait for their turn without a trigger stand there, too. This file
//! knows nothing of accounts, and of books no more than each symbol's last price.

use std::collections::{BTreeMap, BTreeSet};

use terms::{Event, NewOrder, OrderKind, Price, SelfTrade, Side, SymbolIndex, Trail, Trigger, TriggersLeft};

use crate::orders::state::Orders;

mod trails;
mod turns;

use slots::{NONE, Slab};
use trails::Followed;
pub(crate) use turns::Turn;
use turns::Turns;

/// The terms of a waiting order. Its id, account, shares and neighbours in the queue stand with all orders.
#[derive(Clone, Copy)]
pub(crate) struct Stop {
    /// The slot of its order; `NONE` if this stop is not in use.
    slot: u32,
    queue: u32,
    limit: Price,
    side: Side,
    kind: OrderKind,
    self_trade: SelfTrade,
    /// The distance that its trigger kept to the market until it was reached, if it followed that.
    trail: Option<Trail>,
}

/// The most fixed triggers that an order reaches before the trailing ones behind them while its command has no
/// executions left.
const NEARER_MAX: u32 = 1_000;

/// Orders with the same symbol and trigger.
#[derive(Clone, Copy)]
struct Queue {
    symbol: SymbolIndex,
    /// The trigger; none for orders that only wait for their turn.
    trigger: Option<Trigger>,
    oldest: u32,
    newest: u32,
    orders: u32,
    /// Whether its orders follow the market. Orders with the same trigger that is fixed are reached before these.
    trails: bool,
    /// The turn of its orders, and their rank among all that have a turn; none while they wait for a price.
    turn: Option<(Turn, u64)>,
}

impl Queue {
    fn new(symbol: SymbolIndex, trigger: Option<Trigger>) -> Queue {
        Queue { symbol, trigger, oldest: NONE, newest: NONE, orders: 0, trails: false, turn: None }
    }
}

/// The prices that an execution of a symbol is compared with, so that one that reaches no trigger costs next to
/// nothing.
#[derive(Clone, Copy)]
struct Watch {
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

/// The key of a queue that no execution has reached: whether it follows the market, and its trigger.
type Key = (SymbolIndex, bool, Trigger);

/// The triggers of a symbol from the nearest to the farthest.
type Range = (SymbolIndex, Trigger, Trigger);

/// All waiting orders.
pub(crate) struct Stops {
    stops: Slab<Stop>,
    queues: Slab<Queue>,
    /// The queues that no execution has reached, in each symbol fixed triggers before trailing ones. Triggers rank
    /// nearest first: those reached from above by falling price, and those reached from below by rising price.
    waiting: BTreeMap<Key, u32>,
    /// The queues whose orders wait for their turn.
    turns: Turns,
    /// The watches by symbol.
    watches: Vec<Watch>,
    /// The symbols whose prices orders follow.
    followed: BTreeMap<SymbolIndex, Followed>,
    /// The symbols in which triggers are left. Nothing executes in them until these are reached, except for an order
    /// that is under way.
    being_reached: BTreeSet<SymbolIndex>,
    /// Whether triggers ever were left.
    left_any: bool,
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
            being_reached: BTreeSet::new(),
            left_any: false,
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

    /// Notes once more in which directions the triggers of an imported symbol are left. Returns whether that is as it
    /// was told.
    pub(crate) fn check_left(&mut self, symbol: SymbolIndex) -> bool {
        let told = self.triggers_left(symbol);
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
        let Stop { queue, limit, side, kind, self_trade, .. } = self.stops[order.level];
        let Queue { symbol, trigger, .. } = self.queues[queue];
        NewOrder { symbol, side, limit, shares: order.open, kind, trigger, self_trade }
    }

    /// Has an order wait for a price. Its trigger was not reached, or is left.
    pub(crate) fn wait(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, trigger: Trigger) {
        let symbol = placed.symbol;
        let new = || self.queues.insert(Queue::new(symbol, Some(trigger)));
        let queue = *self.waiting.entry((symbol, false, trigger)).or_insert_with(new);
        self.append(orders, slot, placed, queue);
        let watch = &mut self.watches[symbol.0 as usize];
        match trigger.is_from_below() {
            true => watch.rising = watch.rising.min(trigger.price().units()),
            false => watch.falling = watch.falling.max(trigger.price().units()),
        }
    }

    fn append(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, queue: u32) {
        let stop = self.insert_stop(orders, slot, placed, queue);
        let at = &mut self.queues[queue];
        at.orders = at.orders.saturating_add(1);
        let older = std::mem::replace(&mut at.newest, slot);
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        let order = orders.get_mut(slot);
        (order.level, order.older, order.newer) = (stop, older, NONE);
    }

    fn insert_stop(&mut self, orders: &mut Orders, slot: u32, placed: &NewOrder<SymbolIndex>, queue: u32) -> u32 {
        orders.begin_to_wait(slot);
        let NewOrder { limit, side, kind, self_trade, .. } = *placed;
        // The slab fills the slots by which it grows with this value, which is not in use.
        let stop = self.stops.insert(Stop { slot: NONE, queue, limit, side, kind, self_trade, trail: None });
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
    /// trigger first. Those `with_trails` are all reached, because no later command would know which, and of the fixed
    /// ones that are nearer at most [`NEARER_MAX`] beyond what the command may, so that these stay before them. Returns
    /// how many more the command may reach, and the number beyond.
    fn reach(
        &mut self,
        orders: &Orders,
        symbol: SymbolIndex,
        ranges: [Option<(Trigger, Trigger)>; 2],
        with_trails: bool,
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> (u32, u32) {
        let (mut left, mut beyond, mut nearer) = (left, 0u32, 0u32);
        for (nearest, farthest) in ranges.into_iter().flatten() {
            let range = (symbol, nearest, farthest);
            while let Some((key, queue)) = self.next_in(range, left > 0 || nearer < NEARER_MAX, with_trails)
                && (left > 0 || self.next_in(range, false, with_trails).is_some())
            {
                let (_, trails, trigger) = key;
                match left {
                    0 => {
                        beyond = beyond.saturating_add(1);
                        nearer = nearer.saturating_add(u32::from(!trails));
                    }
                    _ => left = left.saturating_sub(1),
                }
                self.waiting.remove(&key);
                self.queues[queue].trails = false;
                self.give_turn(queue, Turn::Reached);
                match trails {
                    true => self.trails_reached(orders, queue, trigger, events),
                    false => events(Event::TriggerReached { symbol, trigger }),
                }
            }
        }
        self.look_out(symbol);
        (left, beyond)
    }

    /// Symbols in which triggers are left, at most `most`. An order under way keeps no symbol from this list: the stops
    /// that its executions reached have to stand before orders that come meanwhile.
    pub(crate) fn to_reach(&self, most: u32) -> Vec<SymbolIndex> {
        (0..most).zip(&self.being_reached).map(|(_, &symbol)| symbol).collect()
    }

    /// The symbols in which triggers are left.
    pub(crate) fn being_reached(&self) -> Vec<SymbolIndex> {
        self.being_reached.iter().copied().collect()
    }

    /// Whether triggers are left in a symbol.
    pub(crate) fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        self.being_reached.contains(&symbol)
    }

    /// Goes on with the triggers that are left in a symbol, as many as the command may. Returns how many more it may
    /// reach.
    #[cold]
    pub(crate) fn reach_further(
        &mut self,
        orders: &Orders,
        symbol: SymbolIndex,
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let left_triggers = self.triggers_left(symbol);
        let ranges = [left_triggers.up_to.map(rising_to), left_triggers.down_to.map(falling_to)];
        self.reach(orders, symbol, ranges, false, left, events).0
    }

    /// The queue of the nearest trigger in a range, of the fixed ones, of those that follow the market, or of both. Of
    /// two with the same trigger, the one that does not follow.
    fn next_in(&self, (symbol, nearest, farthest): Range, fixed: bool, trails: bool) -> Option<(Key, u32)> {
        let first = |trails: bool| {
            let mut range = self.waiting.range((symbol, trails, nearest)..=(symbol, trails, farthest));
            range.next().map(|(&key, &queue)| (key, queue))
        };
        let still = if fixed { first(false) } else { None };
        if !trails || self.followed.is_empty() {
            return still;
        }
        [still, first(true)].into_iter().flatten().min_by_key(|&((_, trails, trigger), _)| (trigger, trails))
    }

    /// Notes the nearest prices of a symbol for which orders wait, and in which directions triggers are left.
    fn look_out(&mut self, symbol: SymbolIndex) {
        let nearest = |(from, through): (Trigger, Trigger), fixed: bool| {
            let next = self.next_in((symbol, from, through), fixed, !fixed);
            next.map(|((_, _, trigger), _)| trigger.price().units())
        };
        let [rising, falling] = [rising_to(Price::MAX), falling_to(Price::MIN)];
        let (still_rising, still_falling) = (nearest(rising, true), nearest(falling, true));
        let (rising, falling) = (nearest(rising, false), nearest(falling, false));
        let (above, below) = self.moved_from(symbol);
        let watch = &mut self.watches[symbol.0 as usize];
        watch.rising = [still_rising, rising].into_iter().flatten().min().unwrap_or(i64::MAX).min(above);
        watch.falling = [still_falling, falling].into_iter().flatten().max().unwrap_or(0).max(below);
        watch.left.up_to = watch.left.up_to.filter(|up_to| still_rising.is_some_and(|price| price <= up_to.units()));
        watch.left.down_to = watch.left.down_to.filter(|down| still_falling.is_some_and(|price| price >= down.units()));
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

    /// Takes out a waiting order.
    pub(crate) fn remove(&mut self, orders: &mut Orders, slot: u32) {
        let stop = orders.get(slot).level;
        let (queue, key) = self.unlink(orders, slot);
        orders.get_mut(slot).level = NONE;
        orders.end_to_wait(slot);
        self.stops[stop].slot = NONE;
        self.stops.remove(stop);
        let Queue { symbol, trails, oldest, turn, .. } = self.queues[queue];
        if trails {
            self.forget_trailing(symbol, 1);
        }
        match (turn, key) {
            (Some((turn, rank)), _) => self.leave_turn(queue, symbol, turn, rank),
            (None, Some(key)) if oldest == NONE => {
                self.waiting.remove(&key);
                self.queues.remove(queue);
                self.look_out(symbol);
            }
            (None, _) => {}
        }
    }

    /// Takes an order out of its queue, which may be empty then. Returns the queue, and its key if no execution has
    /// reached it.
    fn unlink(&mut self, orders: &mut Orders, slot: u32) -> (u32, Option<Key>) {
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
        (queue, at.trigger.map(|trigger| (at.symbol, at.trails, trigger)))
    }

    /// Visits the slots of all waiting orders: by symbol those that no execution has reached, fixed triggers first, in
    /// the order in which an execution would reach them, and then those that wait for their turn, in the order in which
    /// they began to, with the turn of each.
    pub(crate) fn walk(&self, orders: &Orders, visit: &mut impl FnMut(u32, Option<Turn>)) {
        let with_turns = self.turns.in_order();
        for &queue in self.waiting.values().chain(&with_turns) {
            self.walk_queue(orders, queue, &mut |slot| visit(slot, self.queues[queue].turn.map(|(turn, _)| turn)));
        }
    }

    fn walk_queue(&self, orders: &Orders, queue: u32, visit: &mut impl FnMut(u32)) {
        let mut slot = self.queues[queue].oldest;
        while slot != NONE {
            visit(slot);
            slot = orders.get(slot).newer;
        }
    }

    /// The slots of the first orders of all queues of a symbol, in the order of [`Stops::walk`].
    pub(crate) fn queues_of(&self, symbol: SymbolIndex) -> impl Iterator<Item = u32> {
        let (first, last) = (Trigger::from_above(Price::MAX), Trigger::from_below(Price::MAX));
        let waiting = self.waiting.range((symbol, false, first)..=(symbol, true, last)).map(|(_, &queue)| queue);
        waiting.chain(self.turns.of_symbol(symbol)).map(|queue| self.queues[queue].oldest)
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
