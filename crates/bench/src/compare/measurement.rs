//! One measurement of a comparison, and all of them, as they stand in the raw files.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mode::Mode;
use super::ratio::Ratio;
use super::subject::Subject;
use crate::record::Machine;

/// Of the raw file.
pub const FORMAT: u32 = 2;

/// One measurement to make.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// From 1.
    pub round: u32,
    pub mode: Mode,
    pub subject: Subject,
    pub seconds: f64,
}

/// What came out of one measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Requests answered (PostgreSQL: transactions) a second.
    pub throughput: f64,
    pub latency_us_p50: Option<f64>,
    pub latency_us_p99: Option<f64>,
    pub latency_us_p999: Option<f64>,
    /// Of the requests, those of ours and of the baseline that opened an order; of pgbench all, each inserts one.
    pub orders_per_second: Option<f64>,
    /// Processor time of the server, a request.
    pub server_cpu_us: Option<f64>,
    /// Of the database that it keeps its market in.
    pub database_cpu_us: Option<f64>,
    /// The part of a core that the load used.
    pub load_cpu_share: Option<f64>,
    /// Orders and cancels in one transaction of the database.
    pub requests_per_transaction: Option<f64>,
    /// Transactions that were begun again because of a conflict, an order.
    pub retries_per_order: Option<f64>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// From 1.
    pub round: u32,
    pub mode: String,
    pub subject: String,
    pub connections: u64,
    /// Requests in flight on each of them.
    pub depth: u64,
    /// How busy the machine was with other things just before, in percent of all its cores.
    pub busy_percent: f64,
    #[serde(flatten)]
    pub figures: Figures,
    /// Why the figures must not be used.
    pub invalid_because: Option<String>,
}

impl Measurement {
    /// What came of a task.
    pub fn of(task: &Task, busy_percent: f64, figures: Figures, invalid_because: Option<String>) -> Measurement {
        let (mode, subject) = (task.mode.name().to_string(), task.subject.name().to_string());
        let (connections, depth) = (task.mode.connections(), task.mode.depth());
        Measurement { round: task.round, mode, subject, connections, depth, busy_percent, figures, invalid_because }
    }

    /// Whether it may be used.
    pub fn is_valid(&self) -> bool {
        self.invalid_because.is_none()
    }

    /// Whether the market, or what stands for one, is in PostgreSQL, and everything on the same cores.
    pub fn is_on_postgres(&self) -> bool {
        self.mode.starts_with("postgres-")
    }

    /// Whether requests came on a schedule, so that the throughput is what was asked for.
    pub fn is_open_loop(&self) -> bool {
        self.mode.ends_with("open-half")
    }
}

/// All of a comparison.
#[derive(Serialize, Deserialize)]
pub struct Comparison {
    pub format: u32,
    /// UTC, as RFC 3339.
    pub started: String,
    pub command: String,
    pub rounds: u32,
    pub seconds: f64,
    pub server_core: usize,
    pub load_core: usize,
    pub machine: Machine,
    /// What took part, with its version and settings.
    pub subjects: Vec<String>,
    /// Who did not, and why.
    pub left_out: Vec<String>,
    pub measurements: Vec<Measurement>,
    /// Computed from them.
    pub ratios: Vec<Ratio>,
}

impl Comparison {
    /// Writes it whole. Errors: the system's.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n";
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// The measurements as they come, a line each, so that an interrupted comparison leaves what it has.
pub struct Lines {
    file: File,
}

impl Lines {
    /// Makes the file anew. Errors: the system's.
    pub fn create(path: &Path) -> Result<Lines, String> {
        File::create(path).map(|file| Lines { file }).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub fn add(&mut self, measurement: &Measurement) -> Result<(), String> {
        let line = serde_json::to_string(measurement).map_err(|error| error.to_string())? + "\n";
        self.file.write_all(line.as_bytes()).map_err(|error| format!("cannot write a measurement: {error}"))
    }
}
