//! Orders that wait for a price which follows the market: a sell's is the highest price since it was placed less its
//! distance, a buy's the lowest price plus it. They stand in queues of their own, by age, so that an order that moves
//! finds its place among few.

use slots::NONE;
use terms::{Event, NewOrder, OrderId, Price, Side, SymbolIndex, Trail, Trigger};

use super::{Queue, Stop, Stops, falling_to, rising_to};
use crate::orders::state::Orders;

/// The prices with which an execution is compared for the orders that follow a symbol's price.
#[derive(Clone, Copy)]
pub(super) struct Followed {
    orders: usize,
    /// The price above which a sell may move, and the one below which a buy may.
    above: i64,
    below: i64,
}

impl Stops {
    /// The number of orders that follow a symbol's price.
    pub(crate) fn trailing(&self, symbol: SymbolIndex) -> usize {
        self.followed.get(&symbol).map_or(0, |followed| followed.orders)
    }

    /// The distance of a waiting order's trigger; none for a fixed trigger, or one that was reached.
    pub(crate) fn trail(&self, orders: &Orders, slot: u32) -> Option<Trail> {
        let Stop { queue, trail, .. } = self.stops[orders.get(slot).level];
        trail.filter(|_| self.queues[queue].trails)
    }

    /// Has an order wait for a trigger that follows the price of a symbol, which was `last` at last.
    pub(crate) fn wait_trailing(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trigger: Trigger,
        trail: Trail,
        last: Price,
    ) {
        let symbol = placed.symbol;
        let stop = self.insert_stop(orders, slot, placed, NONE);
        self.stops[stop].trail = Some(trail);
        orders.get_mut(slot).level = stop;
        self.stand(orders, slot, symbol, trigger);
        let none = Followed { orders: 0, above: i64::MAX, below: 0 };
        let followed = self.followed.entry(symbol).or_insert(none);
        followed.orders = followed.orders.saturating_add(1);
        match placed.side {
            // Its best price is no lower than the last one, and need not be known exactly.
            Side::Sell => followed.above = followed.above.min(last.units()),
            Side::Buy => followed.below = followed.below.max(last.units()),
        }
        self.look_out(symbol);
    }

    /// Counts fewer orders that follow a symbol's price.
    pub(super) fn forget_trailing(&mut self, symbol: SymbolIndex, orders: usize) {
        let followed = self.followed.get_mut(&symbol).expect("invariant: an order followed its price");
        followed.orders = followed.orders.saturating_sub(orders);
        if followed.orders == 0 {
            self.followed.remove(&symbol);
        }
    }

    /// The prices from which on a symbol's orders move, upwards and downwards; prices that no execution reaches if none
    /// follows.
    pub(super) fn moved_from(&self, symbol: SymbolIndex) -> (i64, i64) {
        let Some(followed) = self.followed.get(&symbol) else { return (i64::MAX, 0) };
        (followed.above.saturating_add(1), followed.below.saturating_sub(1).max(0))
    }

    /// Applies the executions of an order of this side, whose prices lie between these two, to triggers. Its first
    /// price moves those of its own side, which its last one may reach: a buy goes up, a sell down. Then its executions
    /// reach triggers, and last those of the other side move that were not reached. Returns how many triggers the
    /// command may reach further, and the number of those beyond and of moves: it leaves none of these to others.
    #[cold]
    pub(crate) fn follow(
        &mut self,
        orders: &mut Orders,
        (symbol, side): (SymbolIndex, Side),
        (first, last): (Price, Price),
        left: u32,
        events: &mut impl FnMut(Event),
    ) -> (u32, u32) {
        let (lowest, highest) = (first.min(last), first.max(last));
        let before = self.move_behind(orders, symbol, side, first, events);
        self.watches[symbol.0 as usize].left.extend(lowest, highest);
        let ranges = [Some(rising_to(highest)), Some(falling_to(lowest))];
        let (left, beyond) = self.reach(orders, symbol, ranges, true, left, events);
        let behind = self.move_behind(orders, symbol, side.opposite(), last, events);
        (left, before.saturating_add(beyond).saturating_add(behind))
    }

    /// Moves the triggers of one side that follow an execution at this price. Returns the number of moves.
    fn move_behind(
        &mut self,
        orders: &mut Orders,
        symbol: SymbolIndex,
        side: Side,
        price: Price,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        if !self.followed.contains_key(&symbol) {
            return 0;
        }
        let moves = self.trail_behind(orders, symbol, side, price, events);
        self.look_out(symbol);
        u32::try_from(moves).unwrap_or(u32::MAX)
    }

