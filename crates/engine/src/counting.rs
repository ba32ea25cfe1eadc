//! What an order counts on before it executes, of the open ones of its own account that it may not execute with.

use crate::command::SelfTrade;
use crate::ids::AccountIndex;
use crate::orders::Order;

/// What somebody who looks at the book before executing counts of an open order.
pub(crate) enum Counted {
    /// All that is open.
    Whole,
    /// Nothing: it would be canceled.
    Nothing,
    /// Nothing, and nothing of what stands behind it: the order that arrives would not come that far whole.
    NothingFromHere,
}

impl SelfTrade {
    /// What an order of this mode and account counts of an open one.
    pub(crate) fn counts(self, account: AccountIndex, maker: &Order) -> Counted {
        match self {
            _ if maker.account != account => Counted::Whole,
            SelfTrade::Allowed => Counted::Whole,
            SelfTrade::CancelOldest => Counted::Nothing,
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => Counted::NothingFromHere,
        }
    }
}
