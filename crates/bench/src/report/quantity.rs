//! What plots and tables show of a run: its name, unit and scale. Knows no drawing.

use super::read::Run;
use crate::number;

/// What a point of a plot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Throughput,
    Seconds,
    /// The 99th percentile.
    Latency,
    TimePerRequest,
    ServerCpu,
}

impl Quantity {
    /// Of the word in `Experiment.shows`. Errors: a word that is none.
    pub fn shown(word: &str) -> Result<Self, String> {
        match word {
            "throughput" => Ok(Self::Throughput),
            "seconds" => Ok(Self::Seconds),
            "latency" => Ok(Self::Latency),
            other => Err(format!("an experiment shows \"{other}\"; it must be throughput, seconds or latency")),
        }
    }

    /// None where the run does not know it.
    pub fn of(self, run: &Run) -> Option<f64> {
        let record = &run.record;
        match self {
            Self::Throughput => Some(record.throughput),
            Self::Seconds => Some(record.seconds),
            Self::Latency => Some(record.latency.p99),
            Self::TimePerRequest => answered(run).map(|answered| record.seconds * 1e6 / answered),
            Self::ServerCpu => Some(record.server.cpu_seconds? * 1e6 / answered(run)?),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Seconds => "execution time",
            Self::Latency => "99th percentile of latency",
            Self::TimePerRequest => "time per request",
            Self::ServerCpu => "server CPU time per request",
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "requests/s",
            Self::Seconds => "s",
            Self::Latency | Self::TimePerRequest | Self::ServerCpu => "µs",
        }
    }

    /// Part of a file name.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Seconds => "seconds",
            Self::Latency => "latency",
            Self::TimePerRequest => "time-per-request",
            Self::ServerCpu => "server-cpu",
        }
    }

    /// How many times as good `ours` is: more is better of a throughput, less of the others.
    pub fn times_as_good(self, ours: f64, theirs: f64) -> f64 {
        if self == Self::Throughput { ours / theirs } else { theirs / ours }
    }

    /// What stands along an axis of it.
    pub fn axis_label(self) -> String {
        match self {
            Self::Throughput => format!("{} ({})", self.name(), self.unit()),
            _ => self.name().to_string(),
        }
    }

    /// How a value stands at an axis.
    pub fn tick(self) -> fn(f64) -> String {
        match self {
            Self::Throughput => number::short,
            Self::Seconds => |seconds| format!("{} s", number::significant(seconds, 6)),
            Self::Latency | Self::TimePerRequest | Self::ServerCpu => number::micros,
        }
    }

    /// With its unit.
    pub fn text(self, value: f64) -> String {
        match self.unit() {
            "µs" => number::micros(value),
            unit => format!("{} {unit}", number::figure(value)),
        }
    }
}

fn answered(run: &Run) -> Option<f64> {
    (run.record.counts.answered > 0).then_some(run.record.counts.answered as f64)
}

/// As the start of a title.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What the axis counts, for labels: `server cores`.
pub fn axis_name(axis: &str) -> &str {
    match axis {
        "cores" => "server cores",
        "workers" => "server workers",
        "depth" => "requests in flight on each connection",
        other => other,
    }
}
