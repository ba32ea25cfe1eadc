//! Exact amounts: prices, shares, positions and money as scaled integers, their text forms and their bounds.
//! Knows nothing of accounts, orders or protocols.
//!
//! Prices and shares have 8 decimals, money has 16, so that price × shares is always exact. Source: docs/PROTOCOL.md,
//! numbers.

use std::fmt;
use std::num::NonZeroI64;

/// Decimals of a price and of shares.
pub const SHARE_DECIMALS: u32 = 8;
/// Decimals of money: those of a price plus those of shares.
pub const MONEY_DECIMALS: u32 = 16;

const SHARE_SCALE: i128 = 10i128.pow(SHARE_DECIMALS);
/// One dollar, in units of [`Money`].
pub const DOLLAR: i128 = 10i128.pow(MONEY_DECIMALS);

/// A limit or execution price: dollars a share, scaled by 10^8, always above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(NonZeroI64);

/// The shares of one order or execution, scaled by 10^8, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shares(i64);

/// Shares of one symbol that an account owns, or a total of shares, scaled by 10^8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(i128);

/// Dollars, scaled by 10^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

impl Price {
    /// The highest price, 92233720368.54775807.
    pub const MAX: Price = Price(NonZeroI64::MAX);
    /// The lowest price, 0.00000001.
    pub const MIN: Price = Price(NonZeroI64::new(1).expect("above zero"));

    /// A price of `units` × 10^-8 dollars; none unless above zero.
    pub fn from_units(units: i64) -> Option<Price> {
        NonZeroI64::new(units).filter(|units| units.is_positive()).map(Price)
    }

    /// The price in units of 10^-8 dollars.
    #[inline]
    pub fn units(self) -> i64 {
        self.0.get()
    }

    /// Whether this price is a multiple of the tick.
    #[inline]
    pub fn is_multiple_of(self, tick: Price) -> bool {
        self.units().checked_rem(tick.units()) == Some(0)
    }

    /// The nearest multiple of the tick that is no higher than this price; none below the first one.
    pub fn rounded_down(self, tick: Price) -> Option<Price> {
        let rest = self.units().checked_rem(tick.units())?;
        Price::from_units(self.units().checked_sub(rest)?)
    }

    /// The nearest multiple of the tick that is no lower than this price; none above the last one.
    pub fn rounded_up(self, tick: Price) -> Option<Price> {
        match self.units().checked_rem(tick.units())? {
            0 => Some(self),
            rest => Price::from_units(self.units().checked_sub(rest)?.checked_add(tick.units())?),
        }
    }

    /// The exact cost of `shares` at this price.
    #[inline]
    pub fn times(self, shares: Shares) -> Money {
        // The product of two non-negative i64 is below 2^126.
        Money(i128::from(self.units()).saturating_mul(i128::from(shares.0)))
    }
}

impl Shares {
    /// No shares.
    pub const ZERO: Shares = Shares(0);
    /// The fewest shares one order may have, 0.00000001.
    pub const MIN: Shares = Shares(1);
    /// The most shares one order may have, 92233720368.54775807.
    pub const MAX: Shares = Shares(i64::MAX);

    /// `units` × 10^-8 shares; none if negative.
    pub fn from_units(units: i64) -> Option<Shares> {
        (units >= 0).then_some(Shares(units))
    }

    /// The shares in units of 10^-8.
    #[inline]
    pub fn units(self) -> i64 {
        self.0
    }

    /// Whether there are none.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum of two numbers of shares of one order. Panics above [`Shares::MAX`]: no order has so many.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Shares) -> Shares {
        Shares(self.0.checked_add(other.0).expect("invariant: an order has no more shares than there may be"))
    }

    /// The shares that remain after `taken`. Panics if `taken` is more than there are: that would be our bug.
    #[inline]
    #[must_use]
    pub fn less(self, taken: Shares) -> Shares {
        assert!(taken.0 <= self.0, "invariant: no more shares are taken than are there");
        Shares(self.0.wrapping_sub(taken.0))
    }

    /// The largest multiple of `lot` that is at most this. `lot` is above zero.
    #[inline]
    #[must_use]
    pub fn rounded_down(self, lot: Shares) -> Shares {
        Shares(self.0.wrapping_sub(self.0.checked_rem(lot.0).expect("invariant: a lot is above zero")))
    }

    /// Converts the shares to a total.
    #[inline]
    pub fn position(self) -> Position {
        Position(i128::from(self.0))
    }
}