    /// Ends the following of the orders in a queue that was reached.
    pub(super) fn trails_reached(
        &mut self,
        orders: &Orders,
        queue: u32,
        trigger: Trigger,
        events: &mut impl FnMut(Event),
    ) {
        let Queue { symbol, oldest, orders: count, .. } = self.queues[queue];
        let mut slot = oldest;
        while slot != NONE {
            let order = orders.get(slot);
            events(Event::TrailReached { order: order.id, trigger });
            slot = order.newer;
        }
        self.forget_trailing(symbol, count as usize);
    }

    /// Visits the slots of the orders that follow a symbol's price, with their triggers.
    pub(crate) fn visit_trailing(&self, orders: &Orders, symbol: SymbolIndex, visit: &mut impl FnMut(u32, Trigger)) {
        let (first, last) = (Trigger::from_above(Price::MAX), Trigger::from_below(Price::MAX));
        for (&(_, _, trigger), &queue) in self.waiting.range((symbol, true, first)..=(symbol, true, last)) {
            let mut slot = self.queues[queue].oldest;
            while slot != NONE {
                visit(slot, trigger);
                slot = orders.get(slot).newer;
            }
        }
    }

    /// Moves the triggers of one side behind a price. Returns the number of moves.
    fn trail_behind(
        &mut self,
        orders: &mut Orders,
        symbol: SymbolIndex,
        side: Side,
        price: Price,
        events: &mut impl FnMut(Event),
    ) -> usize {
        let Some(followed) = self.followed.get_mut(&symbol) else { return 0 };
        let is_new = match side {
            Side::Sell => price.units() > followed.above,
            Side::Buy => price.units() < followed.below,
        };
        if !is_new {
            return 0;
        }
        match side {
            Side::Sell => followed.above = price.units(),
            Side::Buy => followed.below = price.units(),
        }
        let mut moves = self.moves_behind(orders, symbol, side, price);
        if moves.is_empty() {
            return 0;
        }
        // Each order finds its place at the end, or near it.
        moves.sort_unstable_by_key(|&(order, ..)| order);
        let count = moves.len();
        for (_, slot, trigger) in moves {
            self.leave(orders, slot);
            self.stand(orders, slot, symbol, trigger);
        }
        events(Event::TrailsMoved { symbol, side, price });
        count
    }

    /// The orders of one side whose triggers a price moves, and their new triggers.
    fn moves_behind(
        &self,
        orders: &Orders,
        symbol: SymbolIndex,
        side: Side,
        price: Price,
    ) -> Vec<(OrderId, u32, Trigger)> {
        let (nearest, farthest) = match side {
            Side::Sell => falling_to(Price::MIN),
            Side::Buy => rising_to(Price::MAX),
        };
        let mut moves = Vec::new();
        for (&(_, _, now), &queue) in self.waiting.range((symbol, true, nearest)..=(symbol, true, farthest)) {
            let mut slot = self.queues[queue].oldest;
            while slot != NONE {
                let order = orders.get(slot);
                let trail = self.stops[order.level].trail.expect("invariant: what stands here trails");
                moves.extend(trail.moved(side, now, price).map(|trigger| (order.id, slot, trigger)));
                slot = order.newer;
            }
        }
        moves
    }

    /// Puts an order into the queue of a trigger that follows, behind all older ones. It stands in no queue, and its
    /// `level` is its stop.
    fn stand(&mut self, orders: &mut Orders, slot: u32, symbol: SymbolIndex, trigger: Trigger) {
        let new = || self.queues.insert(Queue { trails: true, ..Queue::new(symbol, Some(trigger)) });
        let queue = *self.waiting.entry((symbol, true, trigger)).or_insert_with(new);
        let id = orders.get(slot).id;
        let (mut older, mut newer) = (self.queues[queue].newest, NONE);
        while older != NONE && orders.get(older).id > id {
            (older, newer) = (orders.get(older).older, older);
        }
        let at = &mut self.queues[queue];
        at.orders = at.orders.saturating_add(1);
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        match newer {
            NONE => at.newest = slot,
            newer => orders.get_mut(newer).older = slot,
        }
        let order = orders.get_mut(slot);
        (order.older, order.newer) = (older, newer);
        let stop = order.level;
        self.stops[stop].queue = queue;
    }

    /// Takes an order out of its queue, before it joins another one.
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        if let (queue, Some(key)) = self.unlink(orders, slot)
            && self.queues[queue].oldest == NONE
        {
            self.waiting.remove(&key);
            self.queues.remove(queue);
        }
    }
}
