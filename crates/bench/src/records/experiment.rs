//! The description of an experiment: what its runs are, and what was published of it elsewhere.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::number::short;

/// The parameter that a series of runs varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Cores of the server; the load generator runs on the others, if there are any
    Cores,
    /// Clients at once: each opens a connection, sends one request, and begins again when it has its answer
    Clients,
    /// Connections at once
    Connections,
    /// Requests of a run
    Requests,
    /// Worker threads of the server
    Workers,
    /// Requests in flight on each connection
    Depth,
}

impl Axis {
    /// Returns its label: `server cores`.
    pub fn label(self) -> &'static str {
        match self {
            Axis::Cores => "server cores",
            Axis::Clients => "clients",
            Axis::Connections => "connections",
            Axis::Requests => "requests",
            Axis::Workers => "server workers",
            Axis::Depth => "requests in flight on each connection",
        }
    }
}

/// The main quantity of a series' points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Requests a second.
    #[default]
    Throughput,
    /// Seconds from the first request to the last reply.
    Seconds,
    /// The 99th percentile, in microseconds.
    Latency,
}

/// Runs that belong together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Experiment {
    pub format: u32,
    /// The name of its folder and its plots: `one-shot`, `sweep-cores`, `compare`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The description in a paragraph: also where it differs from what was published, and what this machine cannot do.
    pub description: String,
    /// The command line that repeats it.
    pub command: String,
    /// The start in UTC, as RFC 3339.
    pub started: String,
    /// The parameter that a sweep varies; `None` where several subjects take turns in rounds, and are compared mode by
    /// mode.
    pub axis: Option<Axis>,
    /// The seed of the order of a sweep's runs.
    pub seed: u64,
    pub shows: Shows,
    /// Whether the axis is logarithmic.
    pub log_axis: bool,
    pub published: Vec<Published>,
    /// The subjects of a comparison, with versions and settings.
    pub subjects: Vec<String>,
    /// The subjects that are left out, and why.
    pub left_out: Vec<String>,
    /// The number of runs when it is done.
    pub planned: u64,
    /// The runs, in the order in which they were made.
    pub runs: Vec<RunEntry>,
}

impl Experiment {
    /// Returns its introduction for a terminal.
    pub fn introduction(&self) -> String {
        let lines = self.subjects.iter().map(|subject| format!("with {subject}\n"));
        let lines = lines.chain(self.left_out.iter().map(|left_out| format!("left out: {left_out}\n")));
        format!("{}\n{}\n{}", self.title, self.description, lines.collect::<String>())
    }
}

/// One run of an experiment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunEntry {
    /// `runs/0001.json`.
    pub file: String,
    /// The mode that compared runs share: `persistent`; empty where there is none.
    pub mode: String,
    /// Its line in the plot, or its row in the table: `published size`, `2 cores`, `raw durable echo`.
    pub series: String,
    /// Its place on the axis.
    pub value: f64,
    /// The round, from 1; 0 where there are no rounds.
    pub round: u32,
}

impl RunEntry {
    /// Returns the text that identifies it.
    pub fn text(&self) -> String {
        match self.round {
            0 => format!("{} at {}", self.series, short(self.value)),
            round => format!("round {round}, {}", self.label()),
        }
    }

    /// Returns its mode and series.
    pub fn label(&self) -> String {
        if self.mode.is_empty() { self.series.clone() } else { format!("{}, {}", self.mode, self.series) }
    }
}

/// The results that an earlier system reported for the same experiment, on other hardware.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Published {
    /// `published, other hardware: 4 server processes`.
    pub label: String,
    /// The points, in the unit of `shows`.
    pub points: Vec<PublishedPoint>,
}

/// One point of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishedPoint {
    pub value: f64,
    pub mean: f64,
    pub deviation: Option<f64>,
}
