//! Amounts as texts: decimals in any spelling.

/// A decimal without the zeros that change nothing; none if it is not a decimal. `-0` is `0`.
pub fn canonical(text: &str) -> Option<String> {
    let (sign, digits) = match text.trim().strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.trim()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match (whole, fraction) {
        ("0", "") => "0".to_string(),
        (_, "") => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    })
}

/// The sum of two decimals that are not negative, with at most 8 decimals. Panics for other texts.
pub fn plus(amount: &str, step: &str) -> String {
    let sum = units(amount) + units(step);
    text_of(sum)
}

/// The difference of two such decimals. Panics if it is negative.
pub fn minus(amount: &str, taken: &str) -> String {
    let left = units(amount).checked_sub(units(taken));
    text_of(left.expect("invariant: no more is taken than there is"))
}

fn units(text: &str) -> u128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<8}").parse().expect("invariant: a case's amounts are decimals")
}

fn text_of(units: u128) -> String {
    let text = format!("{}.{:08}", units / 100_000_000, units % 100_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_has_one_canonical_form() {
        for (text, form) in [
            ("125", Some("125")),
            ("0125.500", Some("125.5")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("-0.0", Some("0")),
            ("-12.50", Some("-12.5")),
            ("1e6", None),
            ("", None),
            ("-", None),
            ("+1", None),
        ] {
            assert_eq!(canonical(text).as_deref(), form, "{text}");
        }
    }

    #[test]
    fn decimals_are_added_and_subtracted_exactly() {
        assert_eq!((plus("0.1", "0.2"), plus("12.5", "0.00000001")), ("0.3".to_owned(), "12.50000001".to_owned()));
        assert_eq!((minus("12.00000000", "2"), minus("1", "0.00000001")), ("10".to_owned(), "0.99999999".to_owned()));
    }
}
