//! Orders by slot and by id, with their executions, or the sum of these where there are many: open orders, and done
//! ones until `forget`. This file knows nothing of the order of prices or of accounts' money.

use slots::{IdIndex, NONE, Slab};
use terms::{
    AccountIndex, Cancellation, EXECUTIONS_KEPT, Executed, Execution, Fee, OrderId, OrderKind, Price, SelfTrade,
    Shares, Time,
};

/// An order in half a cache line. Its price level has its symbol, side and limit.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Order {
    pub(crate) id: OrderId,
    pub(crate) open: Shares,
    pub(crate) account: AccountIndex,
    /// The price level while the order is open.
    pub(crate) level: u32,
    /// The neighbours on that level, the older one first.
    pub(crate) older: u32,
    pub(crate) newer: u32,
}

const _: () = assert!(size_of::<Order>() == 32 && size_of::<Record>() == 32);

/// An event of an order: an execution or, without a price and as the last, its cancellation.
#[derive(Clone, Copy)]
struct Record {
    shares: Shares,
    price: Option<Price>,
    time: Time,
    /// The record before.
    earlier: u32,
    /// The fee paid for it.
    fee: Fee,
}

/// The past of an order, and the terms that only an amendment asks for when it rests.
#[derive(Clone, Copy)]
struct Past {
    /// The number of executions that have a record each, or `ADDED_UP`.
    executions: u8,
    kind: OrderKind,
    self_trade: SelfTrade,
    /// The last record, or the sum.
    last: u32,
}

const _: () = assert!(size_of::<Past>() == 8 && EXECUTIONS_KEPT < u8::MAX as u32);

/// The most executions that have a record each.
const KEPT: u8 = EXECUTIONS_KEPT as u8;
/// The value that says that no execution has a record any more.
const ADDED_UP: u8 = KEPT.saturating_add(1);

/// The past of an order with more executions than are kept.
#[derive(Clone, Copy)]
struct Sum {
    executed: Executed,
    canceled: Option<Cancellation>,
}

/// All orders that the engine keeps.
pub(crate) struct Orders {
    slots: Slab<Order>,
    /// The past of each slot, apart from the orders: most orders are placed and canceled without a look at it.
    pasts: Slab<Past>,
    records: Slab<Record>,
    sums: Slab<Sum>,
    by_id: IdIndex,
    /// The ids of orders that wait for a price or for another order, apart from the others, so that these stay near
    /// however many wait.
    waiting: IdIndex,
    waiting_count: usize,
}

