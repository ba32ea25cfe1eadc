//! Pending orders as rows: those that consecutive commands made wait, and those that wait no longer. A market without
//! pending orders has no such rows.

use engine::Engine;
use terms::OrderId;

use crate::stop_rows::QueueRank;

/// The changes of pending orders. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    /// Pending orders, and their working orders.
    pub(crate) opened: Vec<(OrderId, OrderId)>,
    /// Orders that were placed or canceled: each of them may have been pending.
    pub(crate) closed: Vec<OrderId>,
    /// The released orders, and their ranks among all that came to the ends of queues.
    pub(crate) released: Vec<(OrderId, QueueRank)>,
}

impl PendingRows {
    /// Empties the lists, which keep their capacity.
    pub(crate) fn clear(&mut self) {
        self.opened.clear();
        self.closed.clear();
        self.released.clear();
    }

    /// The number of rows to write, change or remove.
    pub(crate) fn len(&self) -> usize {
        self.opened.len() + self.closed.len() + self.released.len()
    }

    pub(crate) fn release(&mut self, order: OrderId, turn: QueueRank) {
        self.closed.push(order);
        self.released.push((order, turn));
    }

    /// Closes a turn. In a market that never had pending orders it drops the candidates.
    pub(crate) fn seal(&mut self, engine: &Engine) {
        if !engine.had_pending_orders() {
            self.closed.clear();
        }
    }
}
