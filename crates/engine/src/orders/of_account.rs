//! Finds the open orders of an account, oldest first, for commands that end them. Does not know books, prices and
//! money.
//!
//! An order does not know the other orders of its account: a list of them would cost memory for every order, and every
//! cancel two more waits for memory. So nothing is kept here until a command asks. Then the orders that were placed
//! since the last question are entered, oldest first and no more than the answer needs. Each is looked at once, so all
//! questions together cost a few steps for each order that was ever placed, about 60 ns, and asking again costs
//! nothing. Where more than a quarter as many orders were placed since then as there are slots, for example after a
//! start, all open orders are entered at once: 60 ms for a million. An account's orders are sorted by symbol when its
//! orders of one symbol are asked for, each order once. The caller ends the orders that it gets, so they are taken out.
//! Entries of orders that ended otherwise are dropped when they are found, and all at once when there are twice as many
//! entries as slots. An entry has 16 bytes, in markets in which such commands occur.

#[cfg(test)]
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use slots::{NONE, Slab};
use terms::{AccountIndex, OrderId, SymbolIndex};

use crate::orders::state::Orders;

/// The number of entries below which beginning anew is not worth it.
const FEW: usize = 4_096;
/// The time to look an order up by its id, in times of that to read the next one of all.
const LOOK_COST: u64 = 4;

/// An order that was open when it was entered.
#[derive(Clone, Copy)]
struct Entry {
    order: OrderId,
    slot: u32,
    /// The next entry of its list.
    next: u32,
}

/// A list of entries, by order id.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List { first: NONE, last: NONE };
}

/// A question for the orders of an account.
#[derive(Clone, Copy)]
pub(crate) struct OrdersOf {
    pub(crate) account: AccountIndex,
    /// A symbol, or none for the orders of all symbols.
    pub(crate) symbol: Option<SymbolIndex>,
    /// The newest order that is asked for.
    pub(crate) through: OrderId,
}

/// Orders that were taken out, oldest first.
pub(crate) struct Taken {
    /// Their ids and slots.
    pub(crate) orders: Vec<(OrderId, u32)>,
    /// Whether there are more of the orders that were asked for.
    pub(crate) is_cut: bool,
}

/// The open orders by account, as far as they were entered.
pub(crate) struct AccountOrders {
    entries: Slab<Entry>,
    /// An account's orders that are not sorted by symbol, by account. They are newer than the sorted ones.
    unsorted: Vec<List>,
    sorted: BTreeMap<(AccountIndex, SymbolIndex), List>,
    /// The oldest entry of each list in `sorted`: a question for all symbols looks at no more lists than it takes
    /// orders.
    oldest: BTreeSet<(AccountIndex, OrderId, SymbolIndex)>,
    /// The first order that was not entered yet.
    next: OrderId,
    /// The lists of which it looked at the oldest order.
    #[cfg(test)]
    looks: Cell<usize>,
}

impl Default for AccountOrders {
    fn default() -> AccountOrders {
        AccountOrders::new()
    }
}

impl AccountOrders {
    pub(crate) fn new() -> AccountOrders {
        AccountOrders {
            entries: Slab::new(),
            unsorted: Vec::new(),
            sorted: BTreeMap::new(),
            oldest: BTreeSet::new(),
            next: OrderId(1),
            #[cfg(test)]
            looks: Cell::new(0),
        }
    }

    /// Begins anew if that costs less than continuing. `next` is the id of the order that is placed next.
    pub(crate) fn look_after(&mut self, orders: &Orders, next: OrderId) {
        let new = next.0.saturating_sub(self.next.0);
        let slots = orders.slots_used();
        let is_near = new.saturating_mul(LOOK_COST) <= u64::from(slots).saturating_add(FEW as u64);
        if is_near && self.entries.len() <= (slots as usize).saturating_mul(2).saturating_add(FEW) {
            return;
        }
        *self = AccountOrders { next, ..AccountOrders::new() };
        self.enter_all(orders);
    }

