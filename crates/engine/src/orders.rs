//! Orders by slot and by id, with their executions. Open orders, and done ones until they are forgotten.
//! Knows nothing of prices' order or of accounts' money.

use crate::amount::{Price, Shares};
use crate::fee::Fee;
use crate::id_index::IdIndex;
use crate::ids::{AccountIndex, OrderId, Time};
use crate::reply::{Cancellation, DoneOrder, Execution};
use crate::slab::{NONE, Slab};

/// An order in half a cache line. Symbol, side and limit are those of its price level.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Order {
    pub(crate) id: OrderId,
    pub(crate) open: Shares,
    pub(crate) account: AccountIndex,
    /// Its price level while it is open.
    pub(crate) level: u32,
    /// Its neighbours on that level, the older one first.
    pub(crate) older: u32,
    pub(crate) newer: u32,
}

const _: () = assert!(size_of::<Order>() == 32 && size_of::<Record>() == 32);

/// What befell an order: executions and, without a price and as the last, its cancellation.
#[derive(Clone, Copy)]
struct Record {
    shares: Shares,
    price: Option<Price>,
    time: Time,
    /// The one before it.
    earlier: u32,
    /// What was paid for it.
    fee: Fee,
}

/// All orders that the engine keeps.
pub(crate) struct Orders {
    slots: Slab<Order>,
    /// Each slot's last record. Apart from the orders: most are placed and canceled without a look at it.
    last_records: Slab<u32>,
    records: Slab<Record>,
    by_id: IdIndex,
    /// Those that wait, for a price or for another order. Apart from the others, so that these stay near however many wait.
    waiting: IdIndex,
    waiting_count: usize,
}

