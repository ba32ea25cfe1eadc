//! The price band of a symbol. Outside auctions no order executes outside it, in either direction.

use slots::NONE;
use terms::{AccountIndex, BandReferences, BrokenRule, NewOrder, Price, SelfTrade, Shares, Side, SymbolIndex};

use crate::engine::Engine;
use crate::matching::liquidity::LOOKED_AT_MAX;
use crate::self_trade::counted::SelfTradeCount;

impl Engine {
    /// The lowest and the highest price at which orders of a symbol execute now; none if no rule bounds them.
    pub(crate) fn band(&self, symbol: SymbolIndex) -> Option<(Price, Price)> {
        self.rules(symbol)?.band(self.band_references(symbol))
    }

    /// The prices around which the bands of a symbol lie.
    pub fn band_references(&self, symbol: SymbolIndex) -> BandReferences {
        self.instruments.references(symbol)
    }

    /// The refusal of an order that would execute beyond the end of the band which its own limit does not bound: a buy
    /// below the lowest price, a sell above the highest one. Only its first execution can be there, because all others
    /// are at worse prices. The order looks at [`LOOKED_AT_MAX`] orders that it would pass without executing, and the
    /// last one counts as one with which it would execute.
    pub(crate) fn outside_band(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<BrokenRule> {
        let (low, high) = self.band(placed.symbol)?;
        let is_outside = |price| match placed.side {
            Side::Buy => price < low,
            Side::Sell => price > high,
        };
        let (mut left, mut passed) = (placed.shares, 0usize);
        for level in self.books.levels(placed.symbol, placed.side.opposite()) {
            let price = level.price;
            if !placed.accepts(price) || !is_outside(price) {
                return None;
            }
            let mut slot = level.oldest;
            while slot != NONE {
                let maker = self.orders.get(slot);
                passed = passed.saturating_add(1);
                let taken = match self.counts(placed.self_trade, account, placed.symbol, maker) {
                    SelfTradeCount::Nothing => Shares::ZERO,
                    SelfTradeCount::NothingFromHere if placed.self_trade == SelfTrade::Decrement => maker.open,
                    SelfTradeCount::NothingFromHere => return None,
                    SelfTradeCount::Whole => return Some(BrokenRule::ExecutesOutsideBand { price, low, high }),
                };
                if passed == LOOKED_AT_MAX {
                    return Some(BrokenRule::ExecutesOutsideBand { price, low, high });
                }
                left = left.less(left.min(taken));
                if left.is_zero() {
                    return None;
                }
                slot = maker.newer;
            }
        }
        None
    }
}
