//! The fee of a party to an execution: a buyer pays in shares, a seller in dollars. A rate is exact, and the fee is
//! rounded up to the least unit, so no fraction is lost. This file knows neither accounts nor books.

use std::fmt;

use crate::amount::{DecimalText, Money, Price, Shares};
use crate::fees::FeeRate;
use crate::order::Side;

/// The fee of a party to an execution: a rate and the side, which decides whether shares or dollars pay it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Fee(u32);

/// The bit in a fee's number that marks a seller.
const SELLER: u32 = 1 << 31;

impl Fee {
    /// No fee.
    pub const NONE: Fee = Fee(0);

    /// The fee at a rate for this side.
    pub fn on(side: Side, rate: FeeRate) -> Fee {
        match side {
            Side::Sell if rate != FeeRate::ZERO => Fee(rate.millionths() | SELLER),
            Side::Sell | Side::Buy => Fee(rate.millionths()),
        }
    }

    pub fn is_none(self) -> bool {
        self == Fee::NONE
    }

    pub fn rate(self) -> FeeRate {
        FeeRate::from_millionths(self.0 & !SELLER).expect("invariant: it was made of a rate")
    }

    /// Whether the fee is paid in dollars.
    fn is_sellers(self) -> bool {
        self.0 & SELLER != 0
    }

    /// The number of the fee wherever executions are stored. Zero is no fee.
    pub fn code(self) -> u32 {
        self.0
    }

    /// The fee with this number.
    pub fn from_code(code: u32) -> Option<Fee> {
        let rate = FeeRate::from_millionths(code & !SELLER)?;
        let side = if code & SELLER == 0 { Side::Buy } else { Side::Sell };
        Some(Fee::on(side, rate)).filter(|fee| fee.0 == code)
    }

    /// The fee on the shares that a buyer received; zero for a seller's fee.
    pub fn of_shares(self, shares: Shares) -> Shares {
        if self.is_sellers() {
            return Shares::ZERO;
        }
        let units = i64::try_from(self.rate().of_units(shares.units().into())).ok();
        units.and_then(Shares::from_units).expect("invariant: a fee is no more than what was received")
    }

    /// The fee on the dollars that a seller received; zero for a buyer's fee.
    pub fn of_money(self, money: Money) -> Money {
        if self.is_sellers() { Money::from_units(self.rate().of_units(money.units())) } else { Money::ZERO }
    }

    /// The amount of the fee on an execution; none if there is none.
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

/// The amount of a fee, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Shares of a buyer.
    Shares(Shares),
    /// Dollars of a seller.
    Money(Money),
}

impl Taken {
    /// Whether a buyer paid it in shares, and not a seller in dollars.
    pub fn is_shares(self) -> bool {
        matches!(self, Taken::Shares(_))
    }

    /// The shortest decimal text of the amount.
    pub fn text(self) -> DecimalText {
        match self {
            Taken::Shares(shares) => shares.text(),
            Taken::Money(money) => money.text(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rate_of(millionths: u32) -> FeeRate {
        FeeRate::from_millionths(millionths).unwrap()
    }

    #[test]
    fn a_fee_is_rounded_up_and_no_more_than_what_was_received() {
        let (price, shares) = (|units| Price::from_units(units).unwrap(), |units| Shares::from_units(units).unwrap());
        let of_shares = |rate: u32, units| Fee::on(Side::Buy, rate_of(rate)).taken(price(1), shares(units));
        assert_eq!(of_shares(1_000, 100_000_000), Some(Taken::Shares(shares(100_000))));
        assert_eq!(of_shares(1_000, 999), Some(Taken::Shares(shares(1))));
        assert_eq!(of_shares(1_000, 1_001), Some(Taken::Shares(shares(2))));
        assert_eq!(of_shares(1, 1), Some(Taken::Shares(shares(1))));
        assert_eq!(of_shares(1_000_000, i64::MAX), Some(Taken::Shares(Shares::MAX)));
        assert_eq!(of_shares(0, 5), None);
        let of_money = |rate: u32, at, units| Fee::on(Side::Sell, rate_of(rate)).taken(price(at), shares(units));
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
        for fee in [Fee::NONE, Fee::on(Side::Buy, rate_of(7)), Fee::on(Side::Sell, FeeRate::MAX)] {
            assert_eq!(Fee::from_code(fee.code()), Some(fee));
        }
        assert_eq!(Fee::on(Side::Sell, FeeRate::ZERO), Fee::NONE);
        assert_eq!(Fee::from_code(1_000_001), None);
        assert_eq!(Fee::from_code(SELLER), None);
    }
}