impl Position {
    /// No shares.
    pub const ZERO: Position = Position(0);
    /// The most shares of one symbol that may be issued: 10^20.
    pub const CAP: Position = Position(10i128.pow(20) * SHARE_SCALE);

    /// `units` × 10^-8 shares.
    pub const fn from_units(units: i128) -> Position {
        Position(units)
    }

    /// Units of 10^-8 shares.
    #[inline]
    pub fn units(self) -> i128 {
        self.0
    }

    /// The sum. Panics on overflow, which the cap on issued shares rules out.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Position) -> Position {
        Position(self.0.checked_add(other.0).expect("invariant: shares are capped at 10^20 a symbol"))
    }

    /// The difference. Panics on overflow.
    #[inline]
    #[must_use]
    pub fn minus(self, other: Position) -> Position {
        Position(self.0.checked_sub(other.0).expect("invariant: shares are capped at 10^20 a symbol"))
    }

    /// Whether the position is below zero, which no account's ever is.
    #[inline]
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl Money {
    /// The most shares that this pays for at a price, and that one order may have.
    #[inline]
    pub fn buys(self, price: Price) -> Shares {
        let units = self.0.max(0).checked_div(i128::from(price.units())).expect("invariant: a price is above zero");
        Shares(i64::try_from(units).unwrap_or(i64::MAX))
    }

    /// No money.
    pub const ZERO: Money = Money(0);
    /// The most dollars that all accounts together may be created with: 10^20.
    pub const CAP: Money = Money(10i128.pow(20) * DOLLAR);

    /// `units` × 10^-16 dollars.
    pub const fn from_units(units: i128) -> Money {
        Money(units)
    }

    /// Units of 10^-16 dollars.
    #[inline]
    pub fn units(self) -> i128 {
        self.0
    }

    /// The sum. Panics on overflow, which the cap on created money rules out.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.checked_add(other.0).expect("invariant: money is capped at 10^20 dollars"))
    }

    /// The difference. Panics on overflow.
    #[inline]
    #[must_use]
    pub fn minus(self, other: Money) -> Money {
        Money(self.0.checked_sub(other.0).expect("invariant: money is capped at 10^20 dollars"))
    }

    /// Whether the money is below zero, which no account's balance ever is.
    #[inline]
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }
}

/// The reason why a text is no amount. Its `Display` follows the field's name: "limit has 9 decimal places; at most 8".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmountError {
    /// The text is not digits with at most one point and at most a leading minus.
    NotADecimal,
    /// The text has more decimals than the type can hold.
    TooManyDecimals { found: usize },
    /// The text has more decimals than this kind of amount may have.
    MoreDecimalsThan { most: u32 },
    /// Above the bound of its kind.
    AboveMaximum { maximum: DecimalText },
    /// Below zero where that is not allowed.
    Negative,
    /// Zero where that is not allowed.
    Zero,
    /// Zero or less where only more is allowed.
    NotAboveZero,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AmountError::NotADecimal => f.write_str("is not a plain decimal number"),
            AmountError::TooManyDecimals { found } => {
                write!(f, "has {found} decimal places; at most {SHARE_DECIMALS}")
            }
            AmountError::MoreDecimalsThan { most } => write!(f, "has more than {most} decimal places"),
            AmountError::AboveMaximum { maximum } => write!(f, "is out of range; at most {}", maximum.as_str()),
            AmountError::Negative => f.write_str("is negative; at least 0"),
            AmountError::Zero => f.write_str("is zero"),
            AmountError::NotAboveZero => f.write_str("is not above zero"),
        }
    }
}

impl std::error::Error for AmountError {}

/// A decimal number from a text: a sign and units of 10^-8. `-0` reads as not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Below zero.
    pub negative: bool,
    /// The absolute value in units of 10^-8; `u128::MAX` when there were too many digits to hold.
    pub units: u128,
}

