//! Orders that were reached and wait for their turn. They come in the order in which they were reached. Those of a
//! symbol that is not open keep their places, and nobody walks over them meanwhile: each symbol has queues of its own,
//! and among symbols comes first whose first queue was reached first.

use std::collections::BTreeMap;

use super::{Queue, Stops};
use crate::command::{NewOrder, Trigger};
use crate::ids::SymbolIndex;
use crate::orders::Orders;
use crate::slab::NONE;

/// The queues of one symbol, by their ranks.
#[derive(Default)]
struct SymbolTurns {
    queues: BTreeMap<u64, u32>,
    orders: usize,
    /// Whether the symbol is not open.
    is_held_back: bool,
    /// The rank that the symbol has among all; none if its orders have no turn now.
    rank: Option<u64>,
}

/// All queues whose orders wait for their turn. None of them is empty.
pub(super) struct Turns {
    of_symbol: BTreeMap<SymbolIndex, SymbolTurns>,
    /// The symbols whose orders have turns, by the ranks of their first queues.
    symbols: BTreeMap<u64, SymbolIndex>,
    next_rank: u64,
    /// The queue that got the last rank, or `NONE`: it can take in others.
    last: u32,
    /// How many orders have turns: those that are held back have none.
    orders: usize,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { of_symbol: BTreeMap::new(), symbols: BTreeMap::new(), next_rank: 0, last: NONE, orders: 0 }
    }

    /// The queues in the order of their ranks.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let of_symbol = self.of_symbol.values().flat_map(|turns| &turns.queues);
        let mut all: Vec<(u64, u32)> = of_symbol.map(|(&rank, &queue)| (rank, queue)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, queue)| queue).collect()
    }

    /// The queues of a symbol.
    pub(super) fn of_symbol(&self, symbol: SymbolIndex) -> impl Iterator<Item = u32> {
        self.of_symbol.get(&symbol).into_iter().flat_map(|turns| turns.queues.values().copied())
    }

    /// So many orders more of a symbol wait for their turn.
    fn add(&mut self, symbol: SymbolIndex, orders: usize) {
        let turns = self.of_symbol.entry(symbol).or_default();
        turns.orders = turns.orders.saturating_add(orders);
        if !turns.is_held_back {
            self.orders = self.orders.saturating_add(orders);
        }
    }

    /// One order of a symbol fewer does.
    fn take(&mut self, symbol: SymbolIndex) {
        let turns = self.of_symbol.entry(symbol).or_default();
        turns.orders = turns.orders.saturating_sub(1);
        if !turns.is_held_back {
            self.orders = self.orders.saturating_sub(1);
        }
    }

    /// Puts a symbol where its first queue has it stand.
    fn rank(&mut self, symbol: SymbolIndex) {
        let Some(turns) = self.of_symbol.get_mut(&symbol) else { return };
        let first = turns.queues.first_key_value().map(|(&rank, _)| rank).filter(|_| !turns.is_held_back);
        if first != turns.rank {
            if let Some(rank) = std::mem::replace(&mut turns.rank, first) {
                self.symbols.remove(&rank);
            }
            if let Some(rank) = first {
                self.symbols.insert(rank, symbol);
            }
        }
        if turns.orders == 0 && !turns.is_held_back {
            self.of_symbol.remove(&symbol);
        }
    }

    fn hold_back(&mut self, symbol: SymbolIndex, is_held_back: bool) {
        let turns = self.of_symbol.entry(symbol).or_default();
        if std::mem::replace(&mut turns.is_held_back, is_held_back) != is_held_back {
            self.orders = match is_held_back {
                true => self.orders.saturating_sub(turns.orders),
                false => self.orders.saturating_add(turns.orders),
            };
        }
        self.rank(symbol);
    }
}

impl Stops {
    /// Orders that were reached and are not active yet, but for those that are held back.
    #[inline]
    pub(crate) fn reached_orders(&self) -> usize {
        self.turns.orders
    }

    /// A symbol is not open any more: its orders that were reached keep their places, and are not activated.
    pub(crate) fn hold_back(&mut self, symbol: SymbolIndex) {
        self.turns.hold_back(symbol, true);
    }

    /// And no longer.
    pub(crate) fn let_go(&mut self, symbol: SymbolIndex) {
        self.turns.hold_back(symbol, false);
    }

    /// Takes out the order that was reached first of those that are not held back, and gives what it is to become.
    pub(crate) fn next_reached(&mut self, orders: &mut Orders) -> Option<(u32, NewOrder<SymbolIndex>)> {
        let (_, symbol) = self.turns.symbols.first_key_value()?;
        let (_, &queue) = self.turns.of_symbol.get(symbol)?.queues.first_key_value()?;
        let slot = self.queues[queue].oldest;
        let placed = self.placed(orders, slot);
        self.remove(orders, slot);
        Some((slot, placed))
    }

    /// Has an order wait whose trigger was reached, behind all those.
    pub(crate) fn wait_reached(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trigger: Trigger,
    ) {
        let symbol = placed.symbol;
        let last = Some(self.turns.last).filter(|&last| last != NONE);
        let is_its = |queue: &Queue| queue.symbol == symbol && queue.trigger == trigger;
        match last.filter(|&last| is_its(&self.queues[last])) {
            Some(queue) => {
                self.append(orders, slot, placed, queue);
                self.turns.add(symbol, 1);
            }
            None => {
                let queue = self.queues.insert(Queue::new(symbol, trigger));
                self.append(orders, slot, placed, queue);
                self.give_turn(queue);
            }
        }
    }

    /// The orders of a queue wait for their turn from now on.
    pub(super) fn give_turn(&mut self, queue: u32) {
        let rank = self.turns.next_rank;
        self.turns.next_rank = rank.saturating_add(1);
        self.turns.last = queue;
        let at = &mut self.queues[queue];
        at.rank = Some(rank);
        let (symbol, orders) = (at.symbol, at.orders as usize);
        self.turns.add(symbol, orders);
        self.turns.of_symbol.entry(symbol).or_default().queues.insert(rank, queue);
        self.turns.rank(symbol);
    }

    /// An order left a queue whose orders wait for their turn. The queue goes with the last one.
    pub(super) fn leave_turn(&mut self, queue: u32, symbol: SymbolIndex, rank: u64) {
        self.turns.take(symbol);
        if self.queues[queue].oldest == NONE {
            self.turns.of_symbol.entry(symbol).or_default().queues.remove(&rank);
            if self.turns.last == queue {
                self.turns.last = NONE;
            }
            self.queues.remove(queue);
        }
        self.turns.rank(symbol);
    }
}
