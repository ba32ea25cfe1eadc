//! Orders by slot and by id, with their executions. Open orders, and done ones until the archive holds them.
//! Knows nothing of prices' order or of accounts' money.

use hashbrown::HashTable;

use crate::amount::{Price, Shares};
use crate::ids::{AccountIndex, OrderId, Time};
use crate::reply::{Cancellation, DoneOrder, Execution};
use crate::slab::{NONE, Slab};

/// An order in 40 bytes. Symbol, side and limit are those of its price level.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) id: OrderId,
    pub(crate) open: Shares,
    pub(crate) account: AccountIndex,
    /// Its price level while it is open.
    pub(crate) level: u32,
    /// Its neighbours on that level, the older one first.
    pub(crate) older: u32,
    pub(crate) newer: u32,
    first_record: u32,
    last_record: u32,
}

/// What befell an order, in a list of its own: executions and, at the end and without a price, its cancellation.
#[derive(Clone, Copy)]
struct Record {
    shares: Shares,
    price: Option<Price>,
    time: Time,
    next: u32,
}

/// All orders that the engine keeps.
pub(crate) struct Orders {
    slots: Slab<Order>,
    records: Slab<Record>,
    by_id: IdIndex,
}

impl Orders {
    pub(crate) fn new() -> Orders {
        Orders { slots: Slab::new(), records: Slab::new(), by_id: IdIndex::new() }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.slots.has_room()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn find(&self, id: OrderId) -> Option<u32> {
        self.by_id.find(id, &self.slots)
    }

    pub(crate) fn insert(&mut self, id: OrderId, account: AccountIndex, open: Shares) -> u32 {
        let order =
            Order { id, open, account, level: NONE, older: NONE, newer: NONE, first_record: NONE, last_record: NONE };
        let slot = self.slots.insert(order);
        self.by_id.insert(id, slot, &self.slots);
        slot
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Order {
        &self.slots[slot]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Order {
        &mut self.slots[slot]
    }

    /// Takes executed shares off an order and notes the execution; gives what is left open.
    pub(crate) fn execute(&mut self, slot: u32, execution: Execution) -> Shares {
        self.note(slot, execution.shares, Some(execution.price), execution.time);
        let order = &mut self.slots[slot];
        order.open = order.open.less(execution.shares);
        order.open
    }

    /// Notes an execution that an imported order had before; what is open stays.
    pub(crate) fn restore_execution(&mut self, slot: u32, execution: Execution) {
        self.note(slot, execution.shares, Some(execution.price), execution.time);
    }

    /// Takes all that is open off an order and notes the cancellation.
    pub(crate) fn cancel(&mut self, slot: u32, time: Time) -> Shares {
        let open = self.slots[slot].open;
        self.slots[slot].open = Shares::ZERO;
        self.note(slot, open, None, time);
        open
    }

    fn note(&mut self, slot: u32, shares: Shares, price: Option<Price>, time: Time) {
        let record = self.records.insert(Record { shares, price, time, next: NONE });
        let order = &mut self.slots[slot];
        match order.last_record {
            NONE => order.first_record = record,
            last => self.records[last].next = record,
        }
        order.last_record = record;
    }

    /// Appends the order's executions, oldest first, and gives its cancellation.
    pub(crate) fn history(&self, slot: u32, executions: &mut Vec<Execution>) -> Option<Cancellation> {
        let mut canceled = None;
        let mut next = self.slots[slot].first_record;
        while next != NONE {
            let record = self.records[next];
            match record.price {
                Some(price) => executions.push(Execution { shares: record.shares, price, time: record.time }),
                None => canceled = Some(Cancellation { shares: record.shares, time: record.time }),
            }
            next = record.next;
        }
        canceled
    }

    /// Writes a done order into `done`, reusing its list.
    pub(crate) fn describe(&self, slot: u32, done: &mut DoneOrder) {
        done.order = self.slots[slot].id;
        done.executions.clear();
        done.canceled = self.history(slot, &mut done.executions);
    }

    /// Drops an order with nothing open.
    pub(crate) fn remove(&mut self, slot: u32) {
        let order = self.slots[slot];
        assert!(order.open.is_zero(), "invariant: only done orders are forgotten");
        self.by_id.remove(order.id, slot);
        let mut next = order.first_record;
        while next != NONE {
            let after = self.records[next].next;
            self.records.remove(next);
            next = after;
        }
        self.slots.remove(slot);
    }
}

/// Slots by order id. In shards, so that growing one stalls the engine for a 64th of what growing the whole would;
/// neighbouring ids share a shard and, the server making the ids, need no stronger hash than themselves, so that
/// the entries of recent orders lie together.
struct IdIndex {
    shards: Vec<HashTable<u32>>,
}

const SHARD_BITS: u32 = 6;
const SHARDS: u64 = 1 << SHARD_BITS;

impl IdIndex {
    fn new() -> IdIndex {
        IdIndex { shards: (0..SHARDS).map(|_| HashTable::new()).collect() }
    }

    fn shard(id: OrderId) -> usize {
        ((id.0 >> SHARD_BITS) & (SHARDS - 1)) as usize
    }

    /// The low bits say the bucket, the seven highest are the table's tag.
    fn hash(id: OrderId) -> u64 {
        let bucket = ((id.0 >> (2 * SHARD_BITS)) << SHARD_BITS) | (id.0 & (SHARDS - 1));
        let tag = id.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) & (0x7F << 57);
        tag | (bucket & ((1 << 57) - 1))
    }

    #[inline]
    fn find(&self, id: OrderId, slots: &Slab<Order>) -> Option<u32> {
        self.shards[IdIndex::shard(id)].find(IdIndex::hash(id), |&slot| slots[slot].id == id).copied()
    }

    fn insert(&mut self, id: OrderId, slot: u32, slots: &Slab<Order>) {
        let shard = &mut self.shards[IdIndex::shard(id)];
        shard.insert_unique(IdIndex::hash(id), slot, |&other| IdIndex::hash(slots[other].id));
    }

    fn remove(&mut self, id: OrderId, slot: u32) {
        let entry = self.shards[IdIndex::shard(id)].find_entry(IdIndex::hash(id), |&other| other == slot);
        let Ok(entry) = entry else { panic!("invariant: an order that is kept has its id in the index") };
        entry.remove();
    }
}
