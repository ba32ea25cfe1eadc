//! The books: for each symbol and side the price levels, best first, and on each level the open orders, oldest first.
//! Knows nothing of accounts.

use std::collections::BTreeMap;

use crate::amount::Price;
use crate::command::Side;
use crate::ids::SymbolIndex;
use crate::orders::Orders;
use crate::slab::{NONE, Slab};

/// Open orders of one symbol, side and limit, in order of age.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    pub(crate) price: Price,
    pub(crate) symbol: SymbolIndex,
    pub(crate) side: Side,
    pub(crate) oldest: u32,
    newest: u32,
}

/// Price levels of one side, best first: the lowest sell, the highest buy.
struct BookSide {
    levels: BTreeMap<Rank, u32>,
}

/// A price as one side ranks it: the better, the smaller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(i64);

impl Rank {
    fn of(side: Side, price: Price) -> Rank {
        match side {
            Side::Sell => Rank(price.units()),
            Side::Buy => Rank(price.units().wrapping_neg()),
        }
    }
}

/// The books of all symbols.
pub(crate) struct Books {
    sides: Vec<[BookSide; 2]>,
    levels: Slab<Level>,
}

fn index(side: Side) -> usize {
    match side {
        Side::Buy => 0,
        Side::Sell => 1,
    }
}

impl Books {
    pub(crate) fn new() -> Books {
        Books { sides: Vec::new(), levels: Slab::new() }
    }

    /// Adds the book of the next symbol.
    pub(crate) fn create(&mut self) {
        self.sides.push([BookSide { levels: BTreeMap::new() }, BookSide { levels: BTreeMap::new() }]);
    }

    /// The best level of a side.
    #[inline]
    pub(crate) fn best(&self, symbol: SymbolIndex, side: Side) -> Option<u32> {
        let levels = &self.sides[symbol.0 as usize][index(side)].levels;
        levels.first_key_value().map(|(_, &level)| level)
    }

    #[inline]
    pub(crate) fn level(&self, level: u32) -> &Level {
        &self.levels[level]
    }

    /// Puts an order at the end of the level of its limit.
    pub(crate) fn rest(&mut self, symbol: SymbolIndex, side: Side, limit: Price, slot: u32, orders: &mut Orders) {
        let by_rank = &mut self.sides[symbol.0 as usize][index(side)].levels;
        let levels = &mut self.levels;
        let level = *by_rank
            .entry(Rank::of(side, limit))
            .or_insert_with(|| levels.insert(Level { price: limit, symbol, side, oldest: NONE, newest: NONE }));
        let at = &mut levels[level];
        let older = at.newest;
        at.newest = slot;
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        let order = orders.get_mut(slot);
        (order.level, order.older, order.newer) = (level, older, NONE);
    }

    /// Takes an order off its level, and the level off its book when it was the last one there.
    pub(crate) fn remove(&mut self, slot: u32, orders: &mut Orders) {
        let order = orders.get_mut(slot);
        let (level, older, newer) = (order.level, order.older, order.newer);
        order.level = NONE;
        let at = &mut self.levels[level];
        match older {
            NONE => at.oldest = newer,
            older => orders.get_mut(older).newer = newer,
        }
        match newer {
            NONE => at.newest = older,
            newer => orders.get_mut(newer).older = older,
        }
        if at.oldest == NONE {
            let Level { symbol, side, price, .. } = *at;
            self.sides[symbol.0 as usize][index(side)].levels.remove(&Rank::of(side, price));
            self.levels.remove(level);
        }
    }

    /// Visits the slots of a side's open orders, best price first and oldest first within a price.
    pub(crate) fn walk(&self, symbol: SymbolIndex, side: Side, orders: &Orders, visit: &mut impl FnMut(&Level, u32)) {
        for &level in self.sides[symbol.0 as usize][index(side)].levels.values() {
            let level = &self.levels[level];
            let mut slot = level.oldest;
            while slot != NONE {
                visit(level, slot);
                slot = orders.get(slot).newer;
            }
        }
    }
}
