//! The distance between two prices, as a percentage.

use std::fmt;
use std::num::NonZeroU32;

use crate::amount::{AmountError, Decimal, DecimalText};

/// Decimals of a distance.
const DISTANCE_DECIMALS: u32 = 2;
/// Units of 10^-8 in a hundredth of a per cent.
const UNITS_A_HUNDREDTH: u128 = 1_000_000;

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
}
