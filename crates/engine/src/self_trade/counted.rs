//! The liquidity that an order counts before it executes. Open orders that it may not execute with do not count: those
//! of its own account or group, those that remain of a kill, and those whose time has come.

use terms::{AccountIndex, SelfTrade, SymbolIndex};

use crate::engine::Engine;
use crate::orders::state::Order;

/// The part of a resting order that counts as liquidity.
pub(crate) enum SelfTradeCount {
    /// All open shares.
    Whole,
    /// The order does not count, since it would be canceled.
    Nothing,
    /// The order does not count, nor does anything behind it: the arriving order would not get past it whole.
    NothingFromHere,
}

impl Engine {
    /// The part of a resting order that counts for an order of this mode and account.
    pub(crate) fn counts(
        &self,
        mode: SelfTrade,
        account: AccountIndex,
        symbol: SymbolIndex,
        maker: &Order,
    ) -> SelfTradeCount {
        match mode {
            _ if self.ending_of(maker, symbol).is_some() => SelfTradeCount::Nothing,
            _ if !self.is_own(mode, account, maker.account) => SelfTradeCount::Whole,
            SelfTrade::Allowed => SelfTradeCount::Whole,
            SelfTrade::CancelOldest => SelfTradeCount::Nothing,
            SelfTrade::CancelNewest | SelfTrade::CancelBoth | SelfTrade::Decrement => SelfTradeCount::NothingFromHere,
        }
    }
}
