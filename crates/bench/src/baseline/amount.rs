//! Prices and quantities with 8 decimals, exactly. It knows no SQL but that a numeric is sent and read as text.

use std::fmt;
use std::ops::{Sub, SubAssign};
use std::str::FromStr;

const DECIMALS: usize = 8;
const SCALE: i64 = 100_000_000;

/// Hundred-millionths of a dollar or a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i64);

impl Amount {
    pub const ZERO: Amount = Amount(0);

    /// So many hundred-millionths.
    pub fn from_units(units: i64) -> Amount {
        Amount(units)
    }

    /// So many whole ones. Panics above 92 thousand million of them.
    pub fn whole(number: u64) -> Amount {
        let units = i64::try_from(number).ok().and_then(|number| number.checked_mul(SCALE));
        Amount(units.expect("invariant: a load's amounts are small"))
    }

    /// So many cents. Panics above 92 thousand million dollars.
    pub fn cents(number: usize) -> Amount {
        let units = i64::try_from(number).ok().and_then(|number| number.checked_mul(SCALE / 100));
        Amount(units.expect("invariant: a load's prices are small"))
    }
}

impl Sub for Amount {
    type Output = Amount;

    fn sub(self, other: Amount) -> Amount {
        Amount(self.0.checked_sub(other.0).expect("invariant: what is taken away was there"))
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Amount) {
        *self = *self - other;
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:08}", units / SCALE.unsigned_abs(), units % SCALE.unsigned_abs())
    }
}

impl FromStr for Amount {
    type Err = String;

    /// Reads what PostgreSQL prints of a numeric with at most 8 decimals, and nothing that would have to be rounded.
    fn from_str(text: &str) -> Result<Amount, String> {
        let wrong = || format!("`{text}` is no number with at most {DECIMALS} decimals");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        if decimals.len() > DECIMALS || whole.is_empty() {
            return Err(wrong());
        }
        format!("{whole}{decimals:0<DECIMALS$}").parse().map(Amount).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_go_to_sql_and_come_back_exactly() {
        for units in [0, 1, -1, 14_567_000_000, i64::MAX, -99_999_999] {
            assert_eq!(Amount(units).to_string().parse(), Ok(Amount(units)));
        }
        assert_eq!(
            (Amount::cents(14_567).to_string(), Amount::whole(7).to_string()),
            ("145.67000000".into(), "7.00000000".into())
        );
        assert_eq!("12.5".parse(), Ok(Amount(1_250_000_000)));
        for wrong in ["", ".5", "1.000000001", "NaN", "1e5", "92233720368.54775808"] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }
}
