//! Icebergs: the display of each, and the shares that it hides. This file knows nothing of books or accounts.

use std::collections::BTreeMap;

use crate::amount::Shares;
use crate::ids::OrderId;

/// The most parts in which an order may be shown. It bounds the executions that one order causes for an aggressor that
/// takes all of it.
pub const ICEBERG_PARTS_MAX: i64 = 100;

/// The display and the tip of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iceberg {
    /// The shares shown at a time, as requested.
    pub display: Shares,
    /// The tip: the shares shown now; none for an order that waits for a price.
    pub shown: Shares,
}

/// The smallest display of an order with this many shares.
pub fn least_display(shares: Shares) -> Shares {
    const PARTS: i128 = ICEBERG_PARTS_MAX as i128;
    let rounded_up = i128::from(shares.units()).saturating_add(PARTS).saturating_sub(1).wrapping_div(PARTS);
    i64::try_from(rounded_up).ok().and_then(Shares::from_units).expect("invariant: a part is no more than the whole")
}

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
