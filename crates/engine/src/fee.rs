//! What a party to an execution pays, and what that comes to: a buyer pays in shares, a seller in dollars. A rate is exact, and what it
//! comes to is rounded up to the least unit, so that no part of one is lost. It knows neither accounts nor books.

use std::fmt;

use crate::amount::{DecimalText, Money, Price, Shares};
use crate::command::Side;
use crate::fees::FeeRate;

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
    /// Whether it is of the shares that were bought, and not of dollars.
    pub fn is_shares(self) -> bool {
        matches!(self, Taken::Shares(_))
    }

    /// The shortest decimal.
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
