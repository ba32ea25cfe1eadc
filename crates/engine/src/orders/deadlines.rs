//! Deadlines of orders: which of them ends next. This file knows nothing of books, accounts or holds.

use std::collections::{BTreeMap, BTreeSet};

use terms::{Deadline, OrderId, SymbolIndex, Time};

/// The deadlines of open orders.
pub(crate) struct Deadlines {
    by_time: BTreeSet<(Deadline, OrderId)>,
    by_symbol: BTreeSet<(SymbolIndex, Time, OrderId)>,
    of_order: BTreeMap<OrderId, (Deadline, SymbolIndex)>,
}

impl Deadlines {
    pub(crate) fn new() -> Deadlines {
        Deadlines { by_time: BTreeSet::new(), by_symbol: BTreeSet::new(), of_order: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }

    pub(crate) fn of(&self, order: OrderId) -> Option<Deadline> {
        // As in `next_passed`: few markets have deadlines, and the others should not pay for the search.
        if self.is_empty() { None } else { self.of_order.get(&order).map(|&(until, _)| until) }
    }

    /// The order that ends next, and its deadline.
    pub(crate) fn next(&self) -> Option<(Deadline, OrderId)> {
        self.by_time.first().copied()
    }

    /// The next order whose deadline has passed at this time.
    #[inline]
    pub(crate) fn next_passed(&self, now: Time) -> Option<OrderId> {
        if self.is_empty() {
            return None;
        }
        self.next().filter(|(until, _)| until.time() <= now).map(|(_, order)| order)
    }

    /// The next order of a symbol whose deadline has come by this time.
    pub(crate) fn next_passed_in(&self, symbol: SymbolIndex, now: Time) -> Option<OrderId> {
        let passed = (symbol, Time::ZERO, OrderId(0))..=(symbol, now, OrderId(u64::MAX));
        self.by_symbol.range(passed).next().map(|&(.., order)| order)
    }

    /// Gives an open order of a symbol a deadline. It has none.
    pub(crate) fn insert(&mut self, order: OrderId, symbol: SymbolIndex, until: Deadline) {
        self.by_time.insert((until, order));
        self.by_symbol.insert((symbol, until.time(), order));
        self.of_order.insert(order, (until, symbol));
    }

    /// Drops the deadline of a done order, if it had one.
    pub(crate) fn remove(&mut self, order: OrderId) {
        if let Some((until, symbol)) = self.of_order.remove(&order) {
            self.by_time.remove(&(until, order));
            self.by_symbol.remove(&(symbol, until.time(), order));
        }
    }

    /// All deadlines, the earliest first, at one time by order id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Deadline, OrderId)> {
        self.by_time.iter().copied()
    }
}
