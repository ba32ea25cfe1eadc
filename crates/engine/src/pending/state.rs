//! Pending orders: the working order of each, and the orders that are due. This file knows nothing of books or
//! accounts.

use std::collections::{BTreeMap, BTreeSet};

use terms::{AccountIndex, Event, NewOrder, OrderId, Sequence, SymbolIndex};

use crate::pending::due_line::DueLine;

/// A pending order.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) order: OrderId,
    pub(crate) slot: u32,
    pub(crate) is_second: bool,
    /// Whether its working order has executed.
    pub(crate) is_due: bool,
    pub(crate) placed: NewOrder<SymbolIndex>,
}

impl Pending {
    pub(crate) fn working(&self) -> OrderId {
        Event::working(self.order, self.is_second)
    }
}

/// The state of a working order after the command that placed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Working {
    Open,
    Executed,
    /// Ended without executing completely.
    Ended,
}

/// A working order and its pending ones, while the commands of their request are applied.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    /// The first of these commands, and the last one so far.
    pub(crate) begun: Sequence,
    pub(crate) last: Sequence,
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) working: Working,
    /// The number of commands still to come.
    pub(crate) left: u8,
    /// The first pending order, if the second is next.
    pub(crate) first: Option<NewOrder<SymbolIndex>>,
}

/// All pending orders.
pub(crate) struct Pendings {
    of_order: BTreeMap<OrderId, Pending>,
    /// All pending orders, by symbol.
    of_symbol: BTreeSet<(SymbolIndex, OrderId)>,
    /// The executed working orders of the due ones.
    due: DueLine,
    /// The number of due orders, and the command since which there are any.
    due_orders: usize,
    due_since: Sequence,
    /// The working order that is being placed, and how it ended, if it did.
    placing: Option<(OrderId, Working)>,
    /// The last working order placed. It is not part of the exported state: its pending orders follow in the same
    /// request, and no state is exported within a request.
    pub(crate) chain: Option<Chain>,
    /// Whether a pending order is being placed.
    is_releasing: bool,
    /// Whether there ever was one in this engine.
    were_any: bool,
}

impl Pendings {
    pub(crate) fn new() -> Pendings {
        Pendings {
            of_order: BTreeMap::new(),
            of_symbol: BTreeSet::new(),
            due: DueLine::default(),
            due_orders: 0,
            due_since: Sequence::ZERO,
            placing: None,
            chain: None,
            is_releasing: false,
            were_any: false,
        }
    }

    /// Whether the end of an order may matter to a pending one.
    #[inline]
    pub(crate) fn are_any(&self) -> bool {
        !self.of_order.is_empty() || self.placing.is_some()
    }

    /// Whether orders are due.
    #[inline]
    pub(crate) fn are_due(&self) -> bool {
        self.due_orders > 0
    }

    /// Whether due orders are placed at the end of this command: older ones wait for commands of their own, and two
    /// wait until the second has come.
    pub(crate) fn is_their_turn(&self, now: Sequence) -> bool {
        match self.chain.filter(|chain| chain.last == now) {
            Some(chain) => chain.left == 0 && self.due_since >= chain.begun,
            None => self.due_since == now,
        }
    }

    pub(crate) fn due_orders(&self) -> usize {
        self.due_orders
    }

    pub(crate) fn were_any(&self) -> bool {
        self.were_any
    }

    pub(crate) fn len(&self) -> usize {
        self.of_order.len()
    }

    pub(crate) fn is_releasing(&self) -> bool {
        self.is_releasing
    }

    pub(crate) fn set_releasing(&mut self, is_releasing: bool) {
        self.is_releasing = is_releasing;
    }

    pub(crate) fn get(&self, order: OrderId) -> Option<Pending> {
        // Few markets have any: the others should not pay for the search.
        if self.of_order.is_empty() { None } else { self.of_order.get(&order).copied() }
    }

    /// The pending orders of a working order, the first one first.
    pub(crate) fn of_working(&self, working: OrderId) -> [Option<Pending>; 2] {
        let of = |behind| {
            let order = OrderId(working.0.saturating_add(behind));
            self.of_order.get(&order).copied().filter(|pending| pending.working() == working)
        };
        [of(1), of(2)]
    }

    /// The other one of two orders that wait for the same one.
    pub(crate) fn partner(&self, pending: &Pending) -> Option<Pending> {
        self.of_working(pending.working()).into_iter().flatten().find(|other| other.order != pending.order)
    }

    pub(crate) fn insert(&mut self, pending: Pending, now: Sequence) {
        self.were_any = true;
        self.of_order.insert(pending.order, pending);
        self.of_symbol.insert((pending.placed.symbol, pending.order));
        if pending.is_due {
            self.is_due_from_now_on(pending.working(), pending.placed.symbol, now);
        }
    }

    /// Makes the pending orders of an executed working order due.
    pub(crate) fn make_due(&mut self, working: OrderId, now: Sequence) {
        for Pending { order, placed, .. } in self.of_working(working).into_iter().flatten() {
            if let Some(pending) = self.of_order.get_mut(&order) {
                pending.is_due = true;
                self.is_due_from_now_on(working, placed.symbol, now);
            }
        }
    }

    fn is_due_from_now_on(&mut self, working: OrderId, symbol: SymbolIndex, now: Sequence) {
        if self.due_orders == 0 {
            self.due_since = now;
        }
        self.due_orders = self.due_orders.saturating_add(1);
        self.due.join(working, symbol);
    }

    /// Takes out an order that no longer waits. None if it did not wait.
    pub(crate) fn remove(&mut self, order: OrderId) -> Option<Pending> {
        let pending = self.of_order.remove(&order)?;
        let (working, symbol) = (pending.working(), pending.placed.symbol);
        self.of_symbol.remove(&(symbol, order));
        if pending.is_due {
            self.due_orders = self.due_orders.saturating_sub(1);
            if self.of_working(working).iter().all(Option::is_none) {
                self.due.leave(working, symbol);
            }
        }
        Some(pending)
    }

    /// The pending orders of a symbol.
    pub(crate) fn of_symbol(&self, symbol: SymbolIndex) -> impl Iterator<Item = &Pending> {
        let all = self.of_symbol.range((symbol, OrderId(0))..=(symbol, OrderId(u64::MAX)));
        all.filter_map(|(_, order)| self.of_order.get(order))
    }

    /// The orders that are released next: the first ones whose symbol does not keep them back.
    pub(crate) fn next_due(&self, keeps_back: impl Fn(SymbolIndex) -> bool) -> [Option<Pending>; 2] {
        self.due.first(keeps_back).map(|working| self.of_working(working)).unwrap_or_default()
    }

    /// All pending orders: first those whose working order is open, by id, then the due ones in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Pending> {
        let wait = self.of_order.values().filter(|pending| !pending.is_due);
        let due = self.due.in_order().into_iter().flat_map(|working| self.of_working(working)).flatten();
        wait.chain(due.filter_map(|pending| self.of_order.get(&pending.order)))
    }

    /// Notes that a working order is about to be placed under this id.
    pub(crate) fn begin(&mut self, working: OrderId) {
        self.placing = Some((working, Working::Open));
    }

    /// Notes the end of an order.
    pub(crate) fn note_end(&mut self, order: OrderId, how: Working) {
        if let Some((working, is)) = &mut self.placing
            && *working == order
        {
            *is = how;
        }
    }

    /// Ends the placing of the working order, and returns its state.
    pub(crate) fn end(&mut self) -> Working {
        self.placing.take().map_or(Working::Ended, |(_, how)| how)
    }
}
