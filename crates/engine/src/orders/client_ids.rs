//! Orders under client order ids: for each id of an account, its order and the terms of that order. An id stands for
//! its order while the order is open and for a day after it is done, or until a client frees it; then the id is free
//! again.
//!
//! The time alone decides whether an id still stands for its order, so it makes no difference when an expired entry is
//! removed. This file knows nothing of books or money. Orders without a client order id never come here.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use slots::{NONE, Slab, SpreadTable};
use terms::{
    AccountIndex, CLIENT_ORDER_ID_KEPT_US, ClientOrderId, Deadline, NewOrder, OrderId, Shares, SymbolIndex, Time, Trail,
};

/// The most entries that each new one removes: more than one, so that live entries bound the memory; few, so that no
/// order waits while a day's entries are removed.
const REMOVED_AT_ONCE: usize = 4;

/// An order with a client order id.
#[derive(Clone, Copy)]
pub(crate) struct ClientOrder {
    pub(crate) id: ClientOrderId,
    pub(crate) account: AccountIndex,
    pub(crate) order: OrderId,
    /// The order as placed, or as it was amended; without its trigger if that follows the market.
    pub(crate) placed: NewOrder<SymbolIndex>,
    pub(crate) until: Option<Deadline>,
    /// The shares that it shows at a time, if not all.
    pub(crate) display: Option<Shares>,
    /// The distance between the market and its trigger, for an order whose trigger follows the market, also after it
    /// was reached.
    pub(crate) trail: Option<Trail>,
    /// The time at which its last shares were executed or canceled; none while some are open.
    pub(crate) done: Option<Time>,
}

impl ClientOrder {
    /// Whether the id stands for this order.
    pub(crate) fn stands(&self, now: Time) -> bool {
        self.done.is_none_or(|done| now < done.later_by_us(CLIENT_ORDER_ID_KEPT_US))
    }
}

/// All orders whose client order ids stand for them, and some that have expired.
pub(crate) struct ClientOrders {
    entries: Slab<ClientOrder>,
    by_id: SpreadTable<u32>,
    hasher: FixedState,
    /// Entries of done orders, in the order in which they were done.
    done: VecDeque<u32>,
    /// The entry of an open order or `NONE`, by the order's slot. The list is as long as the highest slot of an order
    /// with an entry.
    by_slot: Slab<u32>,
    open: usize,
    /// Numbers of entries by account. It is as long as the highest account with an entry.
    by_account: Vec<u32>,
}

