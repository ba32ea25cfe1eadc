//! Orders that wait for a price. Those with the same symbol and trigger stand in one queue, oldest first. When an
//! execution reaches its trigger, the queue moves behind the queues that were reached before it, until its orders are
//! activated (`stops/turns.rs`). Orders that wait for their turn without a trigger stand there, too. This file knows
//! nothing of accounts, and of books no more than each symbol's last price.

use std::collections::{BTreeMap, BTreeSet};

use crate::orders::Orders;

mod trails;
mod turns;

use slots::{NONE, Slab};
use terms::{Event, NewOrder, OrderKind, Price, SelfTrade, Side, SymbolIndex, Trail, Trigger};
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
    /// The lowest price for which an order waits from below; the highest of all if none does.
    rising: i64,
    /// The highest price for which an order waits from above; zero if none does.
    falling: i64,
}

impl Watch {
    fn new(last: Option<Price>) -> Watch {
        Watch { last, rising: i64::MAX, falling: 0 }
    }
}

/// All waiting orders.
pub(crate) struct Stops {
    stops: Slab<Stop>,
    queues: Slab<Queue>,
    /// The queues that no execution has reached, in each symbol fixed triggers before trailing ones. Triggers rank
    /// nearest first: those reached from above by falling price, and those reached from below by rising price.
    waiting: BTreeMap<(SymbolIndex, bool, Trigger), u32>,
    /// The queues whose orders wait for their turn.
    turns: Turns,
    /// The watches by symbol.
    watches: Vec<Watch>,
    /// The symbols whose prices orders follow.
    followed: BTreeMap<SymbolIndex, Followed>,
    /// The symbols whose last price reaches further triggers, because the command that executed at it could not reach
    /// all of them. Nothing executes in them until the others are reached, so that price does not change meanwhile.
    being_reached: BTreeSet<SymbolIndex>,
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
        }
    }

    /// Begins to watch the next symbol, whose last execution had this price.
    #[inline]
    pub(crate) fn watch_next(&mut self, last: Option<Price>) {
        self.watches.push(Watch::new(last));
    }

    /// The number of symbols that are watched: of an engine that is not being imported, all.
    pub(crate) fn watched(&self) -> usize {
        self.watches.len()
    }

    /// The price of a symbol's last execution.
    pub(crate) fn last_price(&self, symbol: SymbolIndex) -> Option<Price> {
        self.watches.get(symbol.0 as usize)?.last
    }

    /// Whether an order waits or ever waited.
    pub(crate) fn were_any(&self) -> bool {
        self.stops.was_used()
    }

    /// The last prices of all symbols.
    pub(crate) fn last_prices(&self) -> impl Iterator<Item = (SymbolIndex, Option<Price>)> {
        (0..).map(SymbolIndex).zip(self.watches.iter().map(|watch| watch.last))
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

    /// Has an order wait for a price. Its trigger was not reached; the last price may reach that of an imported order.
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
        if watch.last.is_some_and(|last| trigger.is_reached_by(last)) {
            self.note_being_reached(symbol, true);
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

    /// Notes executions at this price. Returns whether they reach or move a trigger.
    #[inline]
    pub(crate) fn traded(&mut self, symbol: SymbolIndex, price: Price) -> bool {
        let watch = &mut self.watches[symbol.0 as usize];
        watch.last = Some(price);
        price.units() >= watch.rising || price.units() <= watch.falling
    }

    /// Reaches the queues for an execution at this price, as many as the command may: those that wait from below first,
    /// and in each direction the nearest trigger first. Returns how many more it may reach.
    #[cold]
    fn reach(
        &mut self,
        orders: &Orders,
        symbol: SymbolIndex,
        price: Price,
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        self.reach_within(orders, symbol, &reached_by(price), left, events)
    }

    /// Reaches the queues whose triggers lie in these ranges, as `reach` does.
    fn reach_within(
        &mut self,
        orders: &Orders,
        symbol: SymbolIndex,
        ranges: &[(Trigger, Trigger)],
        mut left: u32,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        for &(nearest, farthest) in ranges {
            while left > 0
                && let Some((key, queue)) = self.nearest(symbol, nearest, farthest)
            {
                left = left.saturating_sub(1);
                self.waiting.remove(&key);
                let (_, trails, trigger) = key;
                self.queues[queue].trails = false;
                self.give_turn(queue, Turn::Reached);
                match trails {
                    true => self.trails_reached(orders, queue, trigger, events),
                    false => events(Event::TriggerReached { symbol, trigger }),
                }
            }
        }
        self.look_out(symbol);
        left
    }

    /// The number of queues that an order of this side reaches before it leaves its first price, counted up to `most`.
    #[cold]
    pub(crate) fn reached_first(&self, symbol: SymbolIndex, side: Side, first: Price, most: u32) -> u32 {
        let (nearest, farthest) = reached_behind(side, first);
        let of = |trails: bool| self.waiting.range((symbol, trails, nearest)..=(symbol, trails, farthest));
        (0..most).zip(of(false).chain(of(true))).map(|(before, _)| before.saturating_add(1)).last().unwrap_or(0)
    }

    /// Symbols whose last prices reach further triggers, at most `most`.
    pub(crate) fn being_reached(&self, most: u32) -> Vec<SymbolIndex> {
        (0..most).zip(&self.being_reached).map(|(_, &symbol)| symbol).collect()
    }

    /// Whether a symbol's last price reaches further triggers.
    pub(crate) fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        self.being_reached.contains(&symbol)
    }

    /// Goes on with the triggers that a symbol's last price reaches, as `reach` does.
    #[cold]
    pub(crate) fn reach_further(
        &mut self,
        orders: &Orders,
        symbol: SymbolIndex,
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let last = self.last_price(symbol).expect("invariant: a price reached the triggers of this symbol");
        self.reach(orders, symbol, last, left, events)
    }

    /// The queue of the nearest trigger between these; of two with the same one, the one that does not follow the
    /// market.
    fn nearest(
        &self,
        symbol: SymbolIndex,
        nearest: Trigger,
        farthest: Trigger,
    ) -> Option<((SymbolIndex, bool, Trigger), u32)> {
        let first = |trails: bool| {
            let mut range = self.waiting.range((symbol, trails, nearest)..=(symbol, trails, farthest));
            range.next().map(|(&key, &queue)| (key, queue))
        };
        let still = first(false);
        if self.followed.is_empty() {
            return still;
        }
        [still, first(true)].into_iter().flatten().min_by_key(|&((_, trails, trigger), _)| (trigger, trails))
    }

    /// Notes the nearest prices of a symbol for which orders wait, and whether the last price reaches them.
    fn look_out(&mut self, symbol: SymbolIndex) {
        let nearest = |from: Trigger, through: Trigger| {
            self.nearest(symbol, from, through).map(|((_, _, trigger), _)| trigger.price().units())
        };
        let rising = nearest(Trigger::from_below(Price::MIN), Trigger::from_below(Price::MAX));
        let falling = nearest(Trigger::from_above(Price::MAX), Trigger::from_above(Price::MIN));
        let (above, below) = self.moved_from(symbol);
        let watch = &mut self.watches[symbol.0 as usize];
        (watch.rising, watch.falling) = (rising.unwrap_or(i64::MAX).min(above), falling.unwrap_or(0).max(below));
        let reaches =
            |last: i64| rising.is_some_and(|rising| rising <= last) || falling.is_some_and(|falling| falling >= last);
        let is_being_reached = watch.last.is_some_and(|last| reaches(last.units()));
        self.note_being_reached(symbol, is_being_reached);
    }

    /// Notes whether a symbol's last price reaches further triggers.
    fn note_being_reached(&mut self, symbol: SymbolIndex, is_being_reached: bool) {
        let has_changed = match is_being_reached {
            true => self.being_reached.insert(symbol),
            false => self.being_reached.remove(&symbol),
        };
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
    fn unlink(&mut self, orders: &mut Orders, slot: u32) -> (u32, Option<(SymbolIndex, bool, Trigger)>) {
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

/// The ranges of triggers that an execution at this price reaches, each from the nearest to the farthest.
fn reached_by(price: Price) -> [(Trigger, Trigger); 2] {
    // A sell leaves behind it those that wait from below, and a buy those that wait from above.
    [reached_behind(Side::Sell, price), reached_behind(Side::Buy, price)]
}

/// The triggers that an execution at this price reaches, and that lie behind an order of this side which goes on from
/// there: a buy goes up, so its later prices no longer reach all those that wait from above.
fn reached_behind(side: Side, price: Price) -> (Trigger, Trigger) {
    match side {
        Side::Buy => (Trigger::from_above(Price::MAX), Trigger::from_above(price)),
        Side::Sell => (Trigger::from_below(Price::MIN), Trigger::from_below(price)),
    }
}