    /// Enters all open orders. Reads each once, in the order of their slots, and sorts those of each account by
    /// themselves: where orders were placed one after the other, these are sorted already.
    fn enter_all(&mut self, orders: &Orders) {
        let mut open: Vec<(OrderId, u32, AccountIndex)> = Vec::with_capacity(orders.len());
        // The number of each account's orders, and then the place behind the last one that was put down.
        let mut behind: Vec<u32> = Vec::new();
        for slot in 0..orders.slots_used() {
            let order = orders.get(slot);
            // Nothing is open in a free slot.
            if order.open.is_zero() {
                continue;
            }
            let account = order.account.0 as usize;
            if behind.len() <= account {
                behind.resize(account.saturating_add(1), 0);
            }
            behind[account] = behind[account].saturating_add(1);
            open.push((order.id, slot, order.account));
        }
        let mut begin = 0u32;
        for count in &mut behind {
            begin = begin.saturating_add(std::mem::replace(count, begin));
        }
        let mut by_account = vec![(OrderId(0), NONE); open.len()];
        for (order, slot, account) in open {
            let place = &mut behind[account.0 as usize];
            by_account[*place as usize] = (order, slot);
            *place = place.saturating_add(1);
        }
        let mut begin = 0;
        self.unsorted = Vec::with_capacity(behind.len());
        for end in behind {
            let of_one = &mut by_account[begin as usize..end as usize];
            of_one.sort_unstable();
            let mut list = List::EMPTY;
            of_one.iter().for_each(|&(order, slot)| self.append(&mut list, order, slot));
            self.unsorted.push(list);
            begin = end;
        }
    }

    /// Takes out at most `most` open orders of an account, oldest first. `symbol_of` gives the symbol of an order by
    /// its slot.
    pub(crate) fn take(
        &mut self,
        orders: &Orders,
        asked: OrdersOf,
        most: usize,
        symbol_of: impl Fn(u32) -> SymbolIndex,
    ) -> Taken {
        let mut taken = Taken { orders: Vec::new(), is_cut: false };
        while let Some(entry) = self.next_of(orders, asked, &symbol_of) {
            if taken.orders.len() < most && entry.order <= asked.through {
                taken.orders.push((entry.order, entry.slot));
                continue;
            }
            taken.is_cut = entry.order <= asked.through;
            self.put_first((asked.account, symbol_of(entry.slot)), entry);
            break;
        }
        taken
    }

    /// Whether any of the orders that are asked for is open, in whatever symbol. Looks at the oldest one.
    pub(crate) fn has_any(&mut self, orders: &Orders, asked: OrdersOf) -> bool {
        let OrdersOf { account, through, .. } = asked;
        // Orders that are not sorted are newer than all that are.
        while let Some((order, symbol)) = self.oldest_of(account) {
            if is_open(orders, &self.entries[self.sorted[&(account, symbol)].first]) {
                return order <= through;
            }
            self.pop_sorted((account, symbol));
        }
        loop {
            let first = self.unsorted.get(account.0 as usize).map_or(NONE, |list| list.first);
            if first == NONE {
                if self.enter_next(orders, asked) {
                    continue;
                }
                return false;
            }
            let entry = self.entries[first];
            if is_open(orders, &entry) {
                return entry.order <= through;
            }
            self.pop_unsorted(account);
        }
    }

    /// Enters open orders of accounts that have no entries, oldest first.
    pub(crate) fn put_back(&mut self, orders: &Orders, found: &[(OrderId, u32)]) {
        found.iter().for_each(|&(_, slot)| self.enter(orders, slot));
    }

