//! The day orders that a session placed. The market decides when a day ends, and an order does not say whether it ends
//! with its day, so only the session knows that an amendment with the same time in force changes nothing.

use std::collections::HashMap;

use terms::{Deadline, OrderId};

/// Open day orders that a session knows, at most, some 4 MB.
const ORDERS_MAX: usize = 1 << 16;

/// Open day orders of a session, each with its end once it was reported.
#[derive(Default)]
pub(crate) struct DayOrders(HashMap<OrderId, Option<Deadline>>);

impl DayOrders {
    /// Adds an order whose report is to come.
    pub(crate) fn add(&mut self, order: OrderId) {
        if self.0.len() < ORDERS_MAX {
            self.0.insert(order, None);
        }
    }

    /// Takes the end of a day order from the report of its placing.
    pub(crate) fn placed(&mut self, order: OrderId, until: Option<Deadline>) {
        self.0.entry(order).and_modify(|end| *end = until);
    }

    /// Forgets an order that is done.
    pub(crate) fn remove(&mut self, order: OrderId) {
        self.0.remove(&order);
    }

    /// The end of the day of a day order.
    pub(crate) fn end(&self, order: OrderId) -> Option<Deadline> {
        self.0.get(&order).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_day_order_is_known_until_it_is_done() {
        let (end, mut orders) = (Deadline::from_code(7), DayOrders::default());
        orders.placed(OrderId(1), end);
        assert_eq!(orders.end(OrderId(1)), None, "another session placed it");
        orders.add(OrderId(2));
        assert_eq!(orders.end(OrderId(2)), None);
        orders.placed(OrderId(2), end);
        assert_eq!(orders.end(OrderId(2)), end);
        orders.remove(OrderId(2));
        (0..=ORDERS_MAX as u64).for_each(|order| orders.add(OrderId(order)));
        assert_eq!((orders.0.len(), orders.end(OrderId(2))), (ORDERS_MAX, None));
    }
}
