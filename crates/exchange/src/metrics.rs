//! What the server measures of itself: what its gateways do, how long the parts of a turn take, and gauges such as the
//! number of accounts. Each part of the server writes its own figures, once a batch or a turn, and nobody waits for
//! anybody. All counts are since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::gateway_metrics::GatewayMetrics;
use crate::histogram::{Histogram, Reading};

/// A part of a request's way behind the port. Every request of a turn counts with the time of the whole turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Until the turn begins that takes its batch.
    Wait,
    /// Writing the journal and waiting for the disk.
    Journal,
    /// Applying commands and answering queries.
    Apply,
    /// With a database: from then until the transaction is committed or, in a turn of queries alone, until the sequence
    /// row shows that no other server has taken over.
    Commit,
}

/// A figure of which only the latest value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Commands sequenced since the market began.
    Commands,
    Accounts,
    Symbols,
    OpenOrders,
    /// Commands and queries that waited when the last turn began, those of the turn included.
    TurnQueue,
    /// How long reading what was known took at the start.
    RecoveryMicros,
    /// Commands that were replayed then.
    RecoveredCommands,
    /// When the newest snapshot was made, in seconds since the Unix epoch.
    SnapshotTime,
    /// What is free on the disk of the data folder.
    DataFreeBytes,
    /// WebSockets that are subscribed to something.
    Subscribers,
    /// Commands that the history has followed since the market began.
    HistoryCommands,
    /// Records of the history that were found damaged.
    DamagedInHistory,
    /// The time of the last command, in microseconds since the Unix epoch.
    MarketTime,
    /// How far the machine's clock is ahead because it leapt and is not followed.
    ClockLeapMicros,
    /// Accounts whose orders are canceled when nobody is there for them.
    Protected,
    /// Orders that were canceled so, since the start.
    Disconnected,
    /// 1 while everything is killed, otherwise 0.
    KilledEverything,
    /// How many are killed.
    KilledAccounts,
    KilledSymbols,
    /// Of a node of a cluster: the last message of the log that it has taken, and the last one that it knows of.
    LogTaken,
    LogEnd,
    /// How many times the node was started.
    LogEpoch,
    /// The message of the log before which nodes last compared their states, how many have this node's, itself included, and how many
    /// another.
    MarkPosition,
    MarkSame,
    MarkOther,
}

const STAGES: usize = Stage::Commit as usize + 1;
const GAUGES: usize = Gauge::MarkOther as usize + 1;
/// The value of a gauge that was never set.
const UNSET: u64 = u64::MAX;

/// A shared handle; clones write and read the same figures.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Figures>);

#[derive(Debug)]
struct Figures {
    gateways: Vec<GatewayMetrics>,
    stages: [Histogram; STAGES],
    syncs: Histogram,
    turns: Histogram,
    heavy: Histogram,
    passed_over: AtomicU64,
    cut: AtomicU64,
    gauges: [AtomicU64; GAUGES],
}

