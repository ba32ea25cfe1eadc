//! Figures and ratios of figures over the rounds of a comparison. A ratio is one within a round, where both were measured
//! minutes apart at most; those of all rounds are summed up, never the figures before they are divided.

use serde::{Deserialize, Serialize};

use super::measurement::{Figures, Measurement};
use super::mode::Mode;
use super::subject::Subject;
use crate::statistics::{Summary, summarize};

/// One of the figures of a measurement.
pub type Figure = fn(&Figures) -> Option<f64>;

/// One figure of one who takes part, in one mode.
#[derive(Clone, Copy)]
pub struct Source {
    pub mode: Mode,
    pub subject: Subject,
    pub figure: Figure,
}

impl Source {
    /// Its value in one round, if that may be used.
    pub fn in_round(self, all: &[Measurement], round: u32) -> Option<f64> {
        let found = all.iter().find(|measurement| self.is_of(measurement) && measurement.round == round)?;
        (self.figure)(&found.figures)
    }

    /// Whether it is of this measurement, and the measurement may be used.
    fn is_of(self, measurement: &Measurement) -> bool {
        let Source { mode, subject, .. } = self;
        measurement.mode == mode.name() && measurement.subject == subject.name() && measurement.is_valid()
    }
}

/// The values of a figure, divided by that of the same round where there is something to divide by.
pub fn in_rounds(all: &[Measurement], of: Source, by: Option<Source>) -> Vec<f64> {
    let value = |measurement: &Measurement| {
        let value = (of.figure)(&measurement.figures)?;
        let Some(by) = by else { return Some(value) };
        by.in_round(all, measurement.round).map(|divisor| value / divisor)
    };
    all.iter().filter(|measurement| of.is_of(measurement)).filter_map(value).collect()
}

/// Requests a second of ours by theirs, as it stands in the raw file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ratio {
    pub mode: String,
    pub ours: String,
    pub theirs: String,
    pub rounds: usize,
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Of all of ours by all others.
pub fn all(measurements: &[Measurement], schedule: &[(Mode, Vec<Subject>)]) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for &(mode, ref subjects) in schedule {
        for ours in [Subject::Order, Subject::OrderResting, Subject::OrderInPostgres] {
            for &theirs in subjects.iter().filter(|subject| !subject.is_ours()) {
                let of = |subject| Source { mode, subject, figure: |figures| Some(figures.throughput) };
                let summary = summarize(&in_rounds(measurements, of(ours), Some(of(theirs))));
                ratios.extend(summary.map(|Summary { runs, median, min, max, .. }| Ratio {
                    mode: mode.name().to_string(),
                    ours: ours.name().to_string(),
                    theirs: theirs.name().to_string(),
                    rounds: runs,
                    median,
                    min,
                    max,
                }));
            }
        }
    }
    ratios
}