    /// Takes out the oldest order.
    fn next_of(&mut self, orders: &Orders, asked: OrdersOf, symbol_of: &impl Fn(u32) -> SymbolIndex) -> Option<Entry> {
        let account = asked.account;
        loop {
            let sorted = asked.symbol.or_else(|| self.oldest_of(account).map(|(_, symbol)| symbol));
            if let Some(symbol) = sorted
                && let Some(entry) = self.pop_sorted((account, symbol))
            {
                if is_open(orders, &entry) {
                    return Some(entry);
                }
                continue;
            }
            let Some(entry) = self.pop_unsorted(account) else {
                if self.enter_next(orders, asked) {
                    continue;
                }
                return None;
            };
            if !is_open(orders, &entry) {
                continue;
            }
            let symbol = symbol_of(entry.slot);
            if asked.symbol.is_none_or(|asked| asked == symbol) {
                return Some(entry);
            }
            let mut list = self.sorted.get(&(account, symbol)).copied().unwrap_or(List::EMPTY);
            if list.first == NONE {
                self.oldest.insert((account, entry.order, symbol));
            }
            self.append(&mut list, entry.order, entry.slot);
            self.sorted.insert((account, symbol), list);
        }
    }

    /// Enters orders until one of the account has been entered. Returns whether there was one.
    fn enter_next(&mut self, orders: &Orders, asked: OrdersOf) -> bool {
        while self.next <= asked.through {
            let order = self.next;
            self.next = OrderId(order.0.saturating_add(1));
            if let Some(slot) = orders.find(order) {
                self.enter(orders, slot);
                if orders.get(slot).account == asked.account {
                    return true;
                }
            }
        }
        false
    }

    fn enter(&mut self, orders: &Orders, slot: u32) {
        let order = orders.get(slot);
        // Nothing is open in a free slot.
        if order.open.is_zero() {
            return;
        }
        let account = order.account.0 as usize;
        if self.unsorted.len() <= account {
            self.unsorted.resize(account.saturating_add(1), List::EMPTY);
        }
        let mut list = self.unsorted[account];
        self.append(&mut list, order.id, slot);
        self.unsorted[account] = list;
    }

    fn append(&mut self, list: &mut List, order: OrderId, slot: u32) {
        let entry = self.entries.insert(Entry { order, slot, next: NONE });
        match std::mem::replace(&mut list.last, entry) {
            NONE => list.first = entry,
            last => self.entries[last].next = entry,
        }
    }

    fn put_first(&mut self, of: (AccountIndex, SymbolIndex), entry: Entry) {
        let list = self.sorted.entry(of).or_insert(List::EMPTY);
        if list.first != NONE {
            self.oldest.remove(&(of.0, self.entries[list.first].order, of.1));
        }
        self.oldest.insert((of.0, entry.order, of.1));
        list.first = self.entries.insert(Entry { next: list.first, ..entry });
        if list.last == NONE {
            list.last = list.first;
        }
    }

    fn pop_unsorted(&mut self, account: AccountIndex) -> Option<Entry> {
        let list = self.unsorted.get_mut(account.0 as usize)?;
        pop(&mut self.entries, list)
    }

    fn pop_sorted(&mut self, of: (AccountIndex, SymbolIndex)) -> Option<Entry> {
        let list = self.sorted.get_mut(&of)?;
        let entry = pop(&mut self.entries, list)?;
        self.oldest.remove(&(of.0, entry.order, of.1));
        match list.first {
            NONE => drop(self.sorted.remove(&of)),
            first => drop(self.oldest.insert((of.0, self.entries[first].order, of.1))),
        }
        Some(entry)
    }

    /// The oldest sorted entry of an account, and its symbol.
    fn oldest_of(&self, account: AccountIndex) -> Option<(OrderId, SymbolIndex)> {
        #[cfg(test)]
        self.looks.set(self.looks.get().saturating_add(1));
        let all = (account, OrderId(0), SymbolIndex(0))..=(account, OrderId(u64::MAX), SymbolIndex(u32::MAX));
        self.oldest.range(all).next().map(|&(_, order, symbol)| (order, symbol))
    }
}

/// Removes and frees the first entry of a list, and returns it.
fn pop(entries: &mut Slab<Entry>, list: &mut List) -> Option<Entry> {
    let first = list.first;
    if first == NONE {
        return None;
    }
    let entry = entries[first];
    entries.remove(first);
    list.first = entry.next;
    if entry.next == NONE {
        list.last = NONE;
    }
    Some(entry)
}

