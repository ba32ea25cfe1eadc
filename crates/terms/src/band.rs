//! The price band of a symbol: its references, and how far from them prices may be.

use crate::amount::Price;
use crate::distance::Distance;
use crate::rules::SymbolRules;

/// The whole, in hundredths of a per cent.
const WHOLE: i128 = 10_000;

/// The prices around which the bands of a symbol lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandReferences {
    /// The price of the last execution between two accounts; none while the symbol has no dynamic band.
    pub dynamic: Option<Price>,
    /// The price of the last auction, or the one that an operator gave since.
    pub fixed: Option<Price>,
}

impl BandReferences {
    pub const NONE: BandReferences = BandReferences { dynamic: None, fixed: None };

    pub fn is_none(self) -> bool {
        self == BandReferences::NONE
    }
}

impl SymbolRules {
    /// Whether references bound prices.
    pub fn has_band(&self) -> bool {
        self.has_dynamic_band() || self.has_static_band()
    }

    pub fn has_dynamic_band(&self) -> bool {
        self.band_up.is_some() || self.band_down.is_some()
    }

    pub fn has_static_band(&self) -> bool {
        self.static_up.is_some() || self.static_down.is_some()
    }

    /// The lowest and the highest price at which orders execute: those that both bands allow. Where there are none, the
    /// static band counts alone. None while no reference bounds prices.
    pub fn band(&self, references: BandReferences) -> Option<(Price, Price)> {
        let BandReferences { dynamic, fixed } = references;
        let dynamic = dynamic.filter(|_| self.has_dynamic_band());
        let dynamic = dynamic.map(|around| price_range(around, self.band_up, self.band_down));
        let fixed = fixed.filter(|_| self.has_static_band());
        let fixed = fixed.map(|around| price_range(around, self.static_up, self.static_down));
        match (dynamic, fixed) {
            (Some((low, high)), Some((floor, ceiling))) => {
                let (low, high) = (low.max(floor), high.min(ceiling));
                Some(if low <= high { (low, high) } else { (floor, ceiling) })
            }
            (one, other) => one.or(other),
        }
    }
}

/// The lowest and the highest price at these distances from a price. Both are rounded towards the inside.
pub fn price_range(around: Price, up: Option<Distance>, down: Option<Distance>) -> (Price, Price) {
    let around = i128::from(around.units());
    let low = down.map_or(Price::MIN, |down| {
        let scaled = around.saturating_mul(WHOLE.saturating_sub(down.hundredths().into()));
        price(scaled.saturating_add(WHOLE).saturating_sub(1).wrapping_div(WHOLE))
    });
    let high = up.map_or(Price::MAX, |up| {
        price(around.saturating_mul(WHOLE.saturating_add(up.hundredths().into())).wrapping_div(WHOLE))
    });
    (low, high)
}

/// The price with these units, or the nearest one.
fn price(units: i128) -> Price {
    let units = units.clamp(1, i64::MAX.into());
    i64::try_from(units).ok().and_then(Price::from_units).expect("invariant: it was clamped")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_band_is_rounded_to_its_inside() {
        let distance = |hundredths| Distance::from_hundredths(hundredths);
        let band = |up, down, around| {
            let (low, high) = price_range(Price::from_units(around).unwrap(), distance(up), distance(down));
            (low.units(), high.units())
        };
        assert_eq!(band(1_000, 1_000, 100), (90, 110));
        assert_eq!(band(1_000, 1_000, 101), (91, 111));
        assert_eq!(band(0, 0, 101), (1, i64::MAX));
        assert_eq!(band(1, 9_999, 1), (1, 1));
        assert_eq!(band(1_000_000, 9_999, i64::MAX).1, i64::MAX);
    }

    #[test]
    fn the_band_is_what_both_references_allow_or_the_static_one() {
        let distance = Distance::from_hundredths(1_000);
        let dynamic_alone = SymbolRules { band_up: distance, band_down: distance, ..SymbolRules::NONE };
        let static_alone = SymbolRules { static_up: distance, static_down: distance, ..SymbolRules::NONE };
        let both = SymbolRules { static_up: distance, static_down: distance, ..dynamic_alone };
        let band = |rules: SymbolRules, dynamic, fixed| {
            let references = BandReferences { dynamic: Price::from_units(dynamic), fixed: Price::from_units(fixed) };
            rules.band(references).map(|(low, high)| (low.units(), high.units()))
        };
        assert_eq!(band(both, 100, 105), Some((95, 110)));
        assert_eq!(band(both, 105, 100), Some((95, 110)), "rounded towards the inside");
        assert_eq!(band(both, 100, 0), Some((90, 110)));
        assert_eq!(band(both, 0, 105), Some((95, 115)));
        assert_eq!(band(both, 0, 0), None);
        assert_eq!(band(both, 100, 200), Some((180, 220)), "nothing is in both");
        assert_eq!(band(dynamic_alone, 100, 105), Some((90, 110)));
        assert_eq!(band(static_alone, 100, 105), Some((95, 115)));
    }
}
