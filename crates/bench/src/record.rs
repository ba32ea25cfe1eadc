//! The raw files of experiments: one record a run with everything that is needed to compute the results again, and one
//! file that says what the runs are. Sweeps, comparisons and live benchmarks write them, the report reads them; this
//! module knows none of these.
//!
//! A folder of results holds `experiment.json` and `runs/NNNN.json`; a folder of such folders is several experiments.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::number::{bytes, figure, short};

/// The format of these files. A reader refuses another one.
pub const FORMAT: u32 = 3;

/// Writes a file of JSON as a whole: beside it, then renamed, so that a reader gets the old text or the new one.
/// Errors: the system's, with its name.
pub fn write_json(file: &Path, content: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(content).map_err(|error| format!("{}: {error}", file.display()))? + "\n";
    if file.exists() && !file.is_file() {
        // A pipe or a terminal is written to, and not replaced.
        return write_text(file, &text);
    }
    let unfinished = file.with_extension("unfinished");
    write_text(&unfinished, &text)?;
    std::fs::rename(&unfinished, file).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Writes a file. Errors: the system's, with its name.
pub fn write_text(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

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

/// The loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// New accounts
    Create,
    /// Two orders in three requests, half of which execute, and one cancel, so that the number of open orders stays
    Order,
    /// Like order, but every second order that executes is a market order or an immediate-or-cancel order
    OrderTaking,
    /// Orders that do not execute
    OrderResting,
    /// Orders that all execute
    OrderCrossing,
    /// An account, its order, a query, a cancel
    Lifecycle,
    /// 60% orders, 30% cancels, 10% queries
    Mix,
    /// Queries of open orders
    Query,
    /// The request of 173 bytes of a published experiment
    EchoExample,
    /// Orders without accounts; any reply is right
    Raw,
}

/// The use of connections by requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Connections stay open, with one request in flight on each
    Persistent,
    /// A new connection for each request
    PerRequest,
    /// Connections stay open, with --depth requests in flight on each
    Pipelined,
}

/// The settings of the load generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSettings {
    pub workload: Recipe,
    pub mode: Mode,
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

impl Default for LoadSettings {
    /// Returns the load of a run without arguments, without a length.
    fn default() -> LoadSettings {
        LoadSettings {
            workload: Recipe::Order,
            mode: Mode::Persistent,
            connections: 50,
            depth: 1,
            requests: None,
            duration: None,
            rate: None,
            warmup: 0.0,
            accounts: 10_000,
            symbols: 4,
            seed: 1,
            threads: 1,
        }
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

/// Microseconds from sending to the whole reply in a closed loop, from the scheduled time of sending in an open one;
/// `None` where a figure is not known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// `closed` or `open`.
    pub from: String,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    pub count: u64,
    /// The histogram of nanoseconds in HdrHistogram's V2 form, without compression, in base64; empty where there is
    /// none.
    pub histogram: String,
}

impl Latency {
    /// Makes the figures of a histogram in nanoseconds.
    pub fn of(histogram: &Histogram<u64>, from: &str) -> Latency {
        let from = from.to_string();
        if histogram.is_empty() {
            return Latency { from, ..Latency::default() };
        }
        let us = |nanoseconds: f64| Some((nanoseconds / 10.0).round() / 100.0);
        let at = |quantile| us(histogram.value_at_quantile(quantile) as f64);
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).expect("invariant: writing to memory does not fail");
        Latency {
            from,
            mean: us(histogram.mean()),
            deviation: us(histogram.stdev()),
            min: us(histogram.min() as f64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: us(histogram.max() as f64),
            count: histogram.len(),
            histogram: STANDARD.encode(bytes),
        }
    }

    /// Returns all latencies, in nanoseconds. Errors: a damaged histogram.
    pub fn decode(&self) -> Result<Histogram<u64>, String> {
        if self.histogram.is_empty() {
            return Histogram::new(3).map_err(|error| error.to_string());
        }
        let bytes =
            STANDARD.decode(&self.histogram).map_err(|error| format!("a histogram that is no base64: {error}"))?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| format!("a damaged histogram: {error}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_record() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3).expect("bounds");
        (1..1000).for_each(|value| histogram.record(value * 977).expect("within the bounds"));
        let mut latency = Latency::of(&histogram, "closed");
        assert_eq!(latency.decode(), Ok(histogram));
        for damaged in ["????", "AAAA"] {
            latency.histogram = damaged.to_string();
            assert!(latency.decode().is_err());
        }
    }
}
