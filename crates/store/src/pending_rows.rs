//! Which orders consecutive commands had wait for others, and which wait no more, as the rows that will say so. A market in which none
//! ever waited so has none of these.

use engine::{Engine, OrderId};

use crate::stop_rows::Turn;

/// They belong to effects, and are filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    /// Orders that wait, and the orders that they wait for.
    pub(crate) opened: Vec<(OrderId, OrderId)>,
    /// Orders that were placed, or were canceled: any of those may have waited.
    pub(crate) closed: Vec<OrderId>,
    /// Those that were placed, and their ranks among all that came to the ends of queues.
    pub(crate) released: Vec<(OrderId, Turn)>,
}

impl PendingRows {
    /// Empties this; the lists keep their room.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.closed.clear();
        self.released.clear();
    }

    /// Rows to be written, changed or removed.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.closed.len() + self.released.len()
    }

    pub(crate) fn release(&mut self, order: OrderId, turn: Turn) {
        self.closed.push(order);
        self.released.push((order, turn));
    }

    /// Closes a turn.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        if !engine.had_pending_orders() {
            self.closed.clear();
        }
    }
}
