//! Turnover: the sum of the money of executions. The same dollars change hands any number of times, so no cap on money
//! bounds it.

use std::fmt;

use crate::amount::{DecimalText, MONEY_DECIMALS, Money};

/// Dollars that were traded, scaled by 10^16, never negative. The sum stops at [`Turnover::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turnover(i128);

impl Turnover {
    /// No turnover.
    pub const ZERO: Turnover = Turnover(0);
    /// The highest turnover, 17014118346046923173168.7303715884105727 dollars: what 16 bytes hold.
    pub const MAX: Turnover = Turnover(i128::MAX);

    /// `units` × 10^-16 dollars, at most [`Turnover::MAX`]; none if negative.
    pub fn from_units(units: i128) -> Option<Turnover> {
        (units >= 0).then_some(Turnover(units))
    }

    /// Units of 10^-16 dollars.
    pub fn units(self) -> i128 {
        self.0
    }

    /// The sum, at most [`Turnover::MAX`]. It does not depend on the order in which parts are added.
    #[must_use]
    pub fn plus(self, other: Turnover) -> Turnover {
        Turnover(self.0.saturating_add(other.0))
    }

    /// The shortest decimal text of the turnover.
    pub fn text(self) -> DecimalText {
        DecimalText::new::<MONEY_DECIMALS>(self.0)
    }
}

/// Converts the money of one execution.
impl From<Money> for Turnover {
    fn from(money: Money) -> Turnover {
        Turnover(money.units().max(0))
    }
}

impl fmt::Display for Turnover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_dollars_are_traded_again_and_again_until_the_sum_stops_at_its_most() {
        let all_there_is = Turnover::from(Money::CAP);
        let sum = (0..1000).fold(Turnover::ZERO, |sum, _| sum.plus(all_there_is));
        assert_eq!((sum, sum.plus(all_there_is)), (Turnover::MAX, Turnover::MAX));
        assert_eq!(sum.to_string(), "17014118346046923173168.7303715884105727");
        assert_eq!(Turnover::from_units(-1), None);
    }

    #[test]
    fn parts_may_be_added_in_any_order() {
        let near = Turnover::from_units(i128::MAX - 5).expect("above zero");
        let [three, four] = [3, 4].map(|units| Turnover::from_units(units).expect("above zero"));
        assert_eq!(near.plus(three).plus(four), near.plus(three.plus(four)));
        assert_eq!(near.plus(three).plus(four), Turnover::MAX);
    }
}
