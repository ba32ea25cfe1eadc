//! What a series of runs consists of before it is made: its points, how often each is run, and what is said of it.

use super::axis::{Axis, shares_cores};
use crate::number::list;
use crate::record::Published;
use crate::run::RunPlan;

/// What a point shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Requests a second.
    Throughput,
    /// From the first request to the last reply.
    Seconds,
    /// The 99th percentile, in microseconds.
    Latency,
}

impl Shows {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Shows::Throughput => "throughput",
            Shows::Seconds => "seconds",
            Shows::Latency => "latency",
        }
    }
}

/// How many requests a point's runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As its plan says.
    Planned,
    /// The smallest multiple of its plan that should last `scale::SECONDS_MIN`.
    Scaled,
}

/// One point of one line: the same run, made several times.
#[derive(Clone, Debug)]
pub struct Cell {
    pub value: u64,
    pub series: String,
    pub plan: RunPlan,
    pub size: Size,
    pub runs: u32,
}

/// A series of runs to make.
#[derive(Clone, Debug)]
pub struct Design {
    pub name: String,
    pub title: String,
    /// What is done, for people; `description` adds what this machine makes of it.
    pub text: String,
    pub axis: Axis,
    pub shows: Shows,
    pub log_axis: bool,
    pub published: Vec<Published>,
    pub cells: Vec<Cell>,
    /// Values that are not run, and why.
    pub skipped: Vec<String>,
}

impl Design {
    /// How many runs it is made of.
    pub fn runs(&self) -> usize {
        self.cells.iter().map(|cell| cell.runs as usize).sum()
    }

    /// The text, then where the load shares cores with the server, then what this machine cannot do.
    pub fn description(&self) -> String {
        let mut text = self.text.clone();
        let mut sharing: Vec<u64> =
            self.cells.iter().filter(|cell| shares_cores(&cell.plan)).map(|cell| cell.value).collect();
        sharing.sort_unstable();
        sharing.dedup();
        let all = self.cells.iter().all(|cell| sharing.contains(&cell.value));
        if !sharing.is_empty() {
            let which =
                if all { "everywhere".to_string() } else { format!("at {} = {}", self.axis.name(), list(&sharing)) };
            text += &format!(" The load has no core of its own {which}: it shares the server's.");
        }
        if !self.skipped.is_empty() {
            text += &format!(" Not run here: {}.", self.skipped.join("; "));
        }
        text
    }
}
