//! How an order ended, and what its record links to then. It knows no byte but the number of a reason.

use engine::{CancelReason, Money, Sequence, Shares, Time};

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What was canceled of it.
    pub canceled: Shares,
    /// What was paid for the rest.
    pub money: Money,
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
    /// Why what was left of it was canceled; none if nothing was, or nobody knows.
    pub why: Option<CancelReason>,
}

/// The number that stands for why what was left of an order was canceled: 1 to 127, because a record that is all zero has no ending.
pub(crate) fn code_of(why: Option<CancelReason>) -> u8 {
    why.map_or(1, |why| why.code().saturating_add(1))
}

/// What a number stands for; none for one that is not known.
pub(crate) fn from_code(code: u8) -> Option<Option<CancelReason>> {
    match code {
        1 => Some(None),
        code => CancelReason::from_code(code.checked_sub(1)?).map(Some),
    }
}

/// The newest record of a done order: what else befell it is found from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Trade(u64),
    Note(u64),
}
