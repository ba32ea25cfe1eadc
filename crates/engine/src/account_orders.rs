//! Finds the open orders of an account, for commands that end all of them. Knows nothing of books, prices or money.
//!
//! An order does not know the others of its account: a list of them would cost every order memory, and every cancel two waits for
//! memory more. So nothing is kept here until somebody asks. Then the orders are entered that were placed since somebody asked the last
//! time. Each is looked at once, so whatever is asked in whatever order costs a few steps for each order that was ever placed, 60 ns or
//! so, and asking again costs nothing. So the first question after a start takes some 60 ms with a million open orders, and no other one takes
//! that long before as many more were placed. What an account has is sorted by symbol when its orders of one symbol are asked for, once for
//! each order, too. Who asks gets the orders to end them, so they are taken out. Entries of orders that ended otherwise are dropped where
//! they are met, and all at once when there are twice as many entries as slots: 16 bytes each, in markets where somebody asks.

use std::collections::BTreeMap;

use crate::ids::{AccountIndex, OrderId, SymbolIndex};
use crate::orders::Orders;
use crate::slab::{NONE, Slab};

/// So many entries are not worth beginning anew for.
const FEW: usize = 4_096;

/// An order that was open when it was entered.
#[derive(Clone, Copy)]
struct Entry {
    order: OrderId,
    slot: u32,
    /// The next one of its list.
    next: u32,
}

/// The open orders by account, as far as they were entered.
pub(crate) struct AccountOrders {
    entries: Slab<Entry>,
    /// By account the first of its orders that are not sorted by symbol.
    unsorted: Vec<u32>,
    sorted: BTreeMap<(AccountIndex, SymbolIndex), u32>,
    /// Orders from here on were not entered yet.
    next: OrderId,
}

impl Default for AccountOrders {
    fn default() -> AccountOrders {
        AccountOrders::new()
    }
}

impl AccountOrders {
    pub(crate) fn new() -> AccountOrders {
        AccountOrders { entries: Slab::new(), unsorted: Vec::new(), sorted: BTreeMap::new(), next: OrderId(1) }
    }

    /// Enters what was placed since the last time. `next` is the id of the order that is placed next.
    pub(crate) fn enter_new(&mut self, orders: &Orders, next: OrderId) {
        let new = next.0.saturating_sub(self.next.0);
        let slots = orders.slots_used();
        if new > slots.into() || self.entries.len() > (slots as usize).saturating_mul(2).saturating_add(FEW) {
            *self = AccountOrders { next, ..AccountOrders::new() };
            for slot in 0..slots {
                self.enter(orders, slot);
            }
            return;
        }
        for order in self.next.0..next.0 {
            if let Some(slot) = orders.find(OrderId(order)) {
                self.enter(orders, slot);
            }
        }
        self.next = next;
    }

    fn enter(&mut self, orders: &Orders, slot: u32) {
        let order = orders.get(slot);
        // A slot that is free has nothing open.
        if order.open.is_zero() {
            return;
        }
        let account = order.account.0 as usize;
        if self.unsorted.len() <= account {
            self.unsorted.resize(account.saturating_add(1), NONE);
        }
        let first = &mut self.unsorted[account];
        *first = self.entries.insert(Entry { order: order.id, slot, next: *first });
    }

