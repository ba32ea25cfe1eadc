//! From values to places on an axis, and which values get a tick. Knows no pixels.

/// How an axis maps values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear {
        min: f64,
        max: f64,
    },
    Log {
        min: f64,
        max: f64,
    },
    /// Percentiles (0 to 1), each further nine as wide as the one before: up to 1 - 10^-nines.
    Nines {
        nines: f64,
    },
}

impl Scale {
    /// From zero to a little above the largest.
    pub fn from_zero(values: &[f64]) -> Self {
        let max = values.iter().copied().fold(0.0, f64::max);
        Self::Linear { min: 0.0, max: if max > 0.0 { max * 1.08 } else { 1.0 } }
    }

    /// Around the values, with room at both ends.
    pub fn around(values: &[f64]) -> Self {
        let (min, max) = ends(values);
        let room = if max > min { (max - min) * 0.08 } else { 0.5 };
        Self::Linear { min: min - room, max: max + room }
    }

    /// Logarithmic around the positive values, with room at both ends.
    pub fn log_around(values: &[f64]) -> Self {
        let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
        let (min, max) = if positive.is_empty() { (1.0, 10.0) } else { ends(&positive) };
        let room = ((max / min).log10() * 0.06).max(0.08);
        Self::Log { min: min * 10f64.powf(-room), max: max * 10f64.powf(room) }
    }

    /// 0 at the low end, 1 at the high one; none where the scale has no place for it.
    pub fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear { min, max } => (value - min) / (max - min),
            Self::Log { min, max } if value > 0.0 => (value / min).ln() / (max / min).ln(),
            Self::Log { .. } => return None,
            Self::Nines { nines } => -(1.0 - value).max(10f64.powf(-nines)).log10() / nines,
        };
        place.is_finite().then_some(place)
    }

    /// Values for labelled ticks, then those for fine lines between them.
    pub fn ticks(self, about: usize) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Linear { min, max } => (linear_ticks(min, max, about), Vec::new()),
            Self::Log { min, max } => log_ticks(min, max, about),
            Self::Nines { nines } => {
                let whole = (1..=nines.floor() as i32).map(|nine| 1.0 - 10f64.powi(-nine));
                ([0.0, 0.5].into_iter().chain(whole).collect(), Vec::new())
            }
        }
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (min, max)
}

fn linear_ticks(min: f64, max: f64, about: usize) -> Vec<f64> {
    let rough = (max - min) / about.max(1) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|step| *step >= rough).unwrap_or(rough);
    let first = (min / step).ceil() as i64;
    let last = (max / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

fn log_ticks(min: f64, max: f64, about: usize) -> (Vec<f64>, Vec<f64>) {
    let decades = (max / min).log10();
    let (first, last) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let within = |factors: &[f64]| -> Vec<f64> {
        let all = (first..=last).flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        all.filter(|value| *value >= min * 0.999 && *value <= max * 1.001).collect()
    };
    let fine = within(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let linear = if decades < 0.7 { linear_ticks(min, max, about) } else { Vec::new() };
    let candidates = match decades {
        few if few < 2.6 => [linear, within(&[1.0, 2.0, 5.0]), within(&[1.0, 2.0, 3.0, 5.0, 7.0])],
        _ => [Vec::new(), within(&[1.0]), Vec::new()],
    };
    // Two labels do not show that a scale is logarithmic.
    let ticks = candidates.iter().find(|ticks| ticks.len() >= 3).unwrap_or(&candidates[1]).clone();
    // Nobody can tell nine lines a decade apart once there are many decades.
    (ticks, if decades <= 5.0 { fine } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::Linear { min: 0.0, max: 1103.0 }.ticks(5).0, [0.0, 500.0, 1000.0]);
        assert_eq!(Scale::Log { min: 8.0, max: 20_000.0 }.ticks(5).0, [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(Scale::Log { min: 90.0, max: 600.0 }.ticks(5).0, [100.0, 200.0, 500.0]);
        let nines = Scale::Nines { nines: 3.2 }.ticks(5).0;
        assert_eq!(nines.len(), 5);
        assert!((nines[4] - 0.999).abs() < 1e-12, "{nines:?}");
    }

    #[test]
    fn places_are_where_the_scale_says() {
        assert_eq!(Scale::Linear { min: 0.0, max: 4.0 }.place(1.0), Some(0.25));
        let log = Scale::Log { min: 1.0, max: 10_000.0 }.place(100.0).expect("a place");
        assert!((log - 0.5).abs() < 1e-12);
        assert_eq!(Scale::Log { min: 1.0, max: 10.0 }.place(0.0), None);
        let nines = Scale::Nines { nines: 4.0 };
        assert!((nines.place(0.99).expect("a place") - 0.5).abs() < 1e-9);
        // The largest value has no nine of its own: it stands at the end.
        assert_eq!(nines.place(1.0), Some(1.0));
    }
}
