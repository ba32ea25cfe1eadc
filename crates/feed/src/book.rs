//! The open orders of one symbol as price levels. A hash table finds a level by its limit. Trees, whose look-ups take
//! many steps, only keep the order of the levels: they change when a level is added or removed.

use std::collections::BTreeMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use slots::SplittingTable;
use terms::{AuctionLevel, Position, Price, Shares, Side};

use crate::orders::{In, List, Open, Orders, Terms};

/// All open orders of one side at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    side: Side,
    limit: Price,
    /// Shares that the orders show together.
    pub shares: Position,
    pub orders: u32,
    queue: List,
}

/// A price level after a change. A level without orders is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    pub side: Side,
    pub limit: Price,
    pub shares: Position,
    pub orders: u32,
}

/// The levels of both sides.
#[derive(Debug, Default)]
pub struct Book {
    levels: Vec<Level>,
    /// Slots in `levels` that are not used.
    free: Vec<u32>,
    by_limit: SplittingTable<u32>,
    /// Clients choose limits: a seed that they do not know keeps them from choosing limits that collide.
    hasher: RandomState,
    buys: BTreeMap<Price, u32>,
    sells: BTreeMap<Price, u32>,
    /// Shares that the orders of a level hide, for levels with any.
    hidden: BTreeMap<(Side, Price), Position>,
    /// Shares of market orders for an auction, for levels with any.
    market: BTreeMap<(Side, Price), Position>,
    /// The number of changes of the shares at a limit so far.
    pub(crate) changes: u64,
}