    /// Takes out the open orders of an account, of one symbol or of all, and gives their ids and slots, the oldest first. `symbol_of` says
    /// the symbol of an order by its slot.
    pub(crate) fn take(
        &mut self,
        orders: &Orders,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        symbol_of: impl Fn(u32) -> SymbolIndex,
    ) -> Vec<(OrderId, u32)> {
        let mut found = Vec::new();
        match symbol {
            Some(symbol) => {
                self.sort(orders, account, symbol_of);
                let first = self.sorted.remove(&(account, symbol));
                self.take_list(orders, first, &mut found);
            }
            None => {
                let unsorted = self.unsorted.get_mut(account.0 as usize).map(|first| std::mem::replace(first, NONE));
                self.take_list(orders, unsorted, &mut found);
                for of in self.symbols_of(account) {
                    let first = self.sorted.remove(&of);
                    self.take_list(orders, first, &mut found);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether an account has an open order, of one symbol or at all.
    pub(crate) fn has_any(
        &mut self,
        orders: &Orders,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        symbol_of: impl Fn(u32) -> SymbolIndex,
    ) -> bool {
        // Sorted, all that is left are lists by symbol: what is dropped of them is dropped for good.
        self.sort(orders, account, symbol_of);
        let symbols = match symbol {
            Some(symbol) => vec![(account, symbol)],
            None => self.symbols_of(account),
        };
        symbols.into_iter().any(|of| self.has_one(orders, of))
    }

    fn has_one(&mut self, orders: &Orders, of: (AccountIndex, SymbolIndex)) -> bool {
        let Some(mut first) = self.sorted.get(&of).copied() else { return false };
        while first != NONE {
            let entry = self.entries[first];
            if is_open(orders, &entry) {
                self.sorted.insert(of, first);
                return true;
            }
            self.entries.remove(first);
            first = entry.next;
        }
        self.sorted.remove(&of);
        false
    }

    /// Enters orders again that were taken out and go on being open.
    pub(crate) fn put_back(&mut self, orders: &Orders, found: &[(OrderId, u32)]) {
        found.iter().for_each(|&(_, slot)| self.enter(orders, slot));
    }

    fn symbols_of(&self, account: AccountIndex) -> Vec<(AccountIndex, SymbolIndex)> {
        let all = (account, SymbolIndex(0))..=(account, SymbolIndex(u32::MAX));
        self.sorted.range(all).map(|(&of, _)| of).collect()
    }

    /// Sorts what an account has by symbol.
    fn sort(&mut self, orders: &Orders, account: AccountIndex, symbol_of: impl Fn(u32) -> SymbolIndex) {
        let unsorted = self.unsorted.get_mut(account.0 as usize).map(|first| std::mem::replace(first, NONE));
        let mut found = Vec::new();
        self.take_list(orders, unsorted, &mut found);
        for (order, slot) in found {
            let first = self.sorted.entry((account, symbol_of(slot))).or_insert(NONE);
            *first = self.entries.insert(Entry { order, slot, next: *first });
        }
    }

    /// Frees the entries of a list, and gives those whose orders are open still.
    fn take_list(&mut self, orders: &Orders, first: Option<u32>, found: &mut Vec<(OrderId, u32)>) {
        let mut next = first.unwrap_or(NONE);
        while next != NONE {
            let entry = self.entries[next];
            if is_open(orders, &entry) {
                found.push((entry.order, entry.slot));
            }
            self.entries.remove(next);
            next = entry.next;
        }
    }
}

/// Whether the order that was entered is open: its slot may be another one's by now.
fn is_open(orders: &Orders, entry: &Entry) -> bool {
    let order = orders.get(entry.slot);
    order.id == entry.order && !order.open.is_zero()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::amount::Shares;
    use crate::ids::Time;

    /// Orders of 5 accounts and 3 symbols that come and go, of which now and then all of an account and symbol are taken, beside a plain list.
    #[test]
    fn it_gives_what_is_open_however_orders_came_and_went_and_does_not_grow() {
        let (mut orders, mut found) = (Orders::new(), AccountOrders::new());
        let mut open: BTreeMap<OrderId, (AccountIndex, SymbolIndex, u32)> = BTreeMap::new();
        let mut symbols: Vec<SymbolIndex> = Vec::new();
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for id in (1..=200_000).map(OrderId) {
            let (account, symbol) = (AccountIndex(draw(5) as u32), SymbolIndex(draw(3) as u32));
            let slot = orders.insert(id, account, Shares::from_units(1).expect("not negative"));
            symbols.resize(symbols.len().max(slot as usize + 1), symbol);
            symbols[slot as usize] = symbol;
            open.insert(id, (account, symbol, slot));
            if open.len() > 300 {
                let gone = *open.keys().nth(draw(open.len() as u64) as usize).expect("there are so many");
                let (.., slot) = open.remove(&gone).expect("it is open");
                orders.cancel(slot, Time::ZERO);
                orders.remove(gone);
            }
            // For a long time nobody asks, and then for one account alone.
            if id.0 < 50_000 || (draw(100) > 0 && id.0 > 100_000) {
                continue;
            }
            let account = AccountIndex(if id.0 < 150_000 { 0 } else { draw(6) as u32 });
            let symbol = Some(SymbolIndex(draw(4) as u32)).filter(|_| draw(2) == 0);
            let is_meant = |&(other, of, _): &(AccountIndex, SymbolIndex, u32)| {
                other == account && symbol.is_none_or(|symbol| symbol == of)
            };
            let expected: Vec<(OrderId, u32)> =
                open.iter().filter(|(_, order)| is_meant(order)).map(|(&id, &(.., slot))| (id, slot)).collect();
            let symbol_of = |slot: u32| symbols[slot as usize];
            found.enter_new(&orders, OrderId(id.0 + 1));
            if draw(2) == 0 {
                assert_eq!(found.has_any(&orders, account, symbol, symbol_of), !expected.is_empty(), "{id}");
            }
            assert_eq!(found.take(&orders, account, symbol, symbol_of), expected, "{id}");
            for (gone, slot) in expected {
                open.remove(&gone);
                orders.cancel(slot, Time::ZERO);
                orders.remove(gone);
            }
            assert!(found.entries.len() <= 2 * orders.slots_used() as usize + FEW + 1, "{}", found.entries.len());
        }
    }
}
