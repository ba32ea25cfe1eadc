//! Limits of an account, as a venue sets them. This file knows neither books nor orders: `limits/state.rs`
//! counts, and `limits/apply.rs` checks orders against the bounds.

use std::fmt;
use std::num::NonZeroU32;

use crate::amount::{AmountError, Decimal, DecimalText, Money, Shares};
use crate::distance::Distance;
use crate::rules::SymbolRules;

/// The bounds of an account. A bound that is not set stands at the bound that every order obeys, so an account without
/// limits equals one whose limits bound nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountLimits {
    /// Open orders at most, those that wait included.
    pub open_orders: Option<NonZeroU32>,
    /// The most shares that one order may have. [`Shares::MAX`] is no limit.
    pub order_shares: Shares,
    /// The highest value that one order may have. [`SymbolRules::VALUE_MAX`] is no limit.
    pub order_value: Money,
    /// The largest position in a symbol, counting the shares that open buys may bring. [`Shares::MAX`] is no limit.
    pub position: Shares,
    /// The distance by which a buy may pay more than the best ask, and a sell take less than the best bid.
    pub collar: Option<Distance>,
}

impl AccountLimits {
    /// The limits of an account that was never given any.
    pub const NONE: AccountLimits = AccountLimits {
        open_orders: None,
        order_shares: Shares::MAX,
        order_value: SymbolRules::VALUE_MAX,
        position: Shares::MAX,
        collar: None,
    };

    /// Whether an order could obey these limits. Readers of files ask, because no text can set others.
    pub fn is_sound(&self) -> bool {
        !self.order_shares.is_zero()
            && !self.order_value.is_negative()
            && self.order_value != Money::ZERO
            && self.order_value <= SymbolRules::VALUE_MAX
    }

    /// The value of one limit; none if it is not set.
    pub fn amount(&self, limit: AccountLimit) -> Option<DecimalText> {
        let none = AccountLimits::NONE;
        match limit {
            AccountLimit::OpenOrders => self.open_orders.map(|most| DecimalText::new::<0>(most.get().into())),
            AccountLimit::OrderShares => (self.order_shares != none.order_shares).then(|| self.order_shares.text()),
            AccountLimit::OrderValue => (self.order_value != none.order_value).then(|| self.order_value.text()),
            AccountLimit::Position => (self.position != none.position).then(|| self.position.text()),
            AccountLimit::Collar => self.collar.map(Distance::text),
        }
    }

    /// Sets one limit from a client's text. Errors: those of the amounts; zero for limits that must be above zero.
    pub fn set_amount(&mut self, limit: AccountLimit, amount: Decimal) -> Result<(), AmountError> {
        let is_zero = amount.negative || amount.units == 0;
        match limit {
            AccountLimit::OpenOrders => self.open_orders = Some(whole(amount)?),
            AccountLimit::OrderShares | AccountLimit::OrderValue if is_zero => return Err(AmountError::NotAboveZero),
            AccountLimit::OrderShares => self.order_shares = amount.order_shares()?,
            AccountLimit::OrderValue => self.order_value = amount.money()?,
            AccountLimit::Position if amount.negative => return Err(AmountError::Negative),
            AccountLimit::Position if is_zero => self.position = Shares::ZERO,
            AccountLimit::Position => self.position = position(amount)?,
            AccountLimit::Collar => self.collar = Some(Distance::of(amount)?),
        }
        Ok(())
    }
}

/// Reads a position that is a limit: the greatest number of shares is none.
fn position(amount: Decimal) -> Result<Shares, AmountError> {
    let most = Shares::MAX.less(Shares::MIN);
    match amount.order_shares()? {
        shares if shares <= most => Ok(shares),
        _ => Err(AmountError::AboveMaximum { maximum: most.text() }),
    }
}

/// Reads a whole number above zero.
fn whole(amount: Decimal) -> Result<NonZeroU32, AmountError> {
    const ONE: u128 = 100_000_000;
    if amount.negative || amount.units == 0 {
        return Err(AmountError::NotAboveZero);
    }
    if !amount.units.is_multiple_of(ONE) {
        return Err(AmountError::MoreDecimalsThan { most: 0 });
    }
    let number = u32::try_from(amount.units.wrapping_div(ONE)).ok().and_then(NonZeroU32::new);
    number.ok_or(AmountError::AboveMaximum { maximum: DecimalText::new::<0>(u32::MAX.into()) })
}

/// The limits, one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountLimit {
    OpenOrders,
    OrderShares,
    OrderValue,
    Position,
    Collar,
}

impl AccountLimit {
    /// All limits, in the order in which they are shown and in which an order is checked against them.
    pub const ALL: [AccountLimit; 5] = [
        AccountLimit::OpenOrders,
        AccountLimit::OrderShares,
        AccountLimit::OrderValue,
        AccountLimit::Position,
        AccountLimit::Collar,
    ];

    /// The name of the limit wherever limits are shown.
    pub const fn name(self) -> &'static str {
        match self {
            AccountLimit::OpenOrders => "open-orders",
            AccountLimit::OrderShares => "order-shares",
            AccountLimit::OrderValue => "order-value",
            AccountLimit::Position => "position",
            AccountLimit::Collar => "collar",
        }
    }
}

impl Default for AccountLimits {
    fn default() -> AccountLimits {
        AccountLimits::NONE
    }
}

impl fmt::Display for AccountLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == AccountLimits::NONE {
            return f.write_str("no limits");
        }
        let mut between = "";
        for limit in AccountLimit::ALL {
            if let Some(amount) = self.amount(limit) {
                write!(f, "{between}{} {}", limit.name(), amount.as_str())?;
                between = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn limits_are_said_as_they_are_told() {
        let set = |limit, text: &str| {
            let mut limits = AccountLimits::NONE;
            let amount = Decimal::parse(text.as_bytes()).unwrap();
            limits.set_amount(limit, amount).map(|()| limits.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(set(AccountLimit::OpenOrders, "100"), Ok("open-orders 100".to_owned()));
        assert_eq!(set(AccountLimit::OpenOrders, "0"), Err("is not above zero".to_owned()));
        assert_eq!(set(AccountLimit::OpenOrders, "1.5"), Err("has more than 0 decimal places".to_owned()));
        let most = "is out of range; at most 4294967295";
        assert_eq!(set(AccountLimit::OpenOrders, "4294967296"), Err(most.to_owned()));
        assert_eq!(set(AccountLimit::OrderShares, "0.5"), Ok("order-shares 0.5".to_owned()));
        assert_eq!(set(AccountLimit::OrderShares, "0"), Err("is not above zero".to_owned()));
        let most = "92233720368.54775806";
        assert_eq!(set(AccountLimit::Position, most), Ok(format!("position {most}")));
        let greatest = set(AccountLimit::Position, "92233720368.54775807");
        assert_eq!(greatest, Err(format!("is out of range; at most {most}")), "it was taken, and was no limit");
        assert_eq!(set(AccountLimit::OrderValue, "250000.25"), Ok("order-value 250000.25".to_owned()));
        assert_eq!(set(AccountLimit::Position, "0"), Ok("position 0".to_owned()));
        assert_eq!(set(AccountLimit::Position, "-1"), Err("is negative; at least 0".to_owned()));
        assert_eq!(set(AccountLimit::Collar, "2.5"), Ok("collar 2.5".to_owned()));
        assert_eq!(AccountLimits::NONE.to_string(), "no limits");
        assert!(AccountLimits::NONE.is_sound());
        assert!(!AccountLimits { order_value: Money::ZERO, ..AccountLimits::NONE }.is_sound());
    }
}
