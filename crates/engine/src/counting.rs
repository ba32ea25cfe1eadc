//! What an order counts on before it executes, of the open ones of its own account, and of its group, that it may not execute with.

use crate::command::SelfTrade;
use crate::engine::Engine;
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

impl Engine {
    /// What an order of this mode and account counts of an open one.
    pub(crate) fn counts(&self, mode: SelfTrade, account: AccountIndex, maker: &Order) -> Counted {
        match mode {
            _ if !self.is_own(mode, account, maker.account) => Counted::Whole,
            SelfTrade::Allowed => Counted::Whole,
            SelfTrade::CancelOldest => Counted::Nothing,
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => Counted::NothingFromHere,
        }
    }
}