impl ClientOrders {
    pub(crate) fn new(hasher: FixedState) -> ClientOrders {
        ClientOrders {
            entries: Slab::new(),
            by_id: SpreadTable::default(),
            hasher,
            done: VecDeque::new(),
            by_slot: Slab::new(),
            open: 0,
            by_account: Vec::new(),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.entries.has_room()
    }

    /// Open orders that have an entry.
    #[inline]
    pub(crate) fn open_count(&self) -> usize {
        self.open
    }

    /// The number of an account's entries in memory, expired ones included.
    pub(crate) fn count_of(&self, account: AccountIndex) -> usize {
        self.by_account.get(account.0 as usize).map_or(0, |&count| count as usize)
    }

    /// Whether an expired entry is still in memory when so many were added after now: then adding the next one removes
    /// at least as many as it adds.
    pub(crate) fn has_expired_behind(&self, added: usize, now: Time) -> bool {
        let next = self.done.get(added.saturating_mul(REMOVED_AT_ONCE));
        next.is_some_and(|&entry| !self.entries[entry].stands(now))
    }

    /// The order that an account's id stands for.
    pub(crate) fn find(&self, account: AccountIndex, id: ClientOrderId, now: Time) -> Option<&ClientOrder> {
        let hash = self.hash(account, id);
        let found = self.by_id.of(hash).find(hash, |&entry| self.is(entry, account, id));
        found.map(|&entry| &self.entries[entry]).filter(|order| order.stands(now))
    }

    /// The client order id of the open order in a slot.
    pub(crate) fn id_at(&self, slot: u32) -> Option<ClientOrderId> {
        let entry = self.entry_at(slot);
        (entry != NONE).then(|| self.entries[entry].id)
    }

    /// Adds the order that was just put into `slot`. The caller has checked that `find` does not find its id.
    pub(crate) fn open(&mut self, slot: u32, order: ClientOrder, now: Time) {
        self.remove_expired(now);
        let entry = self.insert(order);
        // The first `put` fills the slots by which the slab grows.
        self.by_slot.put(slot, NONE);
        self.by_slot.put(slot, entry);
        self.open = self.open.saturating_add(1);
    }

    /// Changes what is kept of the order in a slot, if it has an entry. Its id and account stay.
    pub(crate) fn change(&mut self, slot: u32, change: impl FnOnce(&mut ClientOrder)) {
        let entry = self.entry_at(slot);
        if entry != NONE {
            change(&mut self.entries[entry]);
        }
    }

    /// Adds an order that was already done; `sort_done` follows.
    pub(crate) fn restore_done(&mut self, order: ClientOrder) {
        let entry = self.insert(order);
        self.done.push_back(entry);
    }

    /// Sorts restored orders by the time at which they were done.
    pub(crate) fn sort_done(&mut self) {
        let entries = &self.entries;
        self.done.make_contiguous().sort_by_key(|&entry| entries[entry].done);
    }

    /// Notes that nothing is open any more of the order in a slot. Returns whether it has an entry.
    pub(crate) fn finish(&mut self, slot: u32, now: Time) -> bool {
        let entry = self.entry_at(slot);
        if entry == NONE {
            return false;
        }
        self.by_slot.put(slot, NONE);
        self.entries[entry].done = Some(now);
        self.done.push_back(entry);
        self.open = self.open.saturating_sub(1);
        true
    }

    /// Frees an id whose order is done, and returns whether it was. The entry stays until its day is over, so freeing
    /// ids makes no room for others.
    pub(crate) fn free(&mut self, account: AccountIndex, id: ClientOrderId) -> bool {
        let hash = self.hash(account, id);
        let entries = &self.entries;
        let is_done = |&entry: &u32| {
            let order = &entries[entry];
            order.account == account && order.id == id && order.done.is_some()
        };
        self.by_id.of_mut(hash).find_entry(hash, is_done).map(|found| found.remove()).is_ok()
    }

    /// Orders whose ids stand for them, by order id.
    pub(crate) fn standing(&self, now: Time) -> Vec<&ClientOrder> {
        let all = self.by_id.iter().map(|&entry| &self.entries[entry]);
        let mut standing: Vec<&ClientOrder> = all.filter(|order| order.stands(now)).collect();
        standing.sort_unstable_by_key(|order| order.order);
        standing
    }

    /// The number of entries, expired ones included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn insert(&mut self, order: ClientOrder) -> u32 {
        let hash = self.hash(order.account, order.id);
        let account = order.account.0 as usize;
        if self.by_account.len() <= account {
            self.by_account.resize(account.saturating_add(1), 0);
        }
        self.by_account[account] = self.by_account[account].saturating_add(1);
        let entry = self.entries.insert(order);
        let (entries, hasher) = (&self.entries, &self.hasher);
        let same = |&other: &u32| (entries[other].account, entries[other].id) == (order.account, order.id);
        match self.by_id.of_mut(hash).find_mut(hash, same) {
            // An expired entry that is still in the queue.
            Some(place) => *place = entry,
            None => {
                let rehash = |&other: &u32| hasher.hash_one((entries[other].account, entries[other].id));
                self.by_id.of_mut(hash).insert_unique(hash, entry, rehash);
            }
        }
        entry
    }

