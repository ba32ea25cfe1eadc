//! What an order counts on before it executes: nothing of the open ones that it may not execute with, of its own account
//! and of its group, nor of those that are left of a kill.

use crate::command::SelfTrade;
use crate::engine::Engine;
use crate::ids::{AccountIndex, SymbolIndex};
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
    pub(crate) fn counts(&self, mode: SelfTrade, account: AccountIndex, symbol: SymbolIndex, maker: &Order) -> Counted {
        match mode {
            _ if self.is_killed_order(maker.account, symbol) => Counted::Nothing,
            _ if !self.is_own(mode, account, maker.account) => Counted::Whole,
            SelfTrade::Allowed => Counted::Whole,
            SelfTrade::CancelOldest => Counted::Nothing,
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => Counted::NothingFromHere,
        }
    }
}
