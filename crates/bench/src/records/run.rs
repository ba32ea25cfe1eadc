//! The record of one run with everything that is needed to compute the results again: load, server, machine, counts
//! and what makes its figures unusable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::Latency;
use super::load::LoadSettings;
use super::number::{bytes, figure};

/// The format of these files. A reader refuses another one.
pub const FORMAT: u32 = 3;

/// The record of one run, and its results: of our load on any server, or of another program's load on its own server,
/// which reports less.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunRecord {
    pub format: u32,
    /// The start in UTC, as RFC 3339.
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
    /// The reasons why the figures must not be used; empty for a valid run.
    pub invalid_because: Vec<String>,
    /// Warnings for readers of the figures of a valid run.
    pub warnings: Vec<String>,
    /// Percent of all cores that were busy with other things just before, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
    /// The use of the market's database, if it was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseUse>,
    /// The messages of subscribers, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<SubscriberCounts>,
    /// The time from when an order was due until a subscriber had read its trade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trade_to_socket: Option<Latency>,
}

impl RunRecord {
    /// Whether its figures may be used.
    pub fn is_valid(&self) -> bool {
        self.invalid_because.is_empty()
    }

    /// Returns the record of a run that could not be made.
    pub fn failed(why: String) -> RunRecord {
        RunRecord { format: FORMAT, invalid_because: vec![why], ..RunRecord::default() }
    }

    /// Returns its speed in a line.
    pub fn text(&self) -> String {
        let speed = format!("{} requests/s, {} s", figure(self.throughput), figure(self.seconds));
        match self.invalid_because.as_slice() {
            [] => speed,
            reasons => format!("{speed}, NOT VALID: {}", reasons.join("; ")),
        }
    }

    /// Returns the number of replies of this kind in the measured part.
    pub fn replies(&self, kind: &str) -> u64 {
        self.counts.kinds.get(kind).copied().unwrap_or(0)
    }
}

/// The server that was driven.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    pub address: String,
    /// Whether the run started it on a fresh data folder or database; the fields below are known only then.
    pub own: bool,
    /// `pricetime 0.1.0`, or its own name; with its database, if it keeps its market in one.
    pub version: Option<String>,
    /// Its command line.
    pub command: Option<String>,
    pub cores: Option<Vec<usize>>,
    pub workers: Option<u64>,
    /// `synced`, `written`, or `committed to PostgreSQL, synchronous_commit on`.
    pub durability: Option<String>,
    /// `journal` or `postgres`.
    pub store: Option<String>,
    /// The backlog that `listen` really got: the setting, cut by `somaxconn`.
    pub backlog: Option<u64>,
    /// Processor seconds of the measured part; without those of a database.
    pub cpu_seconds: Option<f64>,
    /// Its largest resident memory, in bytes.
    pub memory_peak: Option<u64>,
}

impl ServerRecord {
    /// The names of stores.
    pub const JOURNAL: &'static str = "journal";
    pub const POSTGRES: &'static str = "postgres";
}

/// The use of a database by a run, in the measured part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DatabaseUse {
    pub cpu_seconds: Option<f64>,
    /// Transactions that wrote.
    pub transactions: u64,
    /// Transactions that were begun again because of a conflict.
    pub retries: Option<u64>,
}

/// The messages of subscribers in the measured part, and their faults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubscriberCounts {
    pub subscribers: u64,
    pub seconds: f64,
    pub messages: u64,
    pub bytes: u64,
    /// Updates of books that were missing.
    pub gaps: u64,
    /// Subscribers that the server disconnected because too much waited for them.
    pub dropped: u64,
    /// Messages that a subscriber must not get.
    pub wrong: u64,
    pub first_wrong: Option<String>,
    /// Subscribers that got nothing.
    pub deaf: u64,
    /// Part of a core that reading took.
    pub cpu_share: f64,
}

/// The machine of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// The commit of the source, with `+` where it had changes; `None` outside a repository.
    pub commit: Option<String>,
    pub compiler: String,
}

impl Machine {
    /// Describes it, and the source that was built on it. Figures with errors of measurement stay out, so that the same
    /// machine is the same line.
    pub fn text(&self) -> String {
        let Machine { cpu, cores, kernel, disk, compiler, .. } = self;
        let commit = self.commit.as_deref().map_or(String::new(), |commit| format!(", source at commit {commit}"));
        let memory = bytes(self.memory_bytes);
        format!("{cpu}, {cores} cores, {memory}, {kernel}, disk {disk}{commit}, {compiler}")
    }
}

/// The requests and replies of the measured part.
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

impl Counts {
    /// Adds those of another, except the kinds.
    pub fn add(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.errors_expected += other.errors_expected;
        self.errors += other.errors;
        self.wrong += other.wrong;
        self.lost += other.lost;
        self.broken += other.broken;
        self.first_wrong = self.first_wrong.take().or_else(|| other.first_wrong.clone());
    }

    /// Returns the reasons why the figures of a run with these must not be used.
    pub fn faults(&self) -> Vec<String> {
        let faults = [
            (self.errors, "unexpected errors"),
            (self.wrong, "wrong replies"),
            (self.lost, "requests without a reply"),
            (self.broken, "broken connections"),
        ];
        let faults = faults.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let nothing = (self.answered == 0).then(|| "nothing was answered in the measured part".to_string());
        faults.chain(nothing).collect()
    }
}

/// The resources that the load generator itself used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClientRecord {
    pub cores: Vec<usize>,
    /// The largest part of a core that one of its threads used in the measured part.
    pub cpu_share: f64,
    /// Loopback source addresses that it took in turn; 1 when it did not need to.
    pub source_addresses: u64,
}

/// Whether money and shares at the end are those that were created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conservation {
    /// The server is not ours to check.
    #[default]
    NotChecked,
    /// The sums are equal.
    Holds,
    /// The sums differ; the difference.
    Broken(String),
}
