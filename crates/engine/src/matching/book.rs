//! The books: for each symbol and side the price levels, best first, and on each level the open orders, oldest first.
//! Knows nothing of accounts.

use std::collections::BTreeMap;

use slots::{NONE, Slab};
use terms::{NewOrder, Position, Price, Shares, Side, SymbolIndex};

use crate::orders::state::{Order, Orders};

/// Open orders of one symbol, side and limit, in order of age.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    pub(crate) price: Price,
    pub(crate) symbol: SymbolIndex,
    pub(crate) side: Side,
    pub(crate) oldest: u32,
    pub(crate) newest: u32,
    /// All open shares of the level, shown or hidden.
    pub(crate) open: Position,
}

/// Price levels of one side, best first: the lowest sell, the highest buy.
struct BookSide {
    levels: BTreeMap<Rank, u32>,
    /// The first level, or `NONE`.
    best: u32,
}

/// A price in the order in which one side ranks it: the better, the smaller.
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
    /// The place where the level of a limit was last found, by the limit's hash: a guess that every use checks.
    guesses: Box<[u32]>,
}

/// The number of guesses kept: 256 KiB, enough for the levels to which a busy market returns.
const GUESSES: usize = 1 << 16;

/// The place of a limit's guess.
fn guess_at(symbol: SymbolIndex, side: Side, limit: Price) -> usize {
    let limit = (limit.units() as u64).wrapping_mul(2).wrapping_add(index(side) as u64);
    let mixed = (limit ^ (u64::from(symbol.0) << 48)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 48) as usize & (GUESSES - 1)
}

fn index(side: Side) -> usize {
    match side {
        Side::Buy => 0,
        Side::Sell => 1,
    }
}

impl Books {
    pub(crate) fn new() -> Books {
        Books { sides: Vec::new(), levels: Slab::new(), guesses: vec![NONE; GUESSES].into_boxed_slice() }
    }

    /// Adds the book of the next symbol.
    pub(crate) fn create(&mut self) {
        let empty = || BookSide { levels: BTreeMap::new(), best: NONE };
        self.sides.push([empty(), empty()]);
    }

    /// The best level of a side.
    #[inline]
    pub(crate) fn best(&self, symbol: SymbolIndex, side: Side) -> Option<u32> {
        let best = self.sides[symbol.0 as usize][index(side)].best;
        (best != NONE).then_some(best)
    }

    /// The levels of a side, best first.
    pub(crate) fn levels(&self, symbol: SymbolIndex, side: Side) -> impl Iterator<Item = &Level> {
        self.sides[symbol.0 as usize][index(side)].levels.values().map(|&level| &self.levels[level])
    }

    #[inline]
    pub(crate) fn level(&self, level: u32) -> &Level {
        &self.levels[level]
    }

    /// Puts an order at the end of the level of its limit, and adds its open shares to that level.
    pub(crate) fn rest(
        &mut self,
        (symbol, side, limit): (SymbolIndex, Side, Price),
        slot: u32,
        open: Shares,
        orders: &mut Orders,
    ) {
        let level = self.level_of(symbol, side, limit);
        let at = &mut self.levels[level];
        at.open = at.open.plus(open.position());
        let older = at.newest;
        at.newest = slot;
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        let order = orders.get_mut(slot);
        (order.level, order.older, order.newer) = (level, older, NONE);
    }

    /// Moves an order behind the others of its level.
    pub(crate) fn stand_last(&mut self, slot: u32, orders: &mut Orders) {
        let Order { level, older, newer, .. } = *orders.get(slot);
        if newer == NONE {
            return;
        }
        let at = &mut self.levels[level];
        match older {
            NONE => at.oldest = newer,
            older => orders.get_mut(older).newer = newer,
        }
        orders.get_mut(newer).older = older;
        let last = std::mem::replace(&mut at.newest, slot);
        orders.get_mut(last).newer = slot;
        let order = orders.get_mut(slot);
        (order.older, order.newer) = (last, NONE);
    }

    /// Takes shares that are no longer open off the sum of a level. Their order keeps its place.
    #[inline]
    pub(crate) fn take(&mut self, level: u32, shares: Shares) {
        let at = &mut self.levels[level];
        at.open = at.open.minus(shares.position());
    }

    /// Finds the level of a limit, or makes it.
    fn level_of(&mut self, symbol: SymbolIndex, side: Side, limit: Price) -> u32 {
        let guess = &mut self.guesses[guess_at(symbol, side, limit)];
        if *guess != NONE {
            let level = &self.levels[*guess];
            if level.price == limit && level.side == side && level.symbol == symbol && level.oldest != NONE {
                return *guess;
            }
        }
        let levels = &mut self.levels;
        let book_side = &mut self.sides[symbol.0 as usize][index(side)];
        let rank = Rank::of(side, limit);
        *guess = *book_side.levels.entry(rank).or_insert_with(|| {
            let level =
                levels.insert(Level { price: limit, symbol, side, oldest: NONE, newest: NONE, open: Position::ZERO });
            if book_side.best == NONE || rank < Rank::of(side, levels[book_side.best].price) {
                book_side.best = level;
            }
            level
        });
        *guess
    }

    /// The place where the level of a limit may be.
    #[inline]
    pub(crate) fn guess(&self, symbol: SymbolIndex, side: Side, limit: Price) -> u32 {
        self.guesses[guess_at(symbol, side, limit)]
    }

    /// Takes an order and its open shares off its level, and a level without orders off its book.
    pub(crate) fn remove(&mut self, slot: u32, open: Shares, orders: &mut Orders) {
        let order = orders.get_mut(slot);
        let (level, older, newer) = (order.level, order.older, order.newer);
        order.level = NONE;
        let at = &mut self.levels[level];
        at.open = at.open.minus(open.position());
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
            let book_side = &mut self.sides[symbol.0 as usize][index(side)];
            book_side.levels.remove(&Rank::of(side, price));
            if book_side.best == level {
                book_side.best = book_side.levels.first_key_value().map_or(NONE, |(_, &next)| next);
            }
            self.levels.remove(level);
        }
    }

    /// Puts an order that was removed back between the neighbours that it had. Nothing else of its level has changed
    /// since. `placed` has its open shares.
    pub(crate) fn put_back(&mut self, slot: u32, placed: &NewOrder<SymbolIndex>, orders: &mut Orders) {
        let level = self.level_of(placed.symbol, placed.side, placed.limit);
        let order = orders.get_mut(slot);
        order.level = level;
        let (older, newer) = (order.older, order.newer);
        let at = &mut self.levels[level];
        at.open = at.open.plus(placed.shares.position());
        match older {
            NONE => at.oldest = slot,
            older => orders.get_mut(older).newer = slot,
        }
        match newer {
            NONE => at.newest = slot,
            newer => orders.get_mut(newer).older = slot,
        }
    }

    /// Visits the slots of a side's open orders, best price first and oldest first within a price.
    pub(crate) fn walk(&self, symbol: SymbolIndex, side: Side, orders: &Orders, visit: &mut impl FnMut(&Level, u32)) {
        for level in self.levels(symbol, side) {
            let mut slot = level.oldest;
            while slot != NONE {
                visit(level, slot);
                slot = orders.get(slot).newer;
            }
        }
    }
}