    fn remove_expired(&mut self, now: Time) {
        for _ in 0..REMOVED_AT_ONCE {
            let Some(&entry) = self.done.front() else { return };
            let order = self.entries[entry];
            if order.stands(now) {
                return;
            }
            self.done.pop_front();
            let hash = self.hash(order.account, order.id);
            // The entry is missing if another order has taken the id meanwhile.
            if let Ok(found) = self.by_id.of_mut(hash).find_entry(hash, |&other| other == entry) {
                found.remove();
            }
            self.entries.remove(entry);
            let count = &mut self.by_account[order.account.0 as usize];
            *count = count.saturating_sub(1);
        }
    }

    fn entry_at(&self, slot: u32) -> u32 {
        self.by_slot.get(slot).copied().unwrap_or(NONE)
    }

    fn is(&self, entry: u32, account: AccountIndex, id: ClientOrderId) -> bool {
        let order = &self.entries[entry];
        order.account == account && order.id == id
    }

    fn hash(&self, account: AccountIndex, id: ClientOrderId) -> u64 {
        self.hasher.hash_one((account, id))
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use terms::{Price, Shares, Side};

    use super::*;

    fn order(number: u64) -> ClientOrder {
        let (limit, shares) = (Price::MIN, Shares::from_units(1).expect("above zero"));
        let placed = NewOrder::limit(SymbolIndex(0), Side::Buy, limit, shares);
        let id = ClientOrderId::parse(format!("id-{}", number % 1_000).as_bytes()).expect("legal");
        ClientOrder {
            id,
            account: AccountIndex(number as u32 % 7),
            order: OrderId(number),
            placed,
            until: None,
            display: None,
            trail: None,
            done: None,
        }
    }

    /// Finishes orders at once, a thousand a day under recurring ids, for many days.
    #[test]
    fn memory_follows_what_lives_and_not_what_was() {
        let mut orders = ClientOrders::new(FixedState::with_seed(1));
        let day = CLIENT_ORDER_ID_KEPT_US;
        for number in 1..=100_000u64 {
            let now = Time(number * (day / 500));
            let slot = number as u32 % 9_000;
            assert!(orders.find(order(number).account, order(number).id, now).is_none(), "{number}: free again");
            orders.open(slot, order(number), now);
            assert_eq!(orders.id_at(slot), Some(order(number).id));
            assert!(orders.finish(slot, now) && !orders.finish(slot, now));
            assert_eq!((orders.id_at(slot), orders.open_count()), (None, 0));
            assert!(orders.len() <= 501, "{number}: {} entries", orders.len());
            let counted: usize = (0..7).map(|account| orders.count_of(AccountIndex(account))).sum();
            assert_eq!(counted, orders.len(), "{number}: each is counted for its account");
        }
        let now = Time(100_000 * (day / 500));
        assert_eq!(orders.standing(now).len(), 500);
        assert_eq!(orders.standing(now.later_by_us(day)).len(), 0);
    }

    /// Many expired entries wait in the queue when an id comes again: the new entry takes the place of the id's old
    /// one.
    #[test]
    fn an_id_comes_again_before_its_old_entry_is_removed() {
        let mut orders = ClientOrders::new(FixedState::with_seed(1));
        for number in 1..=100 {
            orders.open(number, order(number.into()), Time(1));
            orders.finish(number, Time(1));
        }
        let late = Time(1).later_by_us(CLIENT_ORDER_ID_KEPT_US);
        let again = ClientOrder { order: OrderId(777), ..order(100) };
        assert!(orders.find(again.account, again.id, Time(late.0 - 1)).is_some());
        assert!(orders.find(again.account, again.id, late).is_none());
        orders.open(5, again, late);
        for number in 200..=300 {
            orders.open(number, order(number.into()), late);
        }
        let found = orders.find(again.account, again.id, late).map(|order| order.order);
        assert_eq!(found, Some(OrderId(777)), "removing the old entry leaves the new one");
        assert_eq!((orders.len(), orders.open_count(), orders.standing(late).len()), (102, 102, 102));
    }
}
