//! Which orders consecutive commands linked to pairs, and which pairs are no more, as the rows that will say so. A market in which none
//! was linked has none of these.

use engine::OrderId;

/// They belong to effects, and are filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct LinkRows {
    /// The older order and the younger one of each pair.
    pub(crate) linked: Vec<(OrderId, OrderId)>,
    /// Orders that were canceled because of their partners, and orders whose partners were not placed.
    pub(crate) canceled: Vec<OrderId>,
}

impl LinkRows {
    /// Empties this; the lists keep their room.
    pub(crate) fn clear(&mut self) {
        self.linked.clear();
        self.canceled.clear();
    }

    /// Rows to be written or removed.
    pub(crate) fn len(&self) -> usize {
        self.linked.len() + self.canceled.len()
    }
}
