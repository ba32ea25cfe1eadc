//! Orders that wait for a price which follows the market: a sell's is the highest price since it was placed less its
//! distance, a buy's the lowest price plus it. They stand in groups by that price (`slots::Following`), so a new price
//! moves them together. When an execution reaches their triggers they follow no more: each joins the queue of its
//! trigger, as an order with a fixed one, and is reached in its turn.

use slots::{Following, NONE};
use terms::{AccountIndex, Event, NewOrder, OrderId, Price, Side, SymbolIndex, Trail, Trigger};

use super::{Stop, Stops, falling_to, rising_to};
use crate::orders::state::Orders;

impl Stops {
    /// The number of orders that follow a symbol's price.
    pub(crate) fn trailing(&self, symbol: SymbolIndex) -> usize {
        let all = self.following(symbol).fold(0usize, |orders, following| orders.saturating_add(following.len()));
        all.saturating_sub(usize::from(self.trailing_aside == Some(symbol)))
    }

    /// The number of orders of an account that follow a symbol's price. An order out of account is its own: it is the
    /// one that the order to be placed replaces.
    pub(crate) fn trailing_of(&self, account: AccountIndex, symbol: SymbolIndex) -> usize {
        let its = self.followed_by.get(&(symbol, account)).copied().unwrap_or(0);
        its.saturating_sub(usize::from(self.trailing_aside == Some(symbol)))
    }

    /// The number of orders that follow a price, added up over the accounts.
    pub(crate) fn trailing_of_all(&self) -> usize {
        self.followed_by.values().fold(0, |all, its| all.saturating_add(*its))
    }

    fn following(&self, symbol: SymbolIndex) -> impl Iterator<Item = &Following> {
        [Side::Buy, Side::Sell].into_iter().filter_map(move |side| self.followed.get(&(symbol, side)))
    }

    /// The distance of a waiting order's trigger; none for a fixed trigger, or one that was reached.
    pub(crate) fn trail(&self, orders: &Orders, slot: u32) -> Option<Trail> {
        self.stops[orders.get(slot).level].trail
    }

    /// Has an order wait for a trigger that follows the price of a symbol. `best` is the best price since it was
    /// placed.
    pub(crate) fn wait_trailing(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trail: Trail,
        best: Price,
    ) {
        let NewOrder { symbol, side, .. } = *placed;
        let stop = self.insert_stop(orders, slot, placed, NONE);
        let following = self.followed.entry((symbol, side)).or_insert_with(|| Following::new(side));
        let group = following.insert(stop, trail, best);
        (self.stops[stop].trail, self.stops[stop].queue) = (Some(trail), group);
        let order = orders.get_mut(slot);
        (order.level, order.older, order.newer) = (stop, NONE, NONE);
        self.count_follower((symbol, order.account), true);
        self.look_out(symbol);
    }

    /// Counts an order of an account that begins to follow a symbol's price, or one that ends its following.
    fn count_follower(&mut self, of: (SymbolIndex, AccountIndex), begins: bool) {
        let orders = self.followed_by.entry(of).or_default();
        *orders = if begins { orders.saturating_add(1) } else { orders.saturating_sub(1) };
        if *orders == 0 {
            self.followed_by.remove(&of);
        }
    }

    /// Takes an order out of those that follow.
    pub(super) fn forget_trailing(&mut self, stop: u32, account: AccountIndex) {
        let Stop { symbol, side, queue: group, trail, .. } = self.stops[stop];
        if let (Some(following), Some(trail)) = (self.followed.get_mut(&(symbol, side)), trail) {
            following.remove(stop, trail, group);
            self.count_follower((symbol, account), false);
            self.forget_if_empty(symbol, side);
            self.look_out(symbol);
        }
    }

    fn forget_if_empty(&mut self, symbol: SymbolIndex, side: Side) {
        if self.followed.get(&(symbol, side)).is_some_and(Following::is_empty) {
            self.followed.remove(&(symbol, side));
        }
    }

