//! The price band of a symbol: its references, and how far from them prices may be.

use std::fmt;
use std::num::NonZeroU32;

use crate::amount::{AmountError, Decimal, DecimalText, Price};
use crate::rules::SymbolRules;

/// Decimals of a distance, which is a percentage.
const DISTANCE_DECIMALS: u32 = 2;
/// Units of 10^-8 in a hundredth of a per cent.
const UNITS_A_HUNDREDTH: u128 = 1_000_000;
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

/// The distance between two prices: hundredths of a per cent of one of them, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance(NonZeroU32);

impl Distance {
    /// The largest distance, 10,000 per cent.
    pub const MAX: Distance = Distance(NonZeroU32::new(1_000_000).expect("above zero"));
    /// The largest distance below a price, 99.99 per cent: the whole would be no bound.
    pub const DOWN_MAX: Distance = Distance(NonZeroU32::new(9_999).expect("above zero"));

    /// A distance of this many hundredths of a per cent; none for zero and beyond the largest.
    pub fn from_hundredths(hundredths: u32) -> Option<Distance> {
        NonZeroU32::new(hundredths).map(Distance).filter(|distance| *distance <= Distance::MAX)
    }

    /// Hundredths of a per cent.
    pub fn hundredths(self) -> u32 {
        self.0.get()
    }

    /// Reads a percentage. Errors: `NotAboveZero`, `AboveMaximum`, and `TooManyDecimals` beyond two.
    pub fn of(percent: Decimal) -> Result<Distance, AmountError> {
        if percent.negative || percent.units == 0 {
            return Err(AmountError::NotAboveZero);
        }
        if !percent.units.is_multiple_of(UNITS_A_HUNDREDTH) {
            return Err(AmountError::MoreDecimalsThan { most: DISTANCE_DECIMALS });
        }
        let hundredths = u32::try_from(percent.units.wrapping_div(UNITS_A_HUNDREDTH)).ok();
        let too_far = AmountError::AboveMaximum { maximum: Distance::MAX.text() };
        hundredths.and_then(Distance::from_hundredths).ok_or(too_far)
    }

    /// The distance as a percentage, in the shortest decimal.
    pub fn text(self) -> DecimalText {
        DecimalText::new::<DISTANCE_DECIMALS>(self.0.get().into())
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn percent(text: &str) -> Result<Distance, String> {
        Distance::of(Decimal::parse(text.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_distance_is_a_percentage_of_two_decimals() {
        assert_eq!(percent("5").unwrap().hundredths(), 500);
        assert_eq!(percent("0.25").unwrap().to_string(), "0.25");
        assert_eq!(percent("10000").unwrap(), Distance::MAX);
        assert_eq!(percent("10000.01").unwrap_err(), "is out of range; at most 10000");
        assert_eq!(percent("0.001").unwrap_err(), "has more than 2 decimal places");
        assert_eq!(percent("0").unwrap_err(), "is not above zero");
    }

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
        assert_eq!(band(both, 100, 0), Some((90, 110)));
        assert_eq!(band(both, 0, 105), Some((95, 115)));
        assert_eq!(band(both, 0, 0), None);
        assert_eq!(band(both, 100, 200), Some((180, 220)), "nothing is in both");
        assert_eq!(band(dynamic_alone, 100, 105), Some((90, 110)));
        assert_eq!(band(static_alone, 100, 105), Some((95, 115)));
    }
}
