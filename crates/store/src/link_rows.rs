//! Links as rows: the pairs that consecutive commands linked, and those that ended. A market without linked orders has
//! no such rows.

use terms::OrderId;

/// The changes of pairs. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct LinkRows {
    /// The older and the younger order of each pair.
    pub(crate) linked: Vec<(OrderId, OrderId)>,
    /// Orders that were canceled because of their partners, and orders whose partners were not placed.
    pub(crate) canceled: Vec<OrderId>,
}

impl LinkRows {
    /// Empties the lists, which keep their capacity.
    pub(crate) fn clear(&mut self) {
        self.linked.clear();
        self.canceled.clear();
    }

    /// The number of rows to write or remove.
    pub(crate) fn len(&self) -> usize {
        self.linked.len() + self.canceled.len()
    }
}