impl Decimal {
    /// Reads `007`, `.5`, `5.`, `-12.25`: an optional minus, digits with at most one point, at least one digit.
    /// Errors: `NotADecimal`, `TooManyDecimals`. Source: docs/PROTOCOL.md, numbers.
    pub fn parse(text: &[u8]) -> Result<Decimal, AmountError> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        if let Some(units) = short_units(digits) {
            return Ok(Decimal { negative: negative && units != 0, units: u128::from(units) });
        }
        let (whole, fraction) = match digits.iter().position(|&byte| byte == b'.') {
            Some(point) => {
                let (whole, rest) = digits.split_at(point);
                (whole, rest.get(1..).unwrap_or_default())
            }
            None => (digits, &[][..]),
        };
        if (whole.is_empty() && fraction.is_empty()) || !whole.iter().chain(fraction).all(|byte| byte.is_ascii_digit())
        {
            return Err(AmountError::NotADecimal);
        }
        if fraction.len() > SHARE_DECIMALS as usize {
            return Err(AmountError::TooManyDecimals { found: fraction.len() });
        }
        let padding = (SHARE_DECIMALS as usize).saturating_sub(fraction.len());
        let units = digits_value(whole, fraction, padding).unwrap_or(u128::MAX);
        Ok(Decimal { negative: negative && units != 0, units })
    }

    /// Converts to a price. Errors: `NotAboveZero`, `AboveMaximum`.
    pub fn price(self) -> Result<Price, AmountError> {
        if self.negative || self.units == 0 {
            return Err(AmountError::NotAboveZero);
        }
        let units = i64::try_from(self.units).ok();
        // The text of the bound takes longer to write than the limit takes to read, so only an error writes it.
        units.and_then(Price::from_units).ok_or_else(|| AmountError::AboveMaximum { maximum: Price::MAX.text() })
    }

    /// Converts the absolute value to the shares of an order; the sign gives the side. Errors: `Zero`, `AboveMaximum`.
    pub fn order_shares(self) -> Result<Shares, AmountError> {
        match i64::try_from(self.units) {
            Ok(0) => Err(AmountError::Zero),
            Ok(units) => Ok(Shares(units)),
            Err(_) => Err(AmountError::AboveMaximum { maximum: Shares::MAX.text() }),
        }
    }

    /// Converts to shares to issue. Errors: `Negative`, `AboveMaximum` (10^20 shares).
    pub fn position(self) -> Result<Position, AmountError> {
        let maximum = Position::CAP;
        self.up_to(maximum.0.unsigned_abs()).map(Position).map_err(|error| error.with_maximum(maximum.text()))
    }

    /// Converts to dollars. Errors: `Negative`, `AboveMaximum` (10^20 dollars).
    pub fn money(self) -> Result<Money, AmountError> {
        let maximum = Money::CAP;
        self.up_to(maximum.0.unsigned_abs().checked_div(SHARE_SCALE.unsigned_abs()).unwrap_or_default())
            .map(|units| Money(units.saturating_mul(SHARE_SCALE)))
            .map_err(|error| error.with_maximum(maximum.text()))
    }

    fn up_to(self, maximum: u128) -> Result<i128, AmountError> {
        if self.negative {
            return Err(AmountError::Negative);
        }
        if self.units > maximum {
            return Err(AmountError::AboveMaximum { maximum: Position::ZERO.text() });
        }
        Ok(i128::try_from(self.units).expect("invariant: at most 10^28"))
    }
}

impl AmountError {
    fn with_maximum(self, text: DecimalText) -> AmountError {
        match self {
            AmountError::AboveMaximum { .. } => AmountError::AboveMaximum { maximum: text },
            AmountError::NotADecimal
            | AmountError::TooManyDecimals { .. }
            | AmountError::MoreDecimalsThan { .. }
            | AmountError::Negative
            | AmountError::Zero
            | AmountError::NotAboveZero => self,
        }
    }
}

/// The most characters that `short_units` reads: 10^11 with eight decimals fits a u64.
const SHORT_CHARACTERS_MAX: usize = 11;
const _: () = assert!(SHORT_CHARACTERS_MAX as u32 + SHARE_DECIMALS <= u64::MAX.ilog10());

/// Reads a short decimal in one pass, in units of a share. Returns `None` for a text that is too long or no decimal.
fn short_units(text: &[u8]) -> Option<u64> {
    const SCALES: [u64; SHARE_DECIMALS as usize + 1] =
        [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    if text.len() > SHORT_CHARACTERS_MAX {
        return None;
    }
    let (mut value, mut digits, mut decimals, mut has_point) = (0u64, 0usize, 0usize, false);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits = digits.wrapping_add(1);
            decimals = decimals.wrapping_add(usize::from(has_point));
        } else if byte == b'.' && !has_point {
            has_point = true;
        } else {
            return None;
        }
    }
    let scale = SCALES.get(decimals).filter(|_| digits > 0)?;
    Some(value.wrapping_mul(*scale))
}