/// Writing the figures.
impl Metrics {
    /// Of a server with these gateways, nothing written down yet.
    pub fn new(gateways: &[&'static str]) -> Metrics {
        Metrics(Arc::new(Figures {
            gateways: gateways.iter().map(|name| GatewayMetrics::new(name)).collect(),
            stages: std::array::from_fn(|_| Histogram::new()),
            syncs: Histogram::new(),
            turns: Histogram::new(),
            heavy: Histogram::new(),
            passed_over: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            gauges: [const { AtomicU64::new(UNSET) }; GAUGES],
        }))
    }

    /// What the gateway of this name writes to. Panics if there is none, which would be a bug of whoever puts the server
    /// together.
    pub fn gateway(&self, name: &str) -> GatewayMetrics {
        let found = self.0.gateways.iter().find(|gateway| gateway.name() == name);
        found.expect("invariant: each gateway is named when the metrics are made").clone()
    }

    /// So many requests were in a stage for so long.
    pub fn spent(&self, stage: Stage, requests: usize, time: Duration) {
        self.0.stages[stage as usize].add_time(requests as u64, time);
    }

    /// A turn has begun that takes this batch.
    pub fn taken(&self, batch: &Batch, begun: Instant) {
        if let Some(submitted) = batch.submitted {
            self.spent(Stage::Wait, batch.requests.len(), begun.saturating_duration_since(submitted));
        }
    }

    /// A turn, or a transaction, of so many commands and queries is over; so many waited when it began, its own included.
    pub fn turned(&self, ops: usize, queue: usize) {
        self.0.turns.add(ops as u64, 1, ops as u64);
        self.set(Gauge::TurnQueue, queue as u64);
    }

    /// A turn was given heavy batches of this estimated cost, if any; so many of its requests had waited while turns of
    /// others were taken, and `is_cut` says that others wait on.
    pub fn shared(&self, heavy_cost: u64, passed_over: usize, is_cut: bool) {
        if heavy_cost > 0 {
            self.0.heavy.add(heavy_cost, 1, heavy_cost);
        }
        if passed_over > 0 {
            self.0.passed_over.fetch_add(passed_over as u64, Ordering::Relaxed);
        }
        if is_cut {
            self.0.cut.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The disk, or the database, took so long to store something.
    pub fn kept(&self, time: Duration) {
        self.0.syncs.add_time(1, time);
    }

    /// Sets a gauge.
    pub fn set(&self, gauge: Gauge, value: u64) {
        self.0.gauges[gauge as usize].store(value, Ordering::Relaxed);
    }
}

/// Reading the figures. Times are in microseconds, their sums in nanoseconds.
impl Metrics {
    /// What each gateway has written.
    pub fn gateways(&self) -> &[GatewayMetrics] {
        &self.0.gateways
    }

    /// How long requests were in each stage of their way, in order, with its name as a label. All gateways are one here.
    pub fn stages(&self) -> [(&'static str, Reading); STAGES + 2] {
        let behind = |stage: Stage| self.0.stages[stage as usize].read();
        [
            ("parse", self.of_all(GatewayMetrics::parse)),
            ("wait", behind(Stage::Wait)),
            ("journal", behind(Stage::Journal)),
            ("apply", behind(Stage::Apply)),
            ("commit", behind(Stage::Commit)),
            ("reply", self.of_all(GatewayMetrics::reply)),
        ]
    }

    /// How long the requests of all gateways took from their batch's way in to its way out.
    pub fn answers(&self) -> Reading {
        self.of_all(GatewayMetrics::answers)
    }

    /// How long syncs of the journal took; with a database, commits.
    pub fn syncs(&self) -> Reading {
        self.0.syncs.read()
    }

    /// Commands and queries of each turn; with a database, of each transaction.
    pub fn turns(&self) -> Reading {
        self.0.turns.read()
    }

    /// The estimated cost of each turn of heavy batches.
    pub fn heavy(&self) -> Reading {
        self.0.heavy.read()
    }

    /// Requests that waited while turns of others were taken.
    pub fn passed_over(&self) -> u64 {
        self.0.passed_over.load(Ordering::Relaxed)
    }

    /// Turns that left heavy batches to later ones.
    pub fn cut(&self) -> u64 {
        self.0.cut.load(Ordering::Relaxed)
    }

    /// Commands and queries that were handed in and did not come back yet.
    pub fn ops_in_flight(&self) -> u64 {
        self.0.gateways.iter().map(GatewayMetrics::ops_in_flight).sum()
    }

    /// The value of a gauge; none if it was never set.
    pub fn get(&self, gauge: Gauge) -> Option<u64> {
        let value = self.0.gauges[gauge as usize].load(Ordering::Relaxed);
        (value != UNSET).then_some(value)
    }

    fn of_all(&self, read: impl Fn(&GatewayMetrics) -> Reading) -> Reading {
        self.0.gateways.iter().map(read).fold(Histogram::new().read(), |all, one| all.with(&one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_for_each_request_and_are_rounded_up() {
        let metrics = Metrics::new(&["one", "other"]);
        metrics.spent(Stage::Apply, 50, Duration::from_nanos(4_001));
        metrics.gateway("one").parsed(2, Duration::from_micros(3));
        metrics.gateway("other").parsed(1, Duration::from_micros(7));
        let of = |name: &str| {
            let stages = metrics.stages();
            let (_, reading) = stages.iter().find(|(stage, _)| *stage == name).expect("a stage");
            (reading.count(), reading.sum, reading.quantile(0.5))
        };
        assert_eq!(of("apply"), (50, 200_050, Some(5)));
        assert_eq!(of("parse"), (3, 13_000, Some(3)), "of all gateways together");
        assert_eq!(of("reply"), (0, 0, None));
        metrics.kept(Duration::from_secs(3600));
        assert_eq!(metrics.syncs().quantile(1.0), Some(1 << 30), "more than is told apart");
    }

    #[test]
    fn a_gauge_says_nothing_until_somebody_has() {
        let metrics = Metrics::new(&[]);
        assert_eq!(metrics.get(Gauge::DataFreeBytes), None);
        metrics.clone().set(Gauge::DataFreeBytes, 0);
        assert_eq!(metrics.get(Gauge::DataFreeBytes), Some(0));
    }
}
