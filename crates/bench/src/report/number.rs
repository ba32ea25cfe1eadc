//! Figures for people: a few significant digits, a unit or a thousands' letter. Knows no quantities.

/// `120 k`, `1.5 M`, `0.051`: for axes, where a round number has no digits to spare.
pub fn short(value: f64) -> String {
    let (scaled, letter) = scaled(value);
    format!("{}{letter}", trimmed(scaled))
}

/// `0.1`, `4387`: for an axis whose unit takes no letter.
pub fn plain(value: f64) -> String {
    trimmed(value)
}

/// `119.8 k`, `4.02 M`, `419`: for tables, four digits that all count.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude < 10_000.0 {
        return significant(value, 4);
    }
    let (scaled, letter) = scaled(value);
    format!("{}{letter}", significant(scaled, 4))
}

/// A duration given in microseconds: `85 µs`, `1.25 ms`, `2 s`.
pub fn micros(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 999_500.0 => (value / 1e6, "s"),
        v if v >= 999.5 => (value / 1e3, "ms"),
        v if v >= 0.9995 || v == 0.0 => (value, "µs"),
        _ => (value * 1e3, "ns"),
    };
    format!("{} {unit}", trimmed_text(significant(scaled, 3)))
}

/// `15.6 GiB`.
pub fn bytes(value: u64) -> String {
    let value = value as f64;
    match value {
        v if v >= (1u64 << 30) as f64 => format!("{} GiB", significant(v / (1u64 << 30) as f64, 3)),
        v if v >= (1u64 << 20) as f64 => format!("{} MiB", significant(v / (1u64 << 20) as f64, 3)),
        v => format!("{} KiB", significant(v / 1024.0, 3)),
    }
}

fn scaled(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v >= 999_950_000.0 => (value / 1e9, " G"),
        v if v >= 999_950.0 => (value / 1e6, " M"),
        v if v >= 999.95 => (value / 1e3, " k"),
        _ => (value, ""),
    }
}

/// With so many significant digits, and none behind the point once they are used up.
fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    format!("{value:.*}", (digits - 1 - magnitude).clamp(0, 12) as usize)
}

/// Axes reach far down: 6 digits keep the steps between ticks.
fn trimmed(value: f64) -> String {
    trimmed_text(significant(value, 6))
}

fn trimmed_text(text: String) -> String {
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_people_write_them() {
        for (value, text) in [(120_000.0, "120 k"), (1e6, "1 M"), (0.5, "0.5"), (2_500_000.0, "2.5 M"), (0.0, "0")] {
            assert_eq!(short(value), text);
        }
        for (value, text) in [(119_847.3, "119.8 k"), (419.0, "419.0"), (0.0514, "0.05140"), (4_021_900.0, "4.022 M")] {
            assert_eq!(figure(value), text);
        }
        for (value, text) in [(85.0, "85 µs"), (1250.0, "1.25 ms"), (2e6, "2 s"), (0.5, "500 ns"), (999.7, "1 ms")] {
            assert_eq!(micros(value), text);
        }
        assert_eq!(bytes(16 << 30), "16.0 GiB");
    }
}