fn digits_value(whole: &[u8], fraction: &[u8], padding: usize) -> Option<u128> {
    let digits = whole.len().saturating_add(fraction.len()).saturating_add(padding);
    let zeros = std::iter::repeat_n(&b'0', padding);
    let all = whole.iter().chain(fraction).chain(zeros);
    if digits <= 19 {
        // Nineteen digits fit a u64, whose arithmetic is several times faster than that of a u128.
        let value =
            all.fold(0u64, |value, &digit| value.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0'))));
        return Some(u128::from(value));
    }
    let mut value = 0u128;
    for &digit in all {
        value = value.checked_mul(10)?.checked_add(u128::from(digit.wrapping_sub(b'0')))?;
    }
    Some(value)
}

/// The shortest decimal of an amount (`125`, `145.67`, `0.1`), held without allocation.
#[derive(Clone, Copy)]
pub struct DecimalText {
    bytes: [u8; 48],
    start: u8,
    end: u8,
}

impl DecimalText {
    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The text as ASCII bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }

    /// Writes units with `DECIMALS` decimals. The compiler knows the number, because division by a constant is several
    /// times faster.
    pub(crate) fn new<const DECIMALS: u32>(units: i128) -> DecimalText {
        let mut text = DecimalText { bytes: [b'0'; 48], start: 48, end: 48 };
        // Most amounts are whole, so the fraction is split off at once and not digit by digit.
        let (mut whole, mut fraction) = div_rem(units.unsigned_abs(), const { 10u64.wrapping_pow(DECIMALS) });
        if fraction != 0 {
            let mut written = false;
            for _ in 0..DECIMALS {
                let digit;
                (fraction, digit) = div_rem(fraction, 10);
                // Zeros at the end of the fraction are left out.
                written |= digit != 0;
                if written {
                    text.push_digit(digit);
                }
            }
            text.push_front(b'.');
        }
        loop {
            let digit;
            (whole, digit) = div_rem(whole, 10);
            text.push_digit(digit);
            if whole == 0 {
                break;
            }
        }
        if units < 0 {
            text.push_front(b'-');
        }
        text
    }

    /// Puts a digit, which is below 10, before the others.
    fn push_digit(&mut self, digit: u128) {
        self.push_front(b'0'.wrapping_add(digit.to_le_bytes()[0]));
    }

    fn push_front(&mut self, byte: u8) {
        self.start = self.start.saturating_sub(1);
        if let Some(slot) = self.bytes.get_mut(usize::from(self.start)) {
            *slot = byte;
        }
    }
}

/// Quotient and remainder; `by` is not zero. Most values fit a u64, whose division is several times faster than that of
/// a u128.
#[expect(clippy::arithmetic_side_effects, reason = "callers divide by a power of ten")]
fn div_rem(value: u128, by: u64) -> (u128, u128) {
    match u64::try_from(value) {
        Ok(small) => (small.wrapping_div(by).into(), small.wrapping_rem(by).into()),
        Err(_) => (value.wrapping_div(by.into()), value.wrapping_rem(by.into())),
    }
}

impl PartialEq for DecimalText {
    fn eq(&self, other: &DecimalText) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for DecimalText {}

impl fmt::Debug for DecimalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! decimal_form {
    ($($amount:ty, $decimals:expr;)*) => {$(
        impl $amount {
            /// The shortest decimal text of this amount.
            pub fn text(self) -> DecimalText {
                DecimalText::new::<{ $decimals }>(self.units().into())
            }
        }

        impl fmt::Display for $amount {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.text().as_str())
            }
        }
    )*};
}

