//! The runs of an experiment in memory, groups of the same thing, their statistics and their warnings. It knows no
//! plots and no tables.
//!
//! A ratio is one within a round, where both sides were measured minutes apart at most; the ratios of all rounds are
//! summed up, never the figures before they are divided.

use hdrhistogram::Histogram;

use crate::records::number::{list, short};
use crate::records::quantity::Quantity;
use crate::records::statistics::{Summary, different, summarize};
use crate::records::{Experiment, RunEntry, RunRecord};

/// An experiment with the result of each run.
#[derive(Default)]
pub struct Study {
    /// Its description; its runs are those below.
    pub experiment: Experiment,
    pub runs: Vec<Run>,
}

/// One run of it.
pub struct Run {
    pub entry: RunEntry,
    pub record: RunRecord,
    /// Latencies in nanoseconds.
    pub latencies: Histogram<u64>,
}

impl Run {
    /// Makes a run, and reads its latencies. Errors: they are damaged.
    pub fn of(entry: RunEntry, record: RunRecord) -> Result<Run, String> {
        Ok(Run { entry, latencies: record.latency.decode()?, record })
    }
}

impl Study {
    /// Whether every run may be used.
    pub fn is_valid(&self) -> bool {
        self.runs.iter().all(|run| run.record.is_valid())
    }

    /// Lists the series in the order of their first run.
    pub fn series(&self) -> Vec<&str> {
        different(self.runs.iter().map(|run| run.entry.series.as_str()))
    }

    /// Lists the modes in the order of their first run.
    pub fn modes(&self) -> Vec<&str> {
        different(self.runs.iter().map(|run| run.entry.mode.as_str()))
    }

    /// Groups runs by mode, series and value: the first two in the order of their first run, values ascending.
    pub fn groups<'a>(&'a self) -> Vec<Group<'a>> {
        let place = |run: &'a Run| (run.entry.mode.as_str(), run.entry.series.as_str(), run.entry.value);
        let group = |(mode, series, value)| {
            let here = self.runs.iter().filter(|run| place(run) == (mode, series, value));
            let (valid, invalid) = here.partition(|run| run.record.is_valid());
            Group { mode, series, value, valid, invalid }
        };
        let mut groups: Vec<Group> = different(self.runs.iter().map(place)).into_iter().map(group).collect();
        let (modes, series) = (self.modes(), self.series());
        let order = |all: &[&str], one: &str| all.iter().position(|other| *other == one);
        groups.sort_by(|one, other| {
            let place = |group: &Group| (order(&modes, group.mode), order(&series, group.series));
            place(one).cmp(&place(other)).then(one.value.total_cmp(&other.value))
        });
        groups
    }

    /// Returns the warning that there are fewer runs than were planned.
    pub fn ended_early(&self) -> Option<String> {
        let (planned, made) = (self.experiment.planned, self.runs.len());
        (planned > made as u64).then(|| format!("The experiment ended early: {made} of {planned} runs were made."))
    }

    /// Returns the runs' own warnings. Warnings that differ only in their figures count as one: the first stands for
    /// all.
    pub fn warnings_of_runs(&self) -> Vec<String> {
        let mut kinds: Vec<(String, &str, Vec<&RunEntry>)> = Vec::new();
        for run in &self.runs {
            for warning in &run.record.warnings {
                let kind: String = warning.chars().filter(|letter| !letter.is_ascii_digit()).collect();
                match kinds.iter_mut().find(|(known, _, _)| *known == kind) {
                    Some((_, _, entries)) => entries.push(&run.entry),
                    None => kinds.push((kind, warning, vec![&run.entry])),
                }
            }
        }
        let text = |(_, first, mut entries): (String, &str, Vec<&RunEntry>)| {
            let runs = match entries.len() {
                1 => "1 run".to_string(),
                several => format!("{several} runs, the first quoted"),
            };
            entries.sort_by(|one, other| one.value.total_cmp(&other.value));
            let places = match self.experiment.axis {
                Some(axis) => {
                    format!("{} = {}", axis.label(), list(&different(entries.iter().map(|run| short(run.value)))))
                }
                None => list(&different(entries.iter().map(|run| run.label()))),
            };
            format!("{first} ({runs}; {places})")
        };
        kinds.into_iter().map(text).collect()
    }
}

/// Runs of the same thing.
pub struct Group<'a> {
    pub mode: &'a str,
    pub series: &'a str,
    pub value: f64,
    /// The runs that count in means.
    pub valid: Vec<&'a Run>,
    /// The runs that are shown, but count in no mean.
    pub invalid: Vec<&'a Run>,
}

impl Group<'_> {
    /// Sums up a quantity over the valid runs that know it; `None` without any.
    pub fn summary(&self, quantity: &Quantity) -> Option<Summary> {
        summarize(&self.valid.iter().filter_map(|run| (quantity.of)(&run.record)).collect::<Vec<_>>())
    }

    /// Sums up the ratio of its runs to those of another group, each in the same round.
    pub fn ratio(&self, by: &Group, quantity: &Quantity) -> Option<Summary> {
        let in_round =
            |round| by.valid.iter().find(|run| run.entry.round == round).and_then(|run| (quantity.of)(&run.record));
        let ratio = |run: &&Run| Some((quantity.of)(&run.record)? / in_round(run.entry.round)?);
        summarize(&self.valid.iter().filter_map(ratio).collect::<Vec<_>>())
    }

    pub fn all(&self) -> impl Iterator<Item = &Run> {
        self.valid.iter().chain(&self.invalid).copied()
    }

    /// Merges the latencies of all valid runs, in nanoseconds. Percentiles are never averaged.
    pub fn latencies(&self) -> Histogram<u64> {
        let mut merged = Histogram::new(3).expect("invariant: three digits are a precision that histograms have");
        for run in &self.valid {
            merged.add(&run.latencies).expect("invariant: a histogram that resizes itself takes any other");
        }
        merged
    }

    /// Whether each run was to make as many requests as its place on the axis says. The replies do not matter: a run
    /// that lost some still has its place.
    pub fn is_of_its_size(&self) -> bool {
        self.all().all(|run| run.record.load.requests.is_some_and(|requests| requests as f64 == self.value))
    }
}
