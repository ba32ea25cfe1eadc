//! The open orders of one symbol as price levels.

use std::collections::BTreeMap;

use engine::{Position, Price, Shares, Side};

use crate::orders::{In, List, Open, Orders};

/// All open orders of one side at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// What is open of them together.
    pub shares: Position,
    pub orders: u32,
    queue: List,
}

/// A price level as it stands after a change; without orders: it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    pub side: Side,
    pub limit: Price,
    pub shares: Position,
    pub orders: u32,
}

/// Both sides.
#[derive(Debug, Default)]
pub struct Book {
    buys: BTreeMap<Price, Level>,
    sells: BTreeMap<Price, Level>,
}

impl Book {
    /// Levels of a side, best first.
    pub fn levels(&self, side: Side) -> Box<dyn Iterator<Item = (Price, &Level)> + '_> {
        match side {
            Side::Buy => Box::new(self.buys.iter().rev().map(|(limit, level)| (*limit, level))),
            Side::Sell => Box::new(self.sells.iter().map(|(limit, level)| (*limit, level))),
        }
    }

    /// The best limit of a side.
    pub fn best(&self, side: Side) -> Option<Price> {
        match side {
            Side::Buy => self.buys.last_key_value(),
            Side::Sell => self.sells.first_key_value(),
        }
        .map(|(limit, _)| *limit)
    }

    /// How a level stands.
    pub fn level(&self, side: Side, limit: Price) -> LevelChange {
        let level = self.side(side).get(&limit);
        LevelChange {
            side,
            limit,
            shares: level.map_or(Position::ZERO, |level| level.shares),
            orders: level.map_or(0, |level| level.orders),
        }
    }

    /// Open orders of a side in the order in which they execute.
    pub(crate) fn queue<'a>(&'a self, orders: &'a Orders, side: Side) -> impl Iterator<Item = &'a Open> {
        self.levels(side).flat_map(|(_, level)| orders.forwards(level.queue, In::Queue))
    }

    /// Puts an order behind those of its level.
    pub(crate) fn rest(&mut self, orders: &mut Orders, slot: u32) {
        let Open { side, limit, open, .. } = *orders.get(slot);
        let empty = Level { shares: Position::ZERO, orders: 0, queue: List::default() };
        let level = self.side_mut(side).entry(limit).or_insert(empty);
        level.shares = level.shares.plus(open.position());
        level.orders += 1;
        orders.append(&mut level.queue, In::Queue, slot);
    }

    /// Takes shares of an order off its level, and the order too when nothing is left of it. The order's own `open` is
    /// its owner's to change.
    pub(crate) fn take(&mut self, orders: &mut Orders, slot: u32, shares: Shares, leaves: bool) {
        let Open { side, limit, .. } = *orders.get(slot);
        let levels = self.side_mut(side);
        let Some(level) = levels.get_mut(&limit) else { return };
        level.shares = level.shares.minus(shares.position());
        if leaves {
            level.orders -= 1;
            orders.unlink(&mut level.queue, In::Queue, slot);
            if level.queue.is_empty() {
                levels.remove(&limit);
            }
        }
    }

    fn side(&self, side: Side) -> &BTreeMap<Price, Level> {
        match side {
            Side::Buy => &self.buys,
            Side::Sell => &self.sells,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<Price, Level> {
        match side {
            Side::Buy => &mut self.buys,
            Side::Sell => &mut self.sells,
        }
    }
}
