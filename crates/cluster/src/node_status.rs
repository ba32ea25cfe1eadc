//! The standing of a node: for its own metrics, and for `pricetime cluster status`, which asks all nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::Engine;
use exchange::{Gauge, Metrics, State, Status};
use serde::{Deserialize, Serialize};

use crate::marks::Comparison;
use crate::versions::NEWEST;

/// A node's report about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    pub node: u16,
    /// The number of times that it was started.
    pub epoch: u32,
    pub version: String,
    /// The newest version of the log's messages that it knows.
    pub messages_version: u8,
    /// Whether it only follows. It then writes nothing into the log, and has no epoch.
    pub read_only: bool,
    /// The state, in the words of `/ready`.
    pub state: String,
    /// The last message of the log that it has taken, and the last one that it knows.
    pub taken: u64,
    pub end: u64,
    /// The last command that it has applied.
    pub sequence: u64,
    /// The last mark at which it compared its state with that of other nodes.
    pub mark: Option<MarkReport>,
    /// The nodes whose messages it has taken, by number, with the last message of each.
    pub nodes: Vec<(u16, u64)>,
}

/// The comparison of a node's state at a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkReport {
    /// The message of the log behind the mark.
    pub position: u64,
    /// The hash, in hexadecimal.
    pub hash: String,
    /// The number of nodes with this hash, and with another one.
    pub same: usize,
    pub other: usize,
}

/// A shared handle; clones see the same.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    status: Status,
    metrics: Metrics,
    report: Arc<Mutex<NodeReport>>,
    /// Whether a turn has waited for the log for longer than clients wait.
    has_waiting_turn: Arc<AtomicBool>,
}

impl NodeReport {
    /// The `state` of a node that serves.
    pub const READY: &'static str = "ready";

    /// Whether its texts are plain: an operator's terminal takes other characters of an impostor for orders.
    pub(crate) fn is_plain(&self) -> bool {
        let hash = self.mark.as_ref().map_or("", |mark| &mark.hash);
        [&self.version, &self.state, hash].iter().all(|text| !text.contains(char::is_control))
    }
}

impl NodeStatus {
    pub fn new(status: Status, metrics: Metrics) -> NodeStatus {
        NodeStatus { status, metrics, report: Arc::default(), has_waiting_turn: Arc::default() }
    }

    /// The state of the server.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Notes that a turn waits for the log for longer than clients wait.
    pub(crate) fn turn_waits(&self) {
        self.has_waiting_turn.store(true, Ordering::Relaxed);
        self.status.replace(&State::Ready, State::StoreAway);
    }

    /// Notes that the log has given a turn its messages back.
    pub(crate) fn turn_goes_on(&self) {
        self.has_waiting_turn.store(false, Ordering::Relaxed);
        self.status.replace(&State::StoreAway, State::Ready);
    }

    /// Notes that the log answers again, which is not enough for a turn that still waits for it.
    pub(crate) fn log_answers(&self) {
        if !self.has_waiting_turn.load(Ordering::Relaxed) {
            self.status.replace(&State::StoreAway, State::Ready);
        }
    }

    /// Sets the node's number. A node that only follows has no epoch.
    pub(crate) fn begins(&self, node: u16, epoch: Option<u32>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        (report.node, report.read_only) = (node, epoch.is_none());
        let epoch = epoch.unwrap_or(0);
        report.epoch = epoch;
        self.metrics.set(Gauge::LogEpoch, u64::from(epoch));
    }

    /// Sets the node's progress. Everything that the engine has taken is applied, and its followers have the events.
    pub(crate) fn stands(&self, engine: &Engine, end: u64) {
        let taken = engine.shared_log().position();
        let end = end.max(taken);
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        (report.taken, report.end, report.sequence) = (taken, end, engine.sequence().0);
        report.nodes.clear();
        report.nodes.extend(engine.shared_log().all().map(|message| (message.node.number(), message.position)));
        drop(report);
        self.metrics.set(Gauge::LogTaken, taken);
        self.metrics.set(Gauge::LogEnd, end);
        self.metrics.set(Gauge::Commands, engine.sequence().0);
    }

    pub(crate) fn compares(&self, comparison: &Comparison) {
        let Comparison { position, hash, same, others } = *comparison;
        let other = others.map_or(0, |(count, _)| count);
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.mark = Some(MarkReport { position, hash: format!("{hash:016x}"), same, other });
        drop(report);
        self.metrics.set(Gauge::MarkPosition, position);
        self.metrics.set(Gauge::MarkSame, same as u64);
        self.metrics.set(Gauge::MarkOther, other as u64);
    }

    /// The node's present report about itself.
    pub fn report(&self) -> NodeReport {
        let state = match self.status.get() {
            State::Standby | State::Recovering => "recovering",
            State::StoreAway => "log away",
            State::Ready => NodeReport::READY,
            State::Stopping => "stopping",
            State::Failed(_) => "failed",
        };
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        NodeReport {
            state: state.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            messages_version: NEWEST,
            ..report
        }
    }
}
