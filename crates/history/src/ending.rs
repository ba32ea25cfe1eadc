//! Endings of orders, and the links of their records. This file knows no byte but the number of a reason.

use terms::{CancelReason, Money, Sequence, Shares, Time};

/// The ending of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The canceled shares.
    pub canceled: Shares,
    /// The money of its executions.
    pub money: Money,
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
    /// The reason of the cancel; none if no shares were canceled, or it is unknown.
    pub why: Option<CancelReason>,
}

/// The number of a cancel's reason: 1 to 127, because a record that is all zero has no ending.
pub(crate) fn code_of(why: Option<CancelReason>) -> u8 {
    why.map_or(1, |why| why.code().saturating_add(1))
}

/// The reason with this number; none for an unknown number.
pub(crate) fn from_code(code: u8) -> Option<Option<CancelReason>> {
    match code {
        1 => Some(None),
        code => CancelReason::from_code(code.checked_sub(1)?).map(Some),
    }
}

/// The newest record of a done order, from which its other trades and notes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Trade(u64),
    Note(u64),
    /// The last note of an order that had other terms than those of its placing.
    Terms(u64),
}
