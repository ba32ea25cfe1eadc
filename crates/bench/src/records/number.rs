//! Figures for people: as many digits as count, grouped, with their unit. It knows no quantities.

use indicatif::{BinaryBytes, HumanCount, HumanFloatCount};

/// The sign for a value that was not measured.
pub const NOTHING: &str = "–";

/// Writes a number with as many places as it deserves: `25,312`, `126.4`, `9.86`, `0.0513`.
pub fn figure(value: f64) -> String {
    let places = match value.abs() {
        size if size < 1.0 => 4,
        size if size < 100.0 => 2,
        size if size < 1000.0 => 1,
        _ => 0,
    };
    format!("{:.places$}", HumanFloatCount(value))
}

/// Writes a count with a comma between each three digits.
pub fn grouped(value: u64) -> String {
    HumanCount(value).to_string()
}

/// Writes a part of a whole: `62%`.
pub fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}

/// Writes `120 k`, `1.5 M`, `0.051`: for axes, where a round number has no digits to spare.
pub fn short(value: f64) -> String {
    let (scaled, letter) = match value.abs() {
        size if size >= 999_950_000.0 => (value / 1e9, " G"),
        size if size >= 999_950.0 => (value / 1e6, " M"),
        size if size >= 999.95 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{letter}", significant(scaled, 6))
}

/// Writes a duration given in microseconds: `85 µs`, `1.25 ms`, `2 s`.
pub fn micros(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 999_500.0 => (value / 1e6, "s"),
        size if size >= 999.5 => (value / 1e3, "ms"),
        size if size >= 0.9995 || size == 0.0 => (value, "µs"),
        _ => (value * 1e3, "ns"),
    };
    format!("{} {unit}", significant(scaled, 3))
}

/// Writes a number of bytes: `15.60 GiB`.
pub fn bytes(value: u64) -> String {
    BinaryBytes(value).to_string()
}

/// Writes a value with at most this many significant digits, and no zeros behind the point.
pub fn significant(value: f64, digits: i32) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let text = format!("{value:.*}", (digits - 1 - magnitude).clamp(0, 12) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Capitalizes the start of a title.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Writes a list: `1, 2, 4`.
pub fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_people_write_them() {
        for (value, text) in [(120_000.0, "120 k"), (1e6, "1 M"), (0.5, "0.5"), (2_500_000.0, "2.5 M"), (0.0, "0")] {
            assert_eq!(short(value), text);
        }
        let said = [0.0, 4_000.0, 25_311.7, 1_024_000.0, 126.44, 9.857, 0.05128].map(figure);
        assert_eq!(said, ["0", "4,000", "25,312", "1,024,000", "126.4", "9.86", "0.0513"]);
        for (value, text) in [(85.0, "85 µs"), (1250.0, "1.25 ms"), (2e6, "2 s"), (0.5, "500 ns"), (999.7, "1 ms")] {
            assert_eq!(micros(value), text);
        }
    }
}
