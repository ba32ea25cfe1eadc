//! Pairs of orders of which one cancels the other. This file does not know what an order is.

use std::collections::BTreeMap;

use terms::OrderId;

/// The pairs, by each of their two orders.
pub(crate) struct Links {
    partners: BTreeMap<OrderId, OrderId>,
}

impl Links {
    pub(crate) fn new() -> Links {
        Links { partners: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.partners.is_empty()
    }

    pub(crate) fn partner_of(&self, order: OrderId) -> Option<OrderId> {
        self.partners.get(&order).copied()
    }

    pub(crate) fn link(&mut self, one: OrderId, other: OrderId) {
        self.partners.insert(one, other);
        self.partners.insert(other, one);
    }

    pub(crate) fn unlink(&mut self, order: OrderId) -> Option<OrderId> {
        let partner = self.partners.remove(&order)?;
        self.partners.remove(&partner);
        Some(partner)
    }

    /// Each pair once, the older order first, by that order's id.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (OrderId, OrderId)> {
        self.partners.iter().map(|(&one, &other)| (one, other)).filter(|(one, other)| one < other)
    }
}
