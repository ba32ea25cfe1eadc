//! Icebergs: the display of each, and the shares that it hides. This file knows nothing of books or accounts.

use std::collections::BTreeMap;

use terms::{OrderId, Shares};

/// The record of an open iceberg.
#[derive(Clone, Copy)]
pub(crate) struct Hiding {
    pub(crate) display: Shares,
    /// The open shares besides the tip. An order off its book hides nothing: all its shares are in its slot.
    pub(crate) hidden: Shares,
}

/// All open icebergs.
pub(crate) struct Icebergs {
    of_order: BTreeMap<OrderId, Hiding>,
}

impl Icebergs {
    pub(crate) fn new() -> Icebergs {
        Icebergs { of_order: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.of_order.is_empty()
    }

    pub(crate) fn get(&self, order: OrderId) -> Option<Hiding> {
        // Few markets have any: the others should not pay for the search.
        if self.is_empty() { None } else { self.of_order.get(&order).copied() }
    }

    pub(crate) fn get_mut(&mut self, order: OrderId) -> Option<&mut Hiding> {
        self.of_order.get_mut(&order)
    }

    pub(crate) fn insert(&mut self, order: OrderId, display: Shares) {
        self.of_order.insert(order, Hiding { display, hidden: Shares::ZERO });
    }

    /// Drops a done order, if it was an iceberg.
    pub(crate) fn remove(&mut self, order: OrderId) {
        self.of_order.remove(&order);
    }

    /// All icebergs, by order id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OrderId, Hiding)> {
        self.of_order.iter().map(|(&order, &hiding)| (order, hiding))
    }

    pub(crate) fn len(&self) -> usize {
        self.of_order.len()
    }
}
