//! When orders end that end with their day: the request that places one does not say it, so the reply does.

use engine::{Deadline, OrderId, Reply};
use exchange::{Answer, Requests, deadline};

/// The ends of orders that a request placed, if one of its batch ends with the day.
pub(super) struct DayEnds(Vec<(OrderId, Deadline)>);

impl DayEnds {
    /// `answers` are those of all requests.
    pub(super) fn of(requests: &Requests, request: usize, answers: &[Answer]) -> DayEnds {
        if !requests.asks_for_days() {
            return DayEnds(Vec::new());
        }
        let ops = requests.ops_of(request);
        let answered = requests.ops()[ops.clone()].iter().zip(&answers[ops]);
        let mut ends: Vec<(OrderId, Deadline)> =
            answered.filter_map(|(op, answer)| Some((placed(answer)?, deadline(op)?))).collect();
        ends.sort_unstable_by_key(|(order, _)| *order);
        DayEnds(ends)
    }

    /// When an order ends whose attributes, as they were sent, do not say so.
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
