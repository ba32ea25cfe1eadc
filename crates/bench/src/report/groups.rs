//! The runs of one place in a plot: same series, same value of the axis. Knows no plots and no text.

use hdrhistogram::Histogram;

use super::read::{Run, Study};
use crate::statistics::{Summary, summarize};

/// Runs of the same thing.
pub struct Group<'a> {
    pub series: &'a str,
    pub value: f64,
    /// Those that means are made of.
    pub valid: Vec<&'a Run>,
    /// Shown, and in no mean.
    pub invalid: Vec<&'a Run>,
}

impl Group<'_> {
    /// Of the valid runs for which the figure is known; none when there are none.
    pub fn summary(&self, figure: impl Fn(&Run) -> Option<f64>) -> Option<Summary> {
        let values: Vec<f64> =
            self.valid.iter().filter_map(|run| figure(run)).filter(|value| value.is_finite()).collect();
        summarize(&values)
    }

    pub fn all(&self) -> impl Iterator<Item = &Run> {
        self.valid.iter().chain(&self.invalid).copied()
    }

    /// Latencies of all valid runs as those of one, in nanoseconds. Percentiles are never averaged.
    pub fn latencies(&self) -> Histogram<u64> {
        let mut merged = Histogram::new(3).expect("invariant: three digits are a precision that histograms have");
        for run in &self.valid {
            merged.add(&run.latencies).expect("invariant: a histogram that resizes itself takes any other");
        }
        merged
    }
}

/// Whether each run was to make as many requests as its place on the axis says. What became of them is another matter:
/// a run that lost some still has its place.
pub fn is_of_its_size(group: &Group) -> bool {
    group.all().all(|run| run.record.load.requests.is_some_and(|requests| requests as f64 == group.value))
}

/// Series in the order of their first run, values ascending.
pub fn groups(study: &Study) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for series in series(study) {
        let mut values: Vec<f64> =
            study.runs.iter().filter(|run| run.entry.series == series).map(|run| run.entry.value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        for value in values {
            let here = |run: &&Run| run.entry.series == series && run.entry.value == value;
            let (valid, invalid) = study.runs.iter().filter(here).partition(|run| run.is_valid());
            groups.push(Group { series, value, valid, invalid });
        }
    }
    groups
}

pub fn series(study: &Study) -> Vec<&str> {
    let mut series: Vec<&str> = Vec::new();
    for run in &study.runs {
        if !series.contains(&run.entry.series.as_str()) {
            series.push(&run.entry.series);
        }
    }
    series
}
