//! Decimals as exact integers, read and written without the server's own code.

/// Reads a plain decimal in units of 10^-`decimals`. Panics on anything else, or on more decimals.
pub fn units(text: &str, decimals: usize) -> i128 {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    assert!(fraction.len() <= decimals, "{text} has more than {decimals} decimals");
    let padded = format!("{whole}{fraction:0<decimals$}");
    let units: i128 = padded.parse().unwrap_or_else(|_| panic!("{text:?} is no decimal"));
    if negative { -units } else { units }
}

/// Reads shares or a price, in units of 10^-8.
pub fn shares(text: &str) -> i64 {
    i64::try_from(units(text, 8)).unwrap()
}

/// Reads money, in units of 10^-16.
pub fn money(text: &str) -> i128 {
    units(text, 16)
}

/// The shortest decimal of units of 10^-8.
pub fn text(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (units.unsigned_abs() / 100_000_000, units.unsigned_abs() % 100_000_000);
    let text = format!("{sign}{whole}.{fraction:08}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