impl Orders {
    pub(crate) fn new() -> Orders {
        Orders {
            slots: Slab::new(),
            last_records: Slab::new(),
            records: Slab::new(),
            by_id: IdIndex::new(),
            waiting: IdIndex::new(),
            waiting_count: 0,
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.slots.has_room()
    }

    #[cfg(test)]
    pub(crate) fn pretend_full(&mut self) {
        self.slots.pretend_full();
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All slots below this one were used; those that are free have nothing open.
    pub(crate) fn slots_used(&self) -> u32 {
        self.slots.used()
    }

    #[inline]
    pub(crate) fn find(&self, id: OrderId) -> Option<u32> {
        match self.by_id.find(id, |slot| self.slots[slot].id == id) {
            None if self.waiting_count > 0 => self.find_waiting(id),
            found => found,
        }
    }

    #[cold]
    fn find_waiting(&self, id: OrderId) -> Option<u32> {
        self.waiting.find(id, |slot| self.slots[slot].id == id)
    }

    /// An order begins to wait. It may not be removed before it waits no longer.
    pub(crate) fn begin_to_wait(&mut self, slot: u32) {
        let id = self.slots[slot].id;
        self.by_id.remove(id, |other| other == slot);
        self.waiting.insert(id, slot, |other| self.slots[other].id);
        self.waiting_count = self.waiting_count.saturating_add(1);
    }

    /// An order waits no longer.
    pub(crate) fn end_to_wait(&mut self, slot: u32) {
        let id = self.slots[slot].id;
        self.waiting.remove(id, |other| other == slot);
        self.by_id.insert(id, slot, |other| self.slots[other].id);
        self.waiting_count = self.waiting_count.saturating_sub(1);
    }

    /// How many wait.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting_count
    }

    /// Reads the part of the index where an id is or will be.
    #[inline]
    pub(crate) fn touch_index(&self, id: OrderId) -> u64 {
        self.by_id.touch(id)
    }

    /// A slot that may be that of an id, or `NONE`.
    #[inline]
    pub(crate) fn guess(&self, id: OrderId) -> u32 {
        self.by_id.guess(id)
    }

    /// Reads what is kept of a slot.
    #[inline]
    pub(crate) fn touch(&self, slot: u32) -> u64 {
        self.slots[slot].id.0 ^ u64::from(self.last_records[slot])
    }

    pub(crate) fn insert(&mut self, id: OrderId, account: AccountIndex, open: Shares) -> u32 {
        let slot = self.slots.insert(Order { id, open, account, level: NONE, older: NONE, newer: NONE });
        self.last_records.put(slot, NONE);
        self.by_id.insert(id, slot, |other| self.slots[other].id);
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
        self.note(slot, execution.shares, Some(execution.price), execution.time, execution.fee);
        let order = &mut self.slots[slot];
        order.open = order.open.less(execution.shares);
        order.open
    }

    /// Whether the last that befell an order was that it was canceled.
    pub(crate) fn was_canceled(&self, slot: u32) -> bool {
        let last = self.last_records[slot];
        last != NONE && self.records[last].price.is_none()
    }

    /// What was executed of an order. Takes as long as it has executions.
    pub(crate) fn executed(&self, slot: u32) -> Shares {
        let (mut executed, mut next) = (Shares::ZERO, self.last_records[slot]);
        while next != NONE {
            let record = self.records[next];
            executed = executed.plus(record.shares);
            next = record.earlier;
        }
        executed
    }

    /// Notes an execution that an imported order had before; what is open stays.
    pub(crate) fn restore_execution(&mut self, slot: u32, execution: Execution) {
        self.note(slot, execution.shares, Some(execution.price), execution.time, execution.fee);
    }

    /// Takes all that is open off an order and notes the cancellation.
    pub(crate) fn cancel(&mut self, slot: u32, time: Time) -> Shares {
        let open = self.slots[slot].open;
        self.slots[slot].open = Shares::ZERO;
        self.note(slot, open, None, time, Fee::NONE);
        open
    }

    fn note(&mut self, slot: u32, shares: Shares, price: Option<Price>, time: Time, fee: Fee) {
        let last = &mut self.last_records[slot];
        *last = self.records.insert(Record { shares, price, time, earlier: *last, fee });
    }

    /// Appends the order's executions, oldest first, and gives its cancellation.
    pub(crate) fn history(&self, slot: u32, executions: &mut Vec<Execution>) -> Option<Cancellation> {
        self.history_within(slot, usize::MAX, executions).flatten()
    }

    /// The same; none, and nothing appended, when there are more executions than `executions_max`.
    pub(crate) fn history_within(
        &self,
        slot: u32,
        executions_max: usize,
        executions: &mut Vec<Execution>,
    ) -> Option<Option<Cancellation>> {
        let mut canceled = None;
        let start = executions.len();
        let mut next = self.last_records[slot];
        while next != NONE {
            let record = self.records[next];
            if executions.len().saturating_sub(start) == executions_max && record.price.is_some() {
                executions.truncate(start);
                return None;
            }
            match record.price {
                Some(price) => {
                    executions.push(Execution { shares: record.shares, price, time: record.time, fee: record.fee })
                }
                None => canceled = Some(Cancellation { shares: record.shares, time: record.time }),
            }
            next = record.earlier;
        }
        executions[start..].reverse();
        Some(canceled)
    }

    /// Writes a done order into `done`, reusing its list.
    pub(crate) fn describe(&self, slot: u32, done: &mut DoneOrder) {
        done.order = self.slots[slot].id;
        done.executions.clear();
        done.canceled = self.history(slot, &mut done.executions);
    }

    /// Drops an order with nothing open.
    pub(crate) fn remove(&mut self, id: OrderId) {
        let slot = self.by_id.remove(id, |slot| self.slots[slot].id == id);
        assert!(self.slots[slot].open.is_zero(), "invariant: only done orders are forgotten");
        let mut next = self.last_records[slot];
        while next != NONE {
            let earlier = self.records[next].earlier;
            self.records.remove(next);
            next = earlier;
        }
        self.slots.remove(slot);
    }

    /// Records of all orders, for checks.
    pub(crate) fn record_count(&self) -> usize {
        self.records.len()
    }
}