impl Orders {
    pub(crate) fn new() -> Orders {
        Orders {
            slots: Slab::new(),
            pasts: Slab::new(),
            records: Slab::new(),
            sums: Slab::new(),
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

    /// The number of slots that were ever used; free ones among them have nothing open.
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

    /// Begins an order's wait. The order may not be removed before the wait ends.
    pub(crate) fn begin_to_wait(&mut self, slot: u32) {
        let id = self.slots[slot].id;
        self.by_id.remove(id, |other| other == slot);
        self.waiting.insert(id, slot, |other| self.slots[other].id);
        self.waiting_count = self.waiting_count.saturating_add(1);
    }

    /// Ends an order's wait.
    pub(crate) fn end_to_wait(&mut self, slot: u32) {
        let id = self.slots[slot].id;
        self.waiting.remove(id, |other| other == slot);
        self.by_id.insert(id, slot, |other| self.slots[other].id);
        self.waiting_count = self.waiting_count.saturating_sub(1);
    }

    /// The number of orders that wait.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting_count
    }

    /// Reads the part of the index where an id is or will be.
    #[inline]
    pub(crate) fn touch_index(&self, id: OrderId) -> u64 {
        self.by_id.touch(id)
    }

    /// A slot that may have this id, or `NONE`.
    #[inline]
    pub(crate) fn guess(&self, id: OrderId) -> u32 {
        self.by_id.guess(id)
    }

    /// Reads the memory of a slot's order and past.
    #[inline]
    pub(crate) fn touch(&self, slot: u32) -> u64 {
        self.slots[slot].id.0 ^ u64::from(self.pasts[slot].last)
    }

    pub(crate) fn insert(
        &mut self,
        id: OrderId,
        account: AccountIndex,
        open: Shares,
        (kind, self_trade): (OrderKind, SelfTrade),
    ) -> u32 {
        let slot = self.slots.insert(Order { id, open, account, level: NONE, older: NONE, newer: NONE });
        self.pasts.put(slot, Past { executions: 0, kind, self_trade, last: NONE });
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

    /// The kind with which an open order arrives at its book, and its mode of self-trade prevention there.
    pub(crate) fn kind(&self, slot: u32) -> (OrderKind, SelfTrade) {
        let Past { kind, self_trade, .. } = self.pasts[slot];
        (kind, self_trade)
    }

    /// Gives an order another kind.
    pub(crate) fn set_kind(&mut self, slot: u32, (kind, self_trade): (OrderKind, SelfTrade)) {
        let past = &mut self.pasts[slot];
        (past.kind, past.self_trade) = (kind, self_trade);
    }

    /// The slots of an order and of those behind it in its queue.
    pub(crate) fn queue_from(&self, first: u32) -> impl Iterator<Item = u32> {
        let some = |slot: u32| Some(slot).filter(|&slot| slot != NONE);
        std::iter::successors(some(first), move |&slot| some(self.slots[slot].newer))
    }

    /// Takes executed shares off an order and notes the execution; returns the shares left open.
    pub(crate) fn execute(&mut self, slot: u32, execution: Execution) -> Shares {
        self.note_execution(slot, execution);
        let order = &mut self.slots[slot];
        order.open = order.open.less(execution.shares);
        order.open
    }

    /// Notes an execution without changing the open shares.
    pub(crate) fn note_execution(&mut self, slot: u32, execution: Execution) {
        let Past { executions, last, .. } = self.pasts[slot];
        if executions >= KEPT {
            return self.add_up(slot, &execution);
        }
        let Execution { shares, price, time, fee } = execution;
        let last = self.records.insert(Record { shares, price: Some(price), time, earlier: last, fee });
        let past = &mut self.pasts[slot];
        (past.executions, past.last) = (executions.saturating_add(1), last);
    }

    /// Adds an execution to the sum of an order whose executions are no longer kept one by one.
    fn add_up(&mut self, slot: u32, execution: &Execution) {
        let Past { executions, last, .. } = self.pasts[slot];
        if executions == ADDED_UP {
            return self.sums[last].executed.add(execution);
        }
        let mut executed = Executed::NONE;
        for record in self.records_of(slot) {
            executed.add(&record);
        }
        executed.add(execution);
        self.remove_records(last);
        self.restore_executed(slot, executed);
    }

    /// Restores the sum of an order's executions, which are more than are kept. The order has none yet.
    pub(crate) fn restore_executed(&mut self, slot: u32, executed: Executed) {
        let last = self.sums.insert(Sum { executed, canceled: None });
        let past = &mut self.pasts[slot];
        (past.executions, past.last) = (ADDED_UP, last);
    }

    /// Whether no execution of an order was noted.
    pub(crate) fn is_unexecuted(&self, slot: u32) -> bool {
        self.pasts[slot].executions == 0
    }

    /// Whether an order ended by being canceled.
    pub(crate) fn was_canceled(&self, slot: u32) -> bool {
        match self.pasts[slot] {
            Past { executions: ADDED_UP, last, .. } => self.sums[last].canceled.is_some(),
            Past { last, .. } => last != NONE && self.records[last].price.is_none(),
        }
    }

    /// The executed shares of an order.
    pub(crate) fn executed(&self, slot: u32) -> Shares {
        match self.pasts[slot] {
            Past { executions: ADDED_UP, last, .. } => self.sums[last].executed.shares,
            Past { .. } => self.records_of(slot).map(|execution| execution.shares).fold(Shares::ZERO, Shares::plus),
        }
    }

    /// Takes all open shares off an order and notes the cancellation.
    pub(crate) fn cancel(&mut self, slot: u32, time: Time) -> Shares {
        let shares = self.slots[slot].open;
        self.slots[slot].open = Shares::ZERO;
        let past = &mut self.pasts[slot];
        match *past {
            Past { executions: ADDED_UP, last, .. } => self.sums[last].canceled = Some(Cancellation { shares, time }),
            Past { last: earlier, .. } => {
                past.last = self.records.insert(Record { shares, price: None, time, earlier, fee: Fee::NONE });
            }
        }
        shares
    }

    /// The kept executions of an order, newest first.
    fn records_of(&self, slot: u32) -> impl Iterator<Item = Execution> {
        let Past { executions, last, .. } = self.pasts[slot];
        let mut next = if executions == ADDED_UP { NONE } else { last };
        let records = std::iter::from_fn(move || {
            let record = (next != NONE).then(|| self.records[next])?;
            next = record.earlier;
            Some(record)
        });
        records
            .filter_map(|Record { shares, price, time, fee, .. }| Some(Execution { shares, price: price?, time, fee }))
    }

    /// The number of an order's executions that are kept.
    pub(crate) fn executions_kept(&self, slot: u32) -> usize {
        match self.pasts[slot].executions {
            ADDED_UP => 0,
            executions => usize::from(executions),
        }
    }

    /// The sum of an order's executions, if they are more than are kept.
    pub(crate) fn added_up(&self, slot: u32) -> Option<Executed> {
        match self.pasts[slot] {
            Past { executions: ADDED_UP, last, .. } => Some(self.sums[last].executed),
            Past { .. } => None,
        }
    }

    /// Appends the kept executions of an order, oldest first, and returns its cancellation.
    pub(crate) fn history(&self, slot: u32, executions: &mut Vec<Execution>) -> Option<Cancellation> {
        let Past { executions: kept, last, .. } = self.pasts[slot];
        if kept == ADDED_UP {
            return self.sums[last].canceled;
        }
        let start = executions.len();
        executions.extend(self.records_of(slot));
        executions[start..].reverse();
        let record = (last != NONE).then(|| self.records[last]).filter(|record| record.price.is_none());
        record.map(|Record { shares, time, .. }| Cancellation { shares, time })
    }

    /// Drops an order without open shares.
    pub(crate) fn remove(&mut self, id: OrderId) {
        let slot = self.by_id.remove(id, |slot| self.slots[slot].id == id);
        assert!(self.slots[slot].open.is_zero(), "invariant: only done orders are forgotten");
        match self.pasts[slot] {
            Past { executions: ADDED_UP, last, .. } => self.sums.remove(last),
            Past { last, .. } => self.remove_records(last),
        }
        self.slots.remove(slot);
    }

    /// Drops a record and all before it.
    fn remove_records(&mut self, mut next: u32) {
        while next != NONE {
            let earlier = self.records[next].earlier;
            self.records.remove(next);
            next = earlier;
        }
    }

    /// The number of records of all orders, for checks.
    pub(crate) fn record_count(&self) -> usize {
        self.records.len()
    }

    /// The number of orders with a sum, for checks.
    pub(crate) fn sum_count(&self) -> usize {
        self.sums.len()
    }
}
