//! Fees: so much of what an execution brings each of its parties. A buyer pays in shares, a seller in dollars. A rate is exact, and what it
//! comes to is rounded up to the least unit, so that no part of one is lost. It knows neither accounts nor books; who pays which rate
//! stands in `fee_schedule.rs`, and how it is taken in `charging.rs`.

use std::fmt;

use crate::amount::{AmountError, Decimal, DecimalText, Money, Price, Shares};
use crate::command::Side;
use crate::ids::AccountId;
use crate::reply::Execution;

/// Decimals of a rate: it is a percentage.
const RATE_DECIMALS: u32 = 4;
/// Units of 10^-8 in one of a rate.
const UNITS_OF_A_RATE: u128 = 10_000;
/// A whole, in millionths.
const WHOLE: i128 = 1_000_000;

/// What part of what it receives a party pays: millionths, from none to all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeeRate(u32);

impl FeeRate {
    /// Nothing.
    pub const ZERO: FeeRate = FeeRate(0);
    /// All of it, 100 per cent.
    pub const MAX: FeeRate = FeeRate(FeeRate::MAX_MILLIONTHS);
    /// The same, in millionths.
    pub const MAX_MILLIONTHS: u32 = 1_000_000;

    /// Of so many millionths; none beyond all of them.
    pub fn from_millionths(millionths: u32) -> Option<FeeRate> {
        Some(FeeRate(millionths)).filter(|rate| *rate <= FeeRate::MAX)
    }

    /// In millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// A percentage as it was read. Errors: `Negative`, `AboveMaximum`, and `MoreDecimalsThan` beyond four.
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

    /// As a percentage, the shortest decimal.
    pub fn text(self) -> DecimalText {
        DecimalText::new(self.0.into(), RATE_DECIMALS)
    }

    /// So much of these units, rounded up. No more than all of them, because a rate is at most 100 per cent.
    fn of_units(self, units: i128) -> i128 {
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

/// A class of accounts, which pay the same rates. Everybody is of the first one who was not put into another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tier(u8);

impl Tier {
    /// Everybody's.
    pub const FIRST: Tier = Tier(0);
    /// How many there are.
    pub const COUNT: u8 = 16;

    /// None beyond the last one.
    pub fn new(number: u8) -> Option<Tier> {
        (number < Tier::COUNT).then_some(Tier(number))
    }

    /// A number as it was read. Errors: what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Tier, TierError> {
        let digits = !text.is_empty() && text.len() <= 2 && text.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        number.and_then(Tier::new).ok_or(TierError)
    }

    pub fn number(self) -> u8 {
        self.0
    }

    /// All of them.
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

/// What the accounts of a tier pay for executions in a symbol, and to whom. One of the rates is above zero: otherwise there are no fees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees<A = AccountId> {
    /// Of whose order was on the book first.
    pub maker: FeeRate,
    /// Of whose order came to it: the aggressor.
    pub taker: FeeRate,
    /// The account that gets them.
    pub account: A,
}

impl<A> Fees<A> {
    /// Whether one of the rates is above zero.
    pub fn is_any(&self) -> bool {
        self.maker != FeeRate::ZERO || self.taker != FeeRate::ZERO
    }

    /// The same, to an account that goes by another name.
    pub fn to<B>(&self, account: B) -> Fees<B> {
        Fees { maker: self.maker, taker: self.taker, account }
    }
}

/// What a party to an execution pays: a rate, and the side, which says of what.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Fee(u32);

/// In the number of a fee, beside its rate: that of a seller.
const SELLER: u32 = 1 << 31;

impl Fee {
    /// Nothing.
    pub const NONE: Fee = Fee(0);

    /// What one of this side pays at a rate.
    pub fn on(side: Side, rate: FeeRate) -> Fee {
        match side {
            Side::Sell if rate != FeeRate::ZERO => Fee(rate.0 | SELLER),
            Side::Sell | Side::Buy => Fee(rate.0),
        }
    }

    pub fn is_none(self) -> bool {
        self == Fee::NONE
    }

    pub fn rate(self) -> FeeRate {
        FeeRate(self.0 & !SELLER)
    }

    /// Whether it is paid in dollars.
    fn is_sellers(self) -> bool {
        self.0 & SELLER != 0
    }

