//! The server's measurements of itself: the figures of its gateways, the times of the parts of a turn, and gauges such
//! as the number of accounts. Each part of the server writes its own figures, once for each batch or turn, and never
//! waits for another. All counts are since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::gateway_metrics::GatewayMetrics;
use crate::histogram::{Histogram, Reading};

/// A part of a request's way behind the port. Every request of a turn counts with the time of the whole turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for the start of the turn that takes the batch.
    Wait,
    /// Writing the journal and waiting for the disk.
    Journal,
    /// Applying commands and answering queries.
    Apply,
    /// Committing, with a database: until the transaction is committed or, in a turn of queries alone, until the
    /// sequence row shows that no other server has taken over.
    Commit,
}

/// A figure with a latest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Commands sequenced since the market began.
    Commands,
    Accounts,
    Symbols,
    OpenOrders,
    /// Client order ids of all accounts in memory.
    ClientOrderIds,
    /// Commands and queries that waited when the last turn began, including those of the turn.
    TurnQueue,
    /// The duration of the recovery at the start.
    RecoveryMicros,
    /// Commands that the recovery replayed.
    RecoveredCommands,
    /// The time of the newest snapshot, in seconds since the Unix epoch.
    SnapshotTime,
    /// The free bytes on the disk of the data folder.
    DataFreeBytes,
    /// 1 while so little of it is free that new orders and accounts are refused, otherwise 0.
    DiskLow,
    /// WebSockets with a subscription.
    Subscribers,
    /// The bytes of the trades and candles that the feed keeps in memory.
    RememberedBytes,
    /// Commands that the history has followed since the market began.
    HistoryCommands,
    /// Records of the history that were found damaged.
    DamagedInHistory,
    /// The time of the last command, in microseconds since the Unix epoch.
    MarketTime,
    /// The time by which the machine's clock is ahead after a leap that the market does not follow.
    ClockLeapMicros,
    /// Accounts whose orders are canceled when their sessions have ended.
    Protected,
    /// Orders that the market canceled for that reason since the start.
    Disconnected,
    /// 1 while everything is killed, otherwise 0.
    KilledEverything,
    /// The number of killed accounts.
    KilledAccounts,
    KilledSymbols,
    /// The last message of the log that this node of a cluster has taken. `LogEnd`: the last one that it knows of.
    LogTaken,
    LogEnd,
    /// The number of times that the node was started.
    LogEpoch,
    /// The message of the log before which nodes last compared their states. `MarkSame`: the number of nodes with this
    /// node's state, including itself. `MarkOther`: the number of nodes with another one.
    MarkPosition,
    MarkSame,
    MarkOther,
    /// 1 while the stream of the members beside the log cannot be asked, otherwise 0.
    MembersAway,
}

const STAGES: usize = Stage::Commit as usize + 1;
const GAUGES: usize = Gauge::MembersAway as usize + 1;
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
    /// Makes the figures of a server with these gateways, all zero.
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

    /// The figures that the gateway of this name writes to. Panics if there is none, which would be a bug of the code
    /// that puts the server together.
    pub fn gateway(&self, name: &str) -> GatewayMetrics {
        let found = self.0.gateways.iter().find(|gateway| gateway.name() == name);
        found.expect("invariant: each gateway is named when the metrics are made").clone()
    }

    /// Notes that this many requests spent this time in a stage.
    pub fn spent(&self, stage: Stage, requests: usize, time: Duration) {
        self.0.stages[stage as usize].add_time(requests as u64, time);
    }

    /// Notes that a turn began that takes this batch.
    pub fn taken(&self, batch: &Batch, begun: Instant) {
        if let Some(submitted) = batch.submitted {
            self.spent(Stage::Wait, batch.requests.len(), begun.saturating_duration_since(submitted));
        }
    }

    /// Notes the end of a turn or a transaction of `ops` commands and queries; `queue` of them waited when it began,
    /// including its own.
    pub fn turned(&self, ops: usize, queue: usize) {
        self.0.turns.add(ops as u64, 1, ops as u64);
        self.set(Gauge::TurnQueue, queue as u64);
    }

    /// Notes a turn that was given heavy batches of this estimated cost, if any. `passed_over` of its requests had
    /// waited while others had turns, and `is_cut` says that others still wait.
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

    /// Notes the time that the disk or the database took to store something.
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
    /// The figures of each gateway.
    pub fn gateways(&self) -> &[GatewayMetrics] {
        &self.0.gateways
    }

    /// The times of requests in each stage of their way, in order, with its name as a label. This adds up all gateways.
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

    /// The times of the requests of all gateways from their batch's way in to its way out.
    pub fn answers(&self) -> Reading {
        self.of_all(GatewayMetrics::answers)
    }

    /// The times of the journal's syncs; with a database, of commits.
    pub fn syncs(&self) -> Reading {
        self.0.syncs.read()
    }

    /// The numbers of commands and queries of each turn; with a database, of each transaction.
    pub fn turns(&self) -> Reading {
        self.0.turns.read()
    }

    /// The estimated cost of each turn of heavy batches.
    pub fn heavy(&self) -> Reading {
        self.0.heavy.read()
    }

    /// Requests that waited while others had turns.
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

    /// The value of a gauge; `None` if it was never set.
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
