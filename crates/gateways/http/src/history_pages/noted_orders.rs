//! Orders of the files, with what befell each. Their notes are read some at a time, because an order may have
//! thousands.

use std::collections::VecDeque;

use feed::{HistoryAt, HistoryError, NotesLeft, Open, OrderNotes, PastOrder, Relatives, View};

use crate::history_port::Past;

/// An order as it was at one moment, whose notes are still to be read.
pub(super) struct NotedOrder {
    order: PastOrder,
    open: Option<Open>,
    notes: OrderNotes,
}

/// Finds what the view knows of an order of the files, and where its notes begin.
pub(super) fn begin(view: &View, history: &HistoryAt<'_>, order: &PastOrder) -> Result<NotedOrder, HistoryError> {
    let open = view.open_order(order.order).filter(|_| order.ended.is_none());
    Ok(NotedOrder { order: *order, open, notes: history.notes_of(order)? })
}

impl NotedOrder {
    /// Makes an order of the files, with its notes and the shares that the view knows as open.
    fn finish(&self) -> Past {
        let (triggered, Relatives { linked, pended }) = self.notes.befell();
        let PastOrder { time, kind, trigger, self_trade, .. } = self.order;
        let open = self.open.map(|open| Open { time, kind, trigger, triggered, self_trade, ..open });
        Past { order: self.order, open, triggered, linked: open.map_or(linked, |open| open.linked), pended }
    }
}

/// The orders of one answer, while their notes are read.
pub(super) struct NotedOrders {
    read: Vec<Past>,
    rest: VecDeque<NotedOrder>,
    left: NotesLeft,
}

impl NotedOrders {
    pub(super) fn of(orders: Vec<NotedOrder>) -> NotedOrders {
        let mut orders = NotedOrders { read: Vec::new(), rest: orders.into(), left: NotesLeft::default() };
        orders.pass();
        orders
    }

    /// Whether the notes of all orders were read.
    pub(super) fn are_read(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads this many notes more.
    pub(super) fn go_on(&mut self, history: &HistoryAt<'_>, mut notes: usize) -> Result<(), HistoryError> {
        while let Some(order) = self.rest.front_mut().filter(|_| notes > 0) {
            history.read_notes(&mut order.notes, &mut self.left, &mut notes)?;
            self.pass();
        }
        Ok(())
    }

    /// Passes the orders whose notes were read.
    fn pass(&mut self) {
        while self.rest.front().is_some_and(|order| order.notes.are_read()) {
            self.read.extend(self.rest.pop_front().map(|order| order.finish()));
        }
    }

    /// Returns the orders, after all notes were read.
    pub(super) fn finish(self) -> Vec<Past> {
        self.read
    }
}