/// Whether the order that was entered is still open: another order may have its slot by now.
fn is_open(orders: &Orders, entry: &Entry) -> bool {
    let order = orders.get(entry.slot);
    order.id == entry.order && !order.open.is_zero()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use std::collections::BTreeMap;

    use terms::{OrderKind, SelfTrade, Shares, Time};

    use super::*;

    /// Places and ends orders of 5 accounts and 3 symbols, now and then takes some or all orders of an account and
    /// symbol, and compares with a plain list.
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
            let one = Shares::from_units(1).expect("not negative");
            let slot = orders.insert(id, account, one, (OrderKind::Limit, SelfTrade::Allowed));
            symbols.resize(symbols.len().max(slot as usize + 1), symbol);
            symbols[slot as usize] = symbol;
            open.insert(id, (account, symbol, slot));
            if open.len() > 300 {
                let gone = *open.keys().nth(draw(open.len() as u64) as usize).expect("there are so many");
                let (.., slot) = open.remove(&gone).expect("it is open");
                orders.cancel(slot, Time::ZERO);
                orders.remove(gone);
            }
            // No question comes for a long time, and then only questions about one account.
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
            found.look_after(&orders, OrderId(id.0 + 1));
            let through = if draw(4) == 0 { OrderId(draw(id.0) + 1) } else { id };
            let expected: Vec<(OrderId, u32)> = expected.into_iter().filter(|(order, _)| *order <= through).collect();
            let asked = OrdersOf { account, symbol, through };
            let mut take = |most: usize| found.take(&orders, asked, most, symbol_of);
            if draw(2) == 0 {
                assert_eq!(take(0).is_cut, !expected.is_empty(), "{id}");
            }
            if symbol.is_none() && draw(2) == 0 {
                assert_eq!(found.has_any(&orders, asked), !expected.is_empty(), "{id}");
            }
            let mut take = |most: usize| found.take(&orders, asked, most, symbol_of);
            let most = if draw(2) == 0 { usize::MAX } else { draw(20) as usize };
            let taken = take(most);
            assert_eq!(taken.is_cut, most < expected.len(), "{id}");
            let expected: Vec<(OrderId, u32)> = expected.into_iter().take(most).collect();
            assert_eq!(taken.orders, expected, "{id}");
            for (gone, slot) in expected {
                open.remove(&gone);
                orders.cancel(slot, Time::ZERO);
                orders.remove(gone);
            }
            assert!(found.entries.len() <= 3 * orders.slots_used() as usize + 2 * FEW, "{}", found.entries.len());
        }
    }

    /// A regression: each end of an auction asked each killed account whether it had an open order, and each cancel of
    /// old orders asked for these, and that looked at all of the account's symbols.
    #[test]
    fn a_question_for_the_orders_of_all_symbols_looks_at_no_more_than_it_takes() {
        const SYMBOLS: u64 = 100;
        let (mut orders, mut found) = (Orders::new(), AccountOrders::new());
        let account = AccountIndex(0);
        for id in (1..=SYMBOLS).map(OrderId) {
            orders.insert(id, account, Shares::MIN, (OrderKind::Limit, SelfTrade::Allowed));
        }
        let newest = OrderId(SYMBOLS);
        let in_last = OrdersOf { account, symbol: Some(SymbolIndex(SYMBOLS as u32 - 1)), through: newest };
        assert!(found.take(&orders, in_last, 0, SymbolIndex).is_cut, "all are sorted by symbol now");
        assert_eq!(found.sorted.len() as u64, SYMBOLS);
        found.looks.set(0);
        let in_all = OrdersOf { symbol: None, ..in_last };
        assert!(found.has_any(&orders, in_all));
        assert_eq!(found.looks.get(), 1);
        found.looks.set(0);
        let through_first = OrdersOf { through: OrderId(1), ..in_all };
        assert_eq!(found.take(&orders, through_first, 9, SymbolIndex).orders, [(OrderId(1), 0)]);
        assert_eq!(found.looks.get(), 2, "one that it takes, and one that is newer");
    }
}
