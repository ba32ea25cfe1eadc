//! The raw files of experiments: one record a run with all that is needed to compute everything again, and one file
//! that says what a series of runs is. Written by runs and sweeps, read by the report; knows neither.
//!
//! A folder of results holds `experiment.json` and `runs/NNNN.json`; a folder of such folders is several experiments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of these files. A reader refuses another.
pub const FORMAT: u32 = 1;

/// What one run was, and what came out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub format: u32,
    /// UTC, as RFC 3339.
    pub started: String,
    /// The command line that repeats it.
    pub command: String,
    pub load: LoadSettings,
    pub server: ServerRecord,
    pub machine: Machine,
    /// Seconds from the first request to the last reply of the measured part.
    pub seconds: f64,
    /// Requests answered a second in the measured part.
    pub throughput: f64,
    pub counts: Counts,
    pub latency: Latency,
    /// The most requests that were really in flight at once.
    pub in_flight_max: u64,
    /// The most connections that were really open at once.
    pub connections_max: u64,
    pub client: ClientRecord,
    pub conservation: Conservation,
    /// Why the figures must not be used; empty for a valid run.
    pub invalid_because: Vec<String>,
    /// What to keep in mind when reading the figures of a valid run.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What was asked of the load generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSettings {
    pub workload: String,
    /// `persistent`, `per-request` or `pipelined`.
    pub mode: String,
    pub connections: u64,
    /// Requests in flight on each connection.
    pub depth: u64,
    /// Requests of the measured part; or
    pub requests: Option<u64>,
    /// its length in seconds.
    pub duration: Option<f64>,
    /// Requests a second, sent on a schedule whatever the server does: an open loop. Without it the loop is closed.
    pub rate: Option<f64>,
    /// Seconds before the measured part.
    pub warmup: f64,
    pub accounts: u64,
    pub symbols: u64,
    pub seed: u64,
    /// Threads of the load generator.
    pub threads: u64,
}

/// The server that was driven.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerRecord {
    pub address: String,
    /// Started by the run on a fresh data folder or database; the fields below are known only then.
    pub own: bool,
    /// `pricetime 0.1.0`, or what it calls itself; with its database, if it keeps its market in one.
    pub version: Option<String>,
    /// Its command line.
    pub command: Option<String>,
    pub cores: Option<Vec<usize>>,
    pub workers: Option<u64>,
    /// `synced`, `written`, or `committed to PostgreSQL, synchronous_commit on`.
    pub durability: Option<String>,
    /// `journal` or `postgres`.
    pub store: Option<String>,
    /// What `listen` really got: the setting, cut by `somaxconn`.
    pub backlog: Option<u64>,
    /// Processor seconds of the measured part; without those of a database.
    pub cpu_seconds: Option<f64>,
    /// Its largest resident memory, in bytes.
    pub memory_peak: Option<u64>,
}

/// Where it ran.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: u64,
    pub memory_bytes: u64,
    pub kernel: String,
    /// Device and file system of the data folder.
    pub disk: String,
    /// Microseconds that `fdatasync` of one appended block takes there: median and 99th percentile.
    pub fsync_us: Option<[f64; 2]>,
    pub congestion_control: String,
    pub somaxconn: u64,
    /// Of the source, with `+` where it had changes; none outside a repository.
    pub commit: Option<String>,
    pub compiler: String,
}

/// What was sent and what came back in the measured part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    pub sent: u64,
    pub answered: u64,
    /// Replies by kind: `created`, `opened`, `canceled`, `status`, `error`.
    pub kinds: BTreeMap<String, u64>,
    /// Replies that are errors where the workload expects one (a repeated create).
    pub errors_expected: u64,
    /// Error replies that the workload does not expect.
    pub errors: u64,
    /// Replies of a kind that their request must not get, and bytes that are no reply.
    pub wrong: u64,
    /// Requests without a reply.
    pub lost: u64,
    /// Connections that ended before their last reply, or could not be made.
    pub broken: u64,
    /// The first wrong thing that was seen.
    pub first_wrong: Option<String>,
}

/// From sending to the whole reply in a closed loop, from the scheduled time of sending in an open one. Microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// `closed` or `open`.
    pub from: String,
    pub mean: f64,
    pub deviation: f64,
    pub min: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// The histogram of nanoseconds in HdrHistogram's V2 form, compressed by nothing, in base64.
    pub histogram: String,
}

/// What the load generator itself used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientRecord {
    pub cores: Vec<usize>,
    /// The largest part of a core that one of its threads used in the measured part.
    pub cpu_share: f64,
    /// Loopback source addresses that it took turns with; 1 when it did not need to.
    pub source_addresses: u64,
}

/// Whether money and shares at the end are those that were created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conservation {
    /// The server is somebody else's.
    NotChecked,
    /// They are.
    Holds,
    /// They are not: what differs.
    Broken(String),
}

/// A series of runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Experiment {
    pub format: u32,
    /// Of its folder: `one-shot`, or `sweep-cores`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What is done, in a paragraph: also where it differs from what was published, and what this machine cannot do.
    pub description: String,
    /// `cores`, `clients`, `connections`, `requests`, `workers` or `depth`.
    pub axis: String,
    /// The command line that repeats it.
    pub command: String,
    pub started: String,
    /// Of the order of runs.
    pub seed: u64,
    /// What a point of it shows first: `throughput`, `seconds` or `latency`.
    pub shows: String,
    /// Draw the axis logarithmically.
    pub log_axis: bool,
    pub published: Vec<Published>,
    /// How many runs there are when it is done; not known of files from before this was written.
    #[serde(default)]
    pub planned: Option<u64>,
    /// The runs, in the order in which they were made.
    pub runs: Vec<RunEntry>,
}

/// One run of a series.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunEntry {
    /// `runs/0001.json`.
    pub file: String,
    /// Its place on the axis.
    pub value: f64,
    /// Its line in the plot: `published size`, `scaled to 5 s`, `2 cores`.
    pub series: String,
}

/// What an earlier system reported for the same experiment, on other hardware.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Published {
    /// `published, other hardware: 4 server processes`.
    pub label: String,
    /// Same unit as `shows`.
    pub points: Vec<PublishedPoint>,
}

/// One point of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishedPoint {
    pub value: f64,
    pub mean: f64,
    pub deviation: Option<f64>,
}
