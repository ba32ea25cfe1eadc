//! The deadlines of DAY orders: the request that places such an order does not hold it, so the reply does.

use exchange::{Answer, Requests};
use terms::{Deadline, OrderId, Reply};

/// The deadlines of the orders that a request placed, if its batch has a DAY order.
pub(super) struct DayEnds(Vec<(OrderId, Deadline)>);

impl DayEnds {
    /// Collects them. `answers` are those of all requests.
    pub(super) fn of(requests: &Requests, request: usize, answers: &[Answer]) -> DayEnds {
        if !requests.asks_for_days() {
            return DayEnds(Vec::new());
        }
        let ops = requests.ops_of(request);
        let answered = requests.ops()[ops.clone()].iter().zip(&answers[ops]);
        let mut ends: Vec<(OrderId, Deadline)> =
            answered.filter_map(|(op, answer)| Some((placed(answer)?, op.deadline()?))).collect();
        ends.sort_unstable_by_key(|(order, _)| *order);
        DayEnds(ends)
    }

    /// Returns the deadline of an order whose attributes, as the client sent them, have none.
    pub(super) fn untold(&self, order: OrderId, attributes: &[u8]) -> Option<Deadline> {
        const TOLD: &[u8] = b" until=\"";
        let at = self.0.binary_search_by_key(&order, |(order, _)| *order).ok()?;
        let is_told = attributes.windows(TOLD.len()).any(|text| text == TOLD);
        Some(self.0[at].1).filter(|_| !is_told)
    }
}

fn placed(answer: &Answer) -> Option<OrderId> {
    match *answer {
        Answer::Reply(Reply::Opened(order) | Reply::Repeated(order) | Reply::Moved { order, .. }) => Some(order),
        Answer::Reply(_) | Answer::Unavailable(_) => None,
    }
}
