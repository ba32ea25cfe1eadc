//! Which part of the open orders counts as liquidity for an order before it executes: nothing of orders that it may not
//! execute with, those of its own account or group and those that remain of a kill.

use crate::command::SelfTrade;
use crate::engine::Engine;
use crate::ids::{AccountIndex, SymbolIndex};
use crate::orders::Order;

/// The part of a resting order that counts as liquidity.
pub(crate) enum Counted {
    /// All open shares.
    Whole,
    /// Nothing: the order would be canceled.
    Nothing,
    /// Nothing, and nothing behind it either: the arriving order would not get past it whole.
    NothingFromHere,
}

impl Engine {
    /// The part of a resting order that counts for an order of this mode and account.
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
