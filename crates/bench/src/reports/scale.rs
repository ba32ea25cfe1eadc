//! The place of a value on an axis, and the values that are marked: linear, logarithmic, or by the nines of a
//! percentile. Plotters draws by it; it knows only the pixels that it gets.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::records::number;

/// The part of the axis by which marks must differ, or they would overlap.
const APART_MIN: f64 = 0.045;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    min: f64,
    max: f64,
    /// The values that are marked.
    marks: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
    /// Percentiles from 0 to 1, each further nine as wide as the one before.
    Nines,
}

impl Scale {
    /// Makes a scale from zero to a little above the largest.
    pub fn from_zero(values: &[f64]) -> Scale {
        let max = ends(values).map_or(1.0, |(_, max)| max * 1.08);
        Scale { kind: Kind::Linear, min: 0.0, max, marks: linear_marks(0.0, max) }
    }

    /// Makes a scale around the values, with room at both ends.
    pub fn around(values: &[f64]) -> Scale {
        let (min, max) = ends(values).unwrap_or((0.0, 1.0));
        let room = if max > min { (max - min) * 0.08 } else { 0.5 };
        Scale { kind: Kind::Linear, min: min - room, max: max + room, marks: linear_marks(min - room, max + room) }
    }

    /// Makes a logarithmic scale around the positive values, with room at both ends.
    pub fn log_around(values: &[f64]) -> Scale {
        let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
        let (min, max) = ends(&positive).unwrap_or((1.0, 10.0));
        let room = 10f64.powf(((max / min).log10() * 0.06).max(0.08));
        let (min, max) = (min / room, max * room);
        Scale { kind: Kind::Log, min, max, marks: log_marks(min, max) }
    }

    /// Makes a scale up to the percentile of 1 - 10^-nines.
    pub fn nines(nines: f64) -> Scale {
        let whole = (1..=nines.floor() as i32).map(|nine| 1.0 - 10f64.powi(-nine));
        let marks = [0.0, 0.5].into_iter().chain(whole).collect();
        Scale { kind: Kind::Nines, min: 0.0, max: 1.0 - 10f64.powf(-nines), marks }
    }

    /// Marks these values, as far as they stand apart.
    pub fn marked_at(mut self, values: &[f64]) -> Scale {
        let mut marks: Vec<f64> = Vec::new();
        for &value in values {
            let apart = |last: &f64| self.place(value) - self.place(*last) >= APART_MIN;
            if marks.last().is_none_or(apart) {
                marks.push(value);
            }
        }
        self.marks = marks;
        self
    }

    /// Returns the place of a value: 0 at the low end, 1 at the high one.
    pub fn place(&self, value: f64) -> f64 {
        let along = |value: f64| match self.kind {
            Kind::Linear => value,
            Kind::Log => value.max(f64::MIN_POSITIVE).ln(),
            Kind::Nines => -(1.0 - value).max(1.0 - self.max).log10(),
        };
        (along(value) - along(self.min)) / (along(self.max) - along(self.min))
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.place(*value) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.min..self.max
    }
}

/// The default form of marks.
impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        number::short(*value)
    }
}

fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().fold(least, f64::max)))
}

/// Returns about five round values.
fn linear_marks(min: f64, max: f64) -> Vec<f64> {
    let rough = (max - min) / 5.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().map(|n| n * decade).find(|step| *step >= rough).unwrap_or(10.0 * decade);
    let (first, last) = ((min / step).ceil() as i64, (max / step).floor() as i64);
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Returns powers of ten, with 2 and 5 between them where there are few; round values where even those are few.
fn log_marks(min: f64, max: f64) -> Vec<f64> {
    let within = |factors: &[f64]| -> Vec<f64> {
        let decades = min.log10().floor() as i32..=max.log10().ceil() as i32;
        let all = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        all.filter(|value| (min * 0.999..=max * 1.001).contains(value)).collect()
    };
    let (powers, between) = (within(&[1.0]), within(&[1.0, 2.0, 5.0]));
    // Two labels do not show that a scale is logarithmic, and nine of them would stand close.
    match (powers.len(), between.len()) {
        (3.., 9..) => powers,
        (_, 3..) => between,
        _ => linear_marks(min, max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(Scale::from_zero(&[1021.0]).marks, [0.0, 500.0, 1000.0]);
        assert_eq!(log_marks(8.0, 20_000.0), [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(log_marks(90.0, 600.0), [100.0, 200.0, 500.0]);
        assert_eq!(log_marks(137.0, 60_000.0).len(), 8, "two powers of ten would be too few");
        assert_eq!(log_marks(101.0, 160.0), [120.0, 140.0, 160.0], "not even a decade");
        let marked = Scale::around(&[1.0, 100.0]).marked_at(&[1.0, 2.0, 50.0, 100.0]);
        assert_eq!(marked.marks, [1.0, 50.0, 100.0], "2 would stand in the label of 1");
    }

    #[test]
    fn places_are_where_the_scale_says() {
        let at = |kind, min, max, value| Scale { kind, min, max, marks: Vec::new() }.place(value);
        assert_eq!(at(Kind::Linear, 0.0, 4.0, 1.0), 0.25);
        assert!((at(Kind::Log, 1.0, 10_000.0, 100.0) - 0.5).abs() < 1e-12);
        assert!(at(Kind::Log, 1.0, 10.0, 0.0) < 0.0, "what is zero lies below a logarithmic axis");
        let nines = Scale::nines(4.0);
        assert!((nines.place(0.99) - 0.5).abs() < 1e-9);
        assert!((nines.place(1.0) - 1.0).abs() < 1e-9, "the largest value stands at the end");
    }
}
