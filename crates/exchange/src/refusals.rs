//! Counts of requests that a limit of their account or their member refused, by limit.

use std::sync::atomic::{AtomicU64, Ordering};

use terms::{AccountLimit, Reject, Reply};

use crate::answer::{Answer, Unavailable};
use crate::limits::Limit;

/// All limits, as labels.
const NAMES: [&str; 10] = [
    "account_open_orders",
    "account_order_shares",
    "account_order_value",
    "account_position",
    "account_collar",
    "member_orders_per_second",
    "member_order_shares",
    "member_order_value",
    "member_messages_per_second",
    "member_accounts",
];

/// The index of the limit that refused; `None` for other answers.
fn place(answer: &Answer) -> Option<usize> {
    match answer {
        Answer::Reply(Reply::Rejected(Reject::PastLimit(past))) => Some(match past.limit() {
            AccountLimit::OpenOrders => 0,
            AccountLimit::OrderShares => 1,
            AccountLimit::OrderValue => 2,
            AccountLimit::Position => 3,
            AccountLimit::Collar => 4,
        }),
        Answer::Unavailable(Unavailable::Past(limit)) => match limit {
            Limit::OrdersPerSecond(_) => Some(5),
            Limit::OrderShares(_) | Limit::SharesOfMoney(_) => Some(6),
            Limit::OrderValue(_) | Limit::ValueOfMoving(_) | Limit::ValueOfAmended(_) => Some(7),
            Limit::MessagesPerSecond(_) => Some(8),
            Limit::Accounts(_) => Some(9),
            // This refusal comes before any request.
            Limit::Connections(_) => None,
            // The other order counts.
            Limit::OfAnotherOrder => None,
        },
        Answer::Reply(_) | Answer::Unavailable(_) => None,
    }
}

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Refusals([AtomicU64; NAMES.len()]);

impl Refusals {
    pub fn count(&self, answer: &Answer) {
        if let Some(place) = place(answer) {
            self.0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Each limit and the number of its refusals.
    pub fn all(&self) -> [(&'static str, u64); NAMES.len()] {
        std::array::from_fn(|place| (NAMES[place], self.0[place].load(Ordering::Relaxed)))
    }
}