decimal_form! {
    Price, SHARE_DECIMALS;
    Shares, SHARE_DECIMALS;
    Position, SHARE_DECIMALS;
    Money, MONEY_DECIMALS;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn units(text: &str) -> Result<(bool, u128), AmountError> {
        Decimal::parse(text.as_bytes()).map(|decimal| (decimal.negative, decimal.units))
    }

    #[test]
    fn a_price_is_rounded_to_the_nearest_multiple_of_the_tick_on_one_side() {
        let price = |units| Price::from_units(units).unwrap();
        let max = i64::MAX;
        for (units, tick, down, up) in [
            (100, 5, Some(100), Some(100)),
            (101, 5, Some(100), Some(105)),
            (104, 5, Some(100), Some(105)),
            (4, 5, None, Some(5)),
            (1, 1, Some(1), Some(1)),
            (max, 1, Some(max), Some(max)),
            (max, 5, Some(max - 2), None),
            (max - 3, max - 1, None, Some(max - 1)),
        ] {
            let found = [price(units).rounded_down(price(tick)), price(units).rounded_up(price(tick))];
            assert_eq!(found, [down.map(price), up.map(price)], "{units} to {tick}");
        }
    }

    #[test]
    fn plain_decimals_are_read_exactly() {
        assert_eq!(units("1"), Ok((false, 100_000_000)));
        assert_eq!(units("-145.67"), Ok((true, 14_567_000_000)));
        assert_eq!(units("007"), Ok((false, 700_000_000)));
        assert_eq!(units(".5"), Ok((false, 50_000_000)));
        assert_eq!(units("5."), Ok((false, 500_000_000)));
        assert_eq!(units("0.00000001"), Ok((false, 1)));
        assert_eq!(units("-0"), Ok((false, 0)));
        assert_eq!(units("100000000000000000000"), Ok((false, 10u128.pow(28))));
        assert_eq!(units(&"9".repeat(60)), Ok((false, u128::MAX)));
    }

    #[test]
    fn zeros_before_a_decimal_change_nothing() {
        for text in
            ["0", "7", "145.67", ".5", "5.", "0.00000001", "99999999999", "1234567890.", "12.34567891", ".00000000"]
        {
            assert_eq!(units(&format!("{}{text}", "0".repeat(12))), units(text), "{text}");
            assert_eq!(
                units(&format!("-{text}")).map(|(_, units)| units),
                units(text).map(|(_, units)| units),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "-", ".", "-.", "+1", "1e5", "0x1", "NaN", "inf", "1,000", "1 000", "--1", "1.2.3", "٣"] {
            assert_eq!(units(text), Err(AmountError::NotADecimal), "{text}");
        }
        assert_eq!(units("1.123456789"), Err(AmountError::TooManyDecimals { found: 9 }));
    }

    #[test]
    fn bounds_are_named() {
        let parse = |text: &str| Decimal::parse(text.as_bytes()).expect("a decimal");
        assert_eq!(parse("92233720368.54775807").price(), Ok(Price::MAX));
        assert_eq!(
            parse("92233720368.54775808").price().map_err(|error| error.to_string()),
            Err("is out of range; at most 92233720368.54775807".to_string())
        );
        assert_eq!(parse("0").price(), Err(AmountError::NotAboveZero));
        assert_eq!(parse("-1").price(), Err(AmountError::NotAboveZero));
        assert_eq!(parse("-0").order_shares(), Err(AmountError::Zero));
        assert_eq!(parse("100000000000000000000").money(), Ok(Money::CAP));
        assert_eq!(
            parse("100000000000000000000.00000001").money().map_err(|error| error.to_string()),
            Err("is out of range; at most 100000000000000000000".to_string())
        );
        assert_eq!(parse("-1").money(), Err(AmountError::Negative));
        assert_eq!(parse("100000000000000000000").position(), Ok(Position::CAP));
    }

    #[test]
    fn amounts_print_the_shortest_decimal() {
        let print = |units: i128| Position::from_units(units).to_string();
        assert_eq!(print(0), "0");
        assert_eq!(print(12_500_000_000), "125");
        assert_eq!(print(14_567_000_000), "145.67");
        assert_eq!(print(10_000_000), "0.1");
        assert_eq!(print(1), "0.00000001");
        assert_eq!(print(-150_000_000), "-1.5");
        assert_eq!(print(1_000_000_000), "10");
        assert_eq!(Money::CAP.to_string(), "100000000000000000000");
        assert_eq!(Money::from_units(1).to_string(), "0.0000000000000001");
        assert_eq!(Position::from_units(i128::MIN).to_string().len(), 41);
    }

    #[test]
    fn amounts_print_as_the_digits_of_their_units_with_a_point() {
        let naive = |units: i128, decimals: usize| {
            let sign = if units < 0 { "-" } else { "" };
            let digits = format!("{:0>width$}", units.unsigned_abs(), width = decimals + 1);
            let (whole, fraction) = digits.split_at(digits.len() - decimals);
            format!("{sign}{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let digits = (0..39).map(|at| 10i128.pow(at));
        let near = digits.flat_map(|power| [-1, 0, 1, 7].map(|more| power / 3 * (1 + power % 2) + more));
        for units in near.flat_map(|units| [units, -units]).chain([0, i128::MAX, i128::MIN, i128::from(i64::MAX)]) {
            assert_eq!(Position::from_units(units).to_string(), naive(units, 8));
            assert_eq!(Money::from_units(units).to_string(), naive(units, 16));
        }
    }
}