impl Book {
    /// Lists the levels of a side, best first.
    pub fn levels(&self, side: Side) -> Box<dyn Iterator<Item = (Price, &Level)> + '_> {
        match side {
            Side::Buy => Box::new(self.buys.iter().rev().map(|(limit, at)| (*limit, &self.levels[*at as usize]))),
            Side::Sell => Box::new(self.sells.iter().map(|(limit, at)| (*limit, &self.levels[*at as usize]))),
        }
    }

    /// Returns the number of levels of both sides.
    pub fn count(&self) -> usize {
        self.buys.len() + self.sells.len()
    }

    /// Returns the best limit of a side.
    pub fn best(&self, side: Side) -> Option<Price> {
        match side {
            Side::Buy => self.buys.last_key_value(),
            Side::Sell => self.sells.first_key_value(),
        }
        .map(|(limit, _)| *limit)
    }

    /// Returns whether more than this many limits of a side cross the best limit of the other one.
    pub(crate) fn crosses_more_than(&self, most: usize) -> bool {
        let limits = |side| self.levels(side).map(|(limit, _)| limit);
        cross_more_than(limits(Side::Buy), limits(Side::Sell), most)
    }

    /// Returns the state of a level.
    pub fn level(&self, side: Side, limit: Price) -> LevelChange {
        let level = self.find(side, limit).map(|at| &self.levels[at as usize]);
        LevelChange {
            side,
            limit,
            shares: level.map_or(Position::ZERO, |level| level.shares),
            orders: level.map_or(0, |level| level.orders),
        }
    }

    /// Lists the open orders of a side in the order in which they execute.
    pub(crate) fn queue<'a>(&'a self, orders: &'a Orders, side: Side) -> impl Iterator<Item = Open> {
        self.levels(side).flat_map(|(_, level)| orders.forwards(level.queue, In::Queue))
    }

    /// Returns the slot of a level's last order.
    pub(crate) fn newest(&self, side: Side, limit: Price) -> Option<u32> {
        self.levels[self.find(side, limit)? as usize].queue.newest()
    }

    /// Puts an order behind those of its level.
    pub(crate) fn rest(&mut self, orders: &mut Orders, slot: u32) {
        let (Terms { side, limit, .. }, shown) = (orders.terms(slot), orders.shown(slot));
        let at = self.find(side, limit).unwrap_or_else(|| self.add(side, limit));
        let level = &mut self.levels[at as usize];
        self.changes += 1;
        level.shares = level.shares.plus(shown.position());
        level.orders += 1;
        orders.append(&mut level.queue, In::Queue, slot);
    }

    /// Moves an order behind the others of its level.
    pub(crate) fn stand_last(&mut self, orders: &mut Orders, slot: u32) {
        let Terms { side, limit, .. } = orders.terms(slot);
        let Some(at) = self.find(side, limit) else { return };
        let level = &mut self.levels[at as usize];
        orders.unlink(&mut level.queue, In::Queue, slot);
        orders.append(&mut level.queue, In::Queue, slot);
    }

    /// Adds shares that a resting order shows from now on.
    pub(crate) fn show(&mut self, orders: &Orders, slot: u32, shares: Shares) {
        let Terms { side, limit, .. } = orders.terms(slot);
        let Some(at) = self.find(side, limit) else { return };
        let level = &mut self.levels[at as usize];
        self.changes += 1;
        level.shares = level.shares.plus(shares.position());
    }

    /// Takes shares of an order off its level, and the order too if it `leaves`. The caller changes the order's own
    /// `open`.
    pub(crate) fn take(&mut self, orders: &mut Orders, slot: u32, shares: Shares, leaves: bool) {
        let Terms { side, limit, .. } = orders.terms(slot);
        let Some(at) = self.find(side, limit) else { return };
        let level = &mut self.levels[at as usize];
        self.changes += 1;
        level.shares = level.shares.minus(shares.position());
        if leaves {
            level.orders -= 1;
            orders.unlink(&mut level.queue, In::Queue, slot);
            if level.queue.is_empty() {
                self.remove(at);
            }
        }
    }

    /// Returns how many shares the orders of a level hide. Only their accounts see them, but the price of an auction
    /// counts them.
    pub(crate) fn hidden(&self, side: Side, limit: Price) -> Position {
        self.hidden.get(&(side, limit)).copied().unwrap_or(Position::ZERO)
    }

    /// Adds to what the orders of a level hide; a negative number reduces it.
    pub(crate) fn hide(&mut self, side: Side, limit: Price, more: Position) {
        self.changes += 1;
        add(&mut self.hidden, (side, limit), more);
    }

    /// Whether market orders for an auction stand in it.
    pub(crate) fn has_market_orders(&self) -> bool {
        !self.market.is_empty()
    }

    /// Adds to the shares of market orders for an auction at a limit; a negative number reduces them.
    pub(crate) fn count_market(&mut self, side: Side, limit: Price, more: Position) {
        add(&mut self.market, (side, limit), more);
    }

    /// Lists the open shares of a side at each limit, hidden ones included, best first.
    pub(crate) fn auction_levels(&self, side: Side) -> impl Iterator<Item = AuctionLevel> {
        self.levels(side).map(move |(limit, level)| {
            let shares = level.shares.plus(self.hidden(side, limit));
            let is_market = self.market.get(&(side, limit)) == Some(&shares);
            AuctionLevel { limit, shares, is_market }
        })
    }

    fn find(&self, side: Side, limit: Price) -> Option<u32> {
        let same = |at: &u32| {
            let level = &self.levels[*at as usize];
            level.limit == limit && level.side == side
        };
        let hash = self.hasher.hash_one((side, limit));
        self.by_limit.of(hash).find(hash, same).copied()
    }

    /// Adds an empty level for a limit that has none.
    fn add(&mut self, side: Side, limit: Price) -> u32 {
        let level = Level { side, limit, shares: Position::ZERO, orders: 0, queue: List::default() };
        let at = match self.free.pop() {
            Some(at) => {
                self.levels[at as usize] = level;
                at
            }
            None => {
                self.levels.push(level);
                u32::try_from(self.levels.len() - 1).expect("invariant: there are fewer levels than orders")
            }
        };
        self.side_mut(side).insert(limit, at);
        let (levels, hasher) = (&self.levels, &self.hasher);
        let hash = |at: &u32| {
            let level = &levels[*at as usize];
            hasher.hash_one((level.side, level.limit))
        };
        self.by_limit.insert_unique(hasher.hash_one((side, limit)), at, hash);
        at
    }

    /// Removes a level without orders.
    fn remove(&mut self, at: u32) {
        let Level { side, limit, .. } = self.levels[at as usize];
        self.side_mut(side).remove(&limit);
        let hash = self.hasher.hash_one((side, limit));
        if let Ok(entry) = self.by_limit.of_mut(hash).find_entry(hash, |other| *other == at) {
            entry.remove();
        }
        self.free.push(at);
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<Price, u32> {
        match side {
            Side::Buy => &mut self.buys,
            Side::Sell => &mut self.sells,
        }
    }
}

