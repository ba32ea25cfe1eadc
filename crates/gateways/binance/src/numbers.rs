//! Numbers as these clients expect them: text with eight decimals, and more only where money has more.

use terms::{Money, Position, Price, Shares, Turnover};

/// Decimals of a price and of a number of shares.
const DECIMALS: usize = 8;
const SCALE: i128 = 100_000_000;
const MONEY_SCALE: i128 = SCALE * SCALE;

/// Writes units of 10^-8.
fn eight(units: i128) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let scale = SCALE.unsigned_abs();
    format!("{sign}{}.{:08}", units / scale, units % scale)
}

pub(crate) fn price(price: Price) -> String {
    eight(price.units().into())
}

/// Writes a price, or zero without one.
pub(crate) fn price_or_zero(there: Option<Price>) -> String {
    there.map_or_else(|| eight(0), price)
}

/// Writes a price less another one.
pub(crate) fn price_change(price: Price, before: Price) -> String {
    eight(i128::from(price.units()) - i128::from(before.units()))
}

pub(crate) fn shares(shares: Shares) -> String {
    eight(shares.units().into())
}

pub(crate) fn position(position: Position) -> String {
    eight(position.units())
}

pub(crate) fn millionths(millionths: u32) -> String {
    eight(i128::from(millionths) * 100)
}

pub(crate) fn zero() -> String {
    eight(0)
}

/// Writes money exactly: its 16 decimals, without the zeros behind the first eight.
pub(crate) fn money(money: Money) -> String {
    dollars(money.units())
}

pub(crate) fn turnover(turnover: Turnover) -> String {
    dollars(turnover.units())
}

fn dollars(units: i128) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let scale = MONEY_SCALE.unsigned_abs();
    let mut decimals = format!("{:016}", units % scale);
    while decimals.len() > DECIMALS && decimals.ends_with('0') {
        decimals.pop();
    }
    format!("{sign}{}.{decimals}", units / scale)
}

/// Writes the average price of a share, rounded down to the decimals of a price; zero without shares.
pub(crate) fn average(money: Turnover, shares: Position) -> String {
    eight(money.units().checked_div(shares.units()).unwrap_or_default())
}

/// Writes how much a price has changed since `before`, in percent with three decimals, rounded towards zero.
pub(crate) fn percent(price: Price, before: Price) -> String {
    let (price, before) = (i128::from(price.units()), i128::from(before.units()));
    let thousandths = (price - before) * 100_000 / before;
    let sign = if thousandths < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", thousandths.abs() / 1000, thousandths.abs() % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_eight_decimals_and_money_as_many_as_it_needs() {
        assert_eq!(price(Price::from_units(14_567_000_000).expect("above zero")), "145.67000000");
        assert_eq!(position(Position::from_units(0)), "0.00000000");
        assert_eq!(position(Position::from_units(-150_000_001)), "-1.50000001");
        assert_eq!(money(Money::from_units(10i128.pow(16))), "1.00000000");
        assert_eq!(money(Money::from_units(1)), "0.0000000000000001");
        assert_eq!(money(Money::from_units(12 * 10i128.pow(15) + 500)), "1.20000000000005");
        assert_eq!(money(Money::from_units(-(10i128.pow(16)) - 10)), "-1.000000000000001");
    }

    #[test]
    fn a_change_is_told_in_percent() {
        let price = |units| Price::from_units(units).expect("above zero");
        assert_eq!(percent(price(101), price(100)), "1.000");
        assert_eq!(percent(price(2), price(3)), "-33.333");
        assert_eq!(percent(price(100_001), price(100_000)), "0.001");
        assert_eq!(percent(price(7), price(7)), "0.000");
    }
}
