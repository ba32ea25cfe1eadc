//! Answers to placed orders, for the tests of lists of orders.

use terms::{OrderId, Reject, Reply};

use crate::Answer;

pub(crate) fn opened(order: u64) -> Answer {
    Answer::Reply(Reply::Opened(OrderId(order)))
}

pub(crate) fn repeated(order: u64) -> Answer {
    Answer::Reply(Reply::Repeated(OrderId(order)))
}

pub(crate) fn rejected(reject: Reject) -> Answer {
    Answer::Reply(Reply::Rejected(reject))
}