    /// The prices from which on an execution moves or reaches triggers that follow, upwards and downwards; prices that
    /// no execution reaches if none follows.
    pub(super) fn followed_from(&self, symbol: SymbolIndex) -> (i64, i64) {
        if self.followed.is_empty() {
            return (i64::MAX, 0);
        }
        let of = |side| self.followed.get(&(symbol, side));
        let nearest = |side| of(side).and_then(Following::nearest).map(|trigger| trigger.price().units());
        let passed = |side| of(side).and_then(Following::moves_behind).map(Price::units);
        let (above, rising) = (passed(Side::Sell).map(|best| best.saturating_add(1)), nearest(Side::Buy));
        let (below, falling) = (passed(Side::Buy).map(|best| best.saturating_sub(1)), nearest(Side::Sell));
        let (up, down) = (above.into_iter().chain(rising).min(), below.into_iter().chain(falling).max());
        (up.unwrap_or(i64::MAX), down.unwrap_or(0))
    }

    /// Applies the executions of an order of this side, whose prices lie between these two, to triggers. Its first
    /// price moves those of its own side, which its last one may reach: a buy goes up, a sell down. Then its executions
    /// reach triggers, and last those of the other side move that were not reached. All orders that follow to a reached
    /// trigger end their following, however few executions the command has left, and count as one each. Returns how
    /// many triggers the command may reach further, and the number of these orders.
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
        self.move_behind(symbol, side, first, events);
        let rising = self.end_following(orders, (symbol, Side::Buy), highest, events);
        let ended = rising.saturating_add(self.end_following(orders, (symbol, Side::Sell), lowest, events));
        self.watches[symbol.0 as usize].left.extend(lowest, highest);
        let may = left.saturating_sub(ended);
        let left = self.reach(symbol, [Some(rising_to(highest)), Some(falling_to(lowest))], may, events);
        self.move_behind(symbol, side.opposite(), last, events);
        self.look_out(symbol);
        (left, ended)
    }

    /// Moves the triggers of one side that follow an execution at this price.
    fn move_behind(&mut self, symbol: SymbolIndex, side: Side, price: Price, events: &mut impl FnMut(Event)) {
        let Stops { followed, stops, .. } = self;
        if let Some(following) = followed.get_mut(&(symbol, side))
            && following.follow(price, |stop, group| stops[stop].queue = group)
        {
            events(Event::TrailsMoved { symbol, side, price });
        }
    }

    /// Ends the following of the orders of one side whose triggers this price reaches: each joins the queue of its
    /// trigger, where nothing moves it any more, the oldest order first. Returns their number.
    fn end_following(
        &mut self,
        orders: &mut Orders,
        (symbol, side): (SymbolIndex, Side),
        price: Price,
        events: &mut impl FnMut(Event),
    ) -> u32 {
        let Some(following) = self.followed.get_mut(&(symbol, side)) else { return 0 };
        let mut reached: Vec<(Trigger, OrderId, u32)> = Vec::new();
        let stops = &self.stops;
        following.take_reached(price, |stop, trigger| {
            let slot = stops[stop].slot;
            reached.push((trigger, orders.get(slot).id, slot));
        });
        self.forget_if_empty(symbol, side);
        reached.sort_unstable();
        let ended = u32::try_from(reached.len()).unwrap_or(u32::MAX);
        for (trigger, order, slot) in reached {
            self.stops[orders.get(slot).level].trail = None;
            self.count_follower((symbol, orders.get(slot).account), false);
            let queue = self.queue_at(symbol, trigger);
            self.join(orders, slot, queue);
            events(Event::TrailReached { order, symbol, trigger });
        }
        ended
    }

    /// Visits the slots of the orders that follow a symbol's price, with their triggers, in no order that means
    /// anything.
    pub(crate) fn visit_trailing(&self, symbol: SymbolIndex, visit: &mut impl FnMut(u32, Trigger)) {
        let visit = &mut |stop, trigger| visit(self.stops[stop].slot, trigger);
        self.following(symbol).for_each(|following| following.visit(visit));
    }

    /// The slots of the orders that follow a symbol's price, in the order in which executions would reach them.
    pub(super) fn in_order(&self, orders: &Orders, symbol: SymbolIndex) -> Vec<u32> {
        let mut all = Vec::new();
        self.visit_trailing(symbol, &mut |slot, trigger| all.push((trigger, orders.get(slot).id, slot)));
        all.sort_unstable();
        all.into_iter().map(|(.., slot)| slot).collect()
    }
}