/// Adds to the number at a limit, which has none while it is zero.
fn add(numbers: &mut BTreeMap<(Side, Price), Position>, limit: (Side, Price), more: Position) {
    let sum = numbers.get(&limit).copied().unwrap_or(Position::ZERO).plus(more);
    match sum == Position::ZERO {
        true => numbers.remove(&limit),
        false => numbers.insert(limit, sum),
    };
}

/// Returns whether more than `most` limits of a side cross the best limit of the other one. Both sides have the best
/// first. Of each it looks at those that cross, and at one more.
fn cross_more_than(bids: impl Iterator<Item = Price>, asks: impl Iterator<Item = Price>, most: usize) -> bool {
    let (mut bids, mut asks) = (bids.peekable(), asks.peekable());
    let (Some(best_bid), Some(best_ask)) = (bids.peek().copied(), asks.peek().copied()) else { return false };
    bids.take_while(|bid| *bid >= best_ask).nth(most).is_some()
        || asks.take_while(|ask| *ask <= best_bid).nth(most).is_some()
}

#[cfg(test)]
impl Book {
    /// Makes a book with levels at these prices, on which no order stands.
    pub(crate) fn of_limits(bids: impl Iterator<Item = Price>, asks: impl Iterator<Item = Price>) -> Book {
        let mut book = Book::default();
        for (side, limit) in bids.map(|bid| (Side::Buy, bid)).chain(asks.map(|ask| (Side::Sell, ask))) {
            book.add(side, limit);
        }
        book
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use super::*;

    /// 20,000 limits were passed each time although none crossed.
    #[test]
    fn only_limits_that_cross_are_looked_at_and_one_more_of_each_side() {
        let looks = |(bids, asks): (std::ops::Range<i64>, std::ops::Range<i64>), most: usize| {
            let looks = Cell::new(0);
            let count = |_: &Price| looks.set(looks.get() + 1);
            let price = |units| Price::from_units(units).unwrap();
            let crosses = cross_more_than(bids.rev().map(price).inspect(count), asks.map(price).inspect(count), most);
            (crosses, looks.get())
        };
        assert_eq!(looks((1..10_000, 10_000..20_000), 9), (false, 2), "none crosses");
        assert_eq!(looks((1..10_000, 9_996..20_000), 9), (false, 10), "four of each side");
        assert_eq!(looks((1..10_000, 5_000..20_000), 9), (true, 11), "ten bids and the best ask");
        assert_eq!(looks((1..10_000, 9_999..10_000), 9_999), (false, 3), "the asks end");
        assert_eq!(looks((0..0, 1..10_000), 0), (false, 1));
    }

    #[test]
    fn limits_that_cross_are_counted_of_either_side() {
        for many in [Side::Buy, Side::Sell] {
            let mut book = Book::default();
            assert!(!book.crosses_more_than(0));
            book.add(many.opposite(), Price::from_units(100).unwrap());
            for nth in 0..5 {
                let away = if many == Side::Buy { 100 + nth } else { 100 - nth };
                book.add(many, Price::from_units(away).unwrap());
            }
            book.add(many, Price::from_units(if many == Side::Buy { 99 } else { 101 }).unwrap());
            assert_eq!([4, 5].map(|most| book.crosses_more_than(most)), [true, false], "{many:?}");
        }
    }
}
