//! Fees: rates, the tiers of accounts that pay them, and the account that gets them. This file knows neither accounts
//! nor books: `fee.rs` computes amounts, `fee_schedule.rs` keeps who pays which fees, and `fees/apply.rs` takes them.

use std::fmt;

use crate::amount::{AmountError, Decimal, DecimalText};
use crate::ids::AccountId;

/// Decimals of a rate: it is a percentage.
const RATE_DECIMALS: u32 = 4;
/// Units of 10^-8 in one unit of a rate.
const UNITS_OF_A_RATE: u128 = 10_000;
/// The whole, in millionths.
const WHOLE: i128 = 1_000_000;

/// The part of the proceeds that a party pays: millionths, from none to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeeRate(u32);

impl FeeRate {
    /// A rate of zero.
    pub const ZERO: FeeRate = FeeRate(0);
    /// The highest rate, 100 per cent.
    pub const MAX: FeeRate = FeeRate(FeeRate::MAX_MILLIONTHS);
    /// The highest rate, in millionths.
    pub const MAX_MILLIONTHS: u32 = 1_000_000;

    /// A rate of this many millionths; none beyond all of them.
    pub fn from_millionths(millionths: u32) -> Option<FeeRate> {
        Some(FeeRate(millionths)).filter(|rate| *rate <= FeeRate::MAX)
    }

    /// Millionths of the proceeds.
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// Reads a percentage. Errors: `Negative`, `AboveMaximum`, and `MoreDecimalsThan` beyond four.
    pub fn of(percent: Decimal) -> Result<FeeRate, AmountError> {
        if percent.negative {
            return Err(AmountError::Negative);
        }
        if !percent.units.is_multiple_of(UNITS_OF_A_RATE) {
            return Err(AmountError::MoreDecimalsThan { most: RATE_DECIMALS });
        }
        let millionths = u32::try_from(percent.units.wrapping_div(UNITS_OF_A_RATE)).ok();
        let too_high = AmountError::AboveMaximum { maximum: FeeRate::MAX.text() };
        millionths.and_then(FeeRate::from_millionths).ok_or(too_high)
    }

    /// The rate as a percentage, in the shortest decimal.
    pub fn text(self) -> DecimalText {
        DecimalText::new::<RATE_DECIMALS>(self.0.into())
    }

    /// The fee on these units, rounded up. It is at most the units themselves, because a rate is at most 100 per cent.
    pub(crate) fn of_units(self, units: i128) -> i128 {
        let (whole, rest) = (units.wrapping_div(WHOLE), units.wrapping_rem(WHOLE));
        let of_rest = rest.saturating_mul(self.0.into()).saturating_add(WHOLE).saturating_sub(1).wrapping_div(WHOLE);
        whole.saturating_mul(self.0.into()).saturating_add(of_rest)
    }
}

impl fmt::Display for FeeRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

/// A class of accounts that pay the same rates. An account is in the first tier until it is moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tier(u8);

impl Tier {
    /// The tier of accounts that were never moved.
    pub const FIRST: Tier = Tier(0);
    /// The number of tiers.
    pub const COUNT: u8 = 16;

    /// The tier with this number; none beyond the last one.
    pub fn new(number: u8) -> Option<Tier> {
        (number < Tier::COUNT).then_some(Tier(number))
    }

    /// Reads the number of a tier. Errors: a text that is no such number.
    pub fn parse(text: &[u8]) -> Result<Tier, TierError> {
        let digits = !text.is_empty() && text.len() <= 2 && text.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        number.and_then(Tier::new).ok_or(TierError)
    }

    pub fn number(self) -> u8 {
        self.0
    }

    /// All tiers.
    pub fn all() -> impl Iterator<Item = Tier> {
        (0..Tier::COUNT).map(Tier)
    }
}

/// A text that is no tier. Its `Display` follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierError;

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is not a whole number from 0 to {}", Tier::COUNT.wrapping_sub(1))
    }
}

impl std::error::Error for TierError {}

/// Fees that accounts of a tier pay for executions in a symbol, and the account that gets them. One of the rates is
/// above zero: otherwise there are no fees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees<A = AccountId> {
    /// The maker's rate.
    pub maker: FeeRate,
    /// The taker's rate: the aggressor's.
    pub taker: FeeRate,
    /// The account that gets them.
    pub account: A,
}

impl<A> Fees<A> {
    /// Whether one of the rates is above zero.
    pub fn is_any(&self) -> bool {
        self.maker != FeeRate::ZERO || self.taker != FeeRate::ZERO
    }

    /// Converts the fees to another form of the account.
    pub fn to<B>(&self, account: B) -> Fees<B> {
        Fees { maker: self.maker, taker: self.taker, account }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn percent(text: &str) -> Result<FeeRate, String> {
        FeeRate::of(Decimal::parse(text.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_rate_is_a_percentage_of_four_decimals() {
        assert_eq!(percent("0.1").unwrap().millionths(), 1_000);
        assert_eq!(percent("0.0001").unwrap().to_string(), "0.0001");
        assert_eq!(percent("0").unwrap(), FeeRate::ZERO);
        assert_eq!(percent("100").unwrap(), FeeRate::MAX);
        assert_eq!(percent("100.0001").unwrap_err(), "is out of range; at most 100");
        assert_eq!(percent("0.00001").unwrap_err(), "has more than 4 decimal places");
        assert_eq!(percent("-0.1").unwrap_err(), "is negative; at least 0");
    }

    #[test]
    fn a_tier_is_a_number_below_sixteen() {
        assert_eq!(Tier::parse(b"15").map(Tier::number), Ok(15));
        assert_eq!(Tier::parse(b"00"), Ok(Tier::FIRST));
        for text in ["16", "-1", "", "1.0", "+1", "001"] {
            assert_eq!(Tier::parse(text.as_bytes()), Err(TierError), "{text}");
        }
        assert_eq!(TierError.to_string(), "is not a whole number from 0 to 15");
    }
}
