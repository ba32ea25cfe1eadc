//! The price band of a symbol. Outside auctions no order executes outside it, in either direction.

use terms::{BandReferences, Price, Side, SymbolIndex};

use crate::engine::Engine;

impl Engine {
    /// The lowest and the highest price at which orders of a symbol execute now; none if no rule bounds them.
    pub(crate) fn band(&self, symbol: SymbolIndex) -> Option<(Price, Price)> {
        self.rules(symbol)?.band(self.band_references(symbol))
    }

    /// The prices around which the bands of a symbol lie.
    pub fn band_references(&self, symbol: SymbolIndex) -> BandReferences {
        self.instruments.references(symbol)
    }

    /// The prices at which resting orders execute with arriving ones of this side; none if no rule bounds them. One
    /// end bounds them, which the limits of that side do not bound: the lowest price for buys, the highest for sells.
    #[inline]
    pub(crate) fn near_end(&self, symbol: SymbolIndex, side: Side) -> Option<(Price, Price)> {
        self.instruments.get(symbol)?;
        self.near_end_by_rules(symbol, side)
    }

    #[cold]
    fn near_end_by_rules(&self, symbol: SymbolIndex, side: Side) -> Option<(Price, Price)> {
        let (low, high) = self.band(symbol)?;
        Some(match side {
            Side::Buy => (low, Price::MAX),
            Side::Sell => (Price::MIN, high),
        })
    }
}

/// Whether a resting order at this price is outside the near end of the band. It executes with no order, and is
/// canceled when one meets it.
pub(crate) fn is_before(near_end: Option<(Price, Price)>, price: Price) -> bool {
    near_end.is_some_and(|(low, high)| price < low || price > high)
}