    /// The number that stands for it wherever executions are written down. Zero is none.
    pub fn code(self) -> u32 {
        self.0
    }

    /// The one of a number.
    pub fn from_code(code: u32) -> Option<Fee> {
        let rate = FeeRate::from_millionths(code & !SELLER)?;
        let side = if code & SELLER == 0 { Side::Buy } else { Side::Sell };
        Some(Fee::on(side, rate)).filter(|fee| fee.0 == code)
    }

    /// What is taken of the shares that a buyer received; nothing of a seller's.
    pub(crate) fn of_shares(self, shares: Shares) -> Shares {
        if self.is_sellers() {
            return Shares::ZERO;
        }
        let units = i64::try_from(self.rate().of_units(shares.units().into())).ok();
        units.and_then(Shares::from_units).expect("invariant: a fee is no more than what was received")
    }

    /// What is taken of the dollars that a seller received; nothing of a buyer's.
    pub(crate) fn of_money(self, money: Money) -> Money {
        if self.is_sellers() { Money::from_units(self.rate().of_units(money.units())) } else { Money::ZERO }
    }

    /// What is taken of an execution; none if nothing is.
    pub fn taken(self, price: Price, shares: Shares) -> Option<Taken> {
        match (self.is_none(), self.is_sellers()) {
            (true, _) => None,
            (false, false) => Some(Taken::Shares(self.of_shares(shares))),
            (false, true) => Some(Taken::Money(self.of_money(price.times(shares)))),
        }
    }
}

impl fmt::Debug for Fee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_sellers() { "money" } else { "shares" };
        write!(f, "{} per cent of {of}", self.rate())
    }
}

/// What was taken of an execution. Above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Of a buyer.
    Shares(Shares),
    /// Of a seller.
    Money(Money),
}

impl Taken {
    /// The shortest decimal.
    pub fn text(self) -> DecimalText {
        match self {
            Taken::Shares(shares) => shares.text(),
            Taken::Money(money) => money.text(),
        }
    }
}

impl Execution {
    /// What was taken of it.
    pub fn taken(&self) -> Option<Taken> {
        self.fee.taken(self.price, self.shares)
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
    fn a_fee_is_rounded_up_and_no_more_than_what_was_received() {
        let (price, shares) = (|units| Price::from_units(units).unwrap(), |units| Shares::from_units(units).unwrap());
        let of_shares = |rate: u32, units| Fee::on(Side::Buy, FeeRate(rate)).taken(price(1), shares(units));
        assert_eq!(of_shares(1_000, 100_000_000), Some(Taken::Shares(shares(100_000))));
        assert_eq!(of_shares(1_000, 999), Some(Taken::Shares(shares(1))));
        assert_eq!(of_shares(1_000, 1_001), Some(Taken::Shares(shares(2))));
        assert_eq!(of_shares(1, 1), Some(Taken::Shares(shares(1))));
        assert_eq!(of_shares(1_000_000, i64::MAX), Some(Taken::Shares(Shares::MAX)));
        assert_eq!(of_shares(0, 5), None);
        let of_money = |rate: u32, at, units| Fee::on(Side::Sell, FeeRate(rate)).taken(price(at), shares(units));
        assert_eq!(of_money(1, 1, 1), Some(Taken::Money(Money::from_units(1))));
        assert_eq!(of_money(2_500, 3, 1_000), Some(Taken::Money(Money::from_units(8))));
        let most = i128::from(i64::MAX) * i128::from(i64::MAX);
        assert_eq!(of_money(1_000_000, i64::MAX, i64::MAX), Some(Taken::Money(Money::from_units(most))));
        assert_eq!(
            of_money(999_999, i64::MAX, i64::MAX),
            Some(Taken::Money(Money::from_units(most - most / 1_000_000)))
        );
    }

    #[test]
    fn the_number_of_a_fee_makes_the_fee() {
        for fee in [Fee::NONE, Fee::on(Side::Buy, FeeRate(7)), Fee::on(Side::Sell, FeeRate::MAX)] {
            assert_eq!(Fee::from_code(fee.code()), Some(fee));
        }
        assert_eq!(Fee::on(Side::Sell, FeeRate::ZERO), Fee::NONE);
        assert_eq!(Fee::from_code(1_000_001), None);
        assert_eq!(Fee::from_code(SELLER), None);
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
