//! Orders that show a part of their shares at a time: how many each shows, and how many it hides. Knows nothing of books or accounts.

use std::collections::BTreeMap;

use crate::amount::Shares;
use crate::ids::OrderId;

/// Parts that an order may be shown in, at most: so many executions at most does one order take part in for whoever executes with all
/// of it.
pub const ICEBERG_PARTS_MAX: i64 = 100;

/// How an order shows its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iceberg {
    /// The shares that are shown at a time, as they were asked for.
    pub display: Shares,
    /// Those that are on show now, the tip; none of an order that waits for a price.
    pub shown: Shares,
}

/// The fewest shares that an order of so many may show at a time.
pub fn least_display(shares: Shares) -> Shares {
    const PARTS: i128 = ICEBERG_PARTS_MAX as i128;
    let rounded_up = i128::from(shares.units()).saturating_add(PARTS).saturating_sub(1).wrapping_div(PARTS);
    i64::try_from(rounded_up).ok().and_then(Shares::from_units).expect("invariant: a part is no more than the whole")
}

/// What is kept of an open order.
#[derive(Clone, Copy)]
pub(crate) struct Hiding {
    pub(crate) display: Shares,
    /// What is open beside the tip. An order that is on no book hides nothing: all that it has is in its slot.
    pub(crate) hidden: Shares,
}

/// All open orders that were placed so.
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

    /// The order is done, whether or not it was one of these.
    pub(crate) fn remove(&mut self, order: OrderId) {
        self.of_order.remove(&order);
    }

    /// All of them, by order id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OrderId, Hiding)> {
        self.of_order.iter().map(|(&order, &hiding)| (order, hiding))
    }

    pub(crate) fn len(&self) -> usize {
        self.of_order.len()
    }
}
