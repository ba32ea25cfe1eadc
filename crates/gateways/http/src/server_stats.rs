//! Measures once a second how busy the server is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use exchange::{Counters, GatewayMetrics, Gauge, Metrics, Mode, Reading};
use feed::View;
use serde::Serialize;
use terms::KillScope;
use utoipa::ToSchema;

use crate::clock::now;
use crate::process::Process;
use crate::schema_values;

/// Seconds that are remembered.
const REMEMBERED: usize = 300;

/// Returns the counters of the XML gateway.
pub type Counting = Arc<dyn Fn() -> Counters + Send + Sync>;

/// Returns the mode of the venue.
pub(crate) type ModeNow = Box<dyn Fn() -> Mode + Send + Sync>;

/// Measures, and remembers the last figures, from which rates are computed.
pub(crate) struct ServerStats {
    counters: Counting,
    metrics: Metrics,
    rest: GatewayMetrics,
    mode: ModeNow,
    started: Instant,
    before: PreviousCounters,
    /// The last seconds, oldest first.
    last: VecDeque<Measured>,
}

/// The figures at a time.
struct PreviousCounters {
    at: Instant,
    answered: u64,
    sequence: u64,
    trades: u64,
    latency: Reading,
    syncs: Reading,
    turns: Reading,
}

/// Percentiles.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Spread {
    #[schema(value_type = schema_values::Count)]
    p50: u64,
    #[schema(value_type = schema_values::Count)]
    p99: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema_values::Count, required = false)]
    p999: Option<u64>,
}

impl Spread {
    /// Returns `None` if nothing was measured.
    fn of(reading: &Reading, with_p999: bool) -> Option<Spread> {
        let (p50, p99) = (reading.quantile(0.5)?, reading.quantile(0.99)?);
        Some(Spread { p50, p99, p999: reading.quantile(0.999).filter(|_| with_p999) })
    }
}

/// One second of a server's life.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Measured {
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(minimum = 0)]
    requests_per_second: f64,
    #[schema(minimum = 0)]
    commands_per_second: f64,
    #[schema(minimum = 0)]
    executions_per_second: f64,
    #[schema(required = true)]
    latency_us: Option<Spread>,
    #[schema(required = true)]
    sync_us: Option<Spread>,
    #[schema(required = true)]
    batch: Option<Spread>,
    #[schema(value_type = Option<schema_values::Count>, required = true)]
    queue: Option<u64>,
    #[schema(value_type = schema_values::Count)]
    connections: u64,
    #[schema(value_type = schema_values::Count)]
    subscribers: usize,
    #[schema(value_type = schema_values::Count)]
    open_orders: usize,
    #[schema(value_type = schema_values::Count)]
    accounts: usize,
    #[schema(value_type = Option<schema_values::Count>, required = true)]
    memory_bytes: Option<u64>,
    #[schema(value_type = schema_values::Count)]
    uptime_seconds: u64,
    /// The mode of the venue; absent while it is normal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema_values::Mode, required = false)]
    mode: Option<&'static str>,
    /// Whether everything is killed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    killed: bool,
}

impl ServerStats {
    /// Returns the statistics of a server whose XML gateway has these counters.
    pub(crate) fn new(
        counters: Counting,
        metrics: Metrics,
        rest: GatewayMetrics,
        mode: ModeNow,
        view: &View,
    ) -> ServerStats {
        let before = PreviousCounters::of(&counters(), &metrics, &rest, view);
        let stats = ServerStats { counters, metrics, rest, mode, started: before.at, before, last: VecDeque::new() };
        stats.note_kills(view);
        stats
    }

    fn note_kills(&self, view: &View) {
        let kinds = [Gauge::KilledEverything, Gauge::KilledAccounts, Gauge::KilledSymbols];
        let mut counts = kinds.map(|_| 0);
        for scope in view.kills().all() {
            let kind = match scope {
                KillScope::Everything => 0,
                KillScope::Account(_) => 1,
                KillScope::Symbol(_) => 2,
            };
            counts[kind] += 1;
        }
        kinds.into_iter().zip(counts).for_each(|(gauge, count)| self.metrics.set(gauge, count));
    }

    pub(crate) fn measure(&mut self, view: &View, subscribers: usize) -> Measured {
        let counters = (self.counters)();
        let here = PreviousCounters::of(&counters, &self.metrics, &self.rest, view);
        self.metrics.set(Gauge::Subscribers, subscribers as u64);
        self.metrics.set(Gauge::RememberedBytes, view.remembered_bytes() as u64);
        self.note_kills(view);
        let before = &self.before;
        let seconds = (here.at - before.at).as_secs_f64();
        let rate = |now: u64, then: u64| match seconds > 0.0 {
            true => (now.saturating_sub(then) as f64 / seconds).round(),
            false => 0.0,
        };
        let turns = here.turns.since(&before.turns);
        let measured = Measured {
            time: now(),
            sequence: here.sequence,
            requests_per_second: rate(here.answered, before.answered),
            commands_per_second: rate(here.sequence, before.sequence),
            executions_per_second: rate(here.trades, before.trades),
            latency_us: Spread::of(&here.latency.since(&before.latency), true),
            sync_us: Spread::of(&here.syncs.since(&before.syncs), false),
            batch: Spread::of(&turns, false),
            queue: self.metrics.get(Gauge::TurnQueue).filter(|_| turns.count() > 0),
            connections: counters.connections_open,
            subscribers,
            open_orders: view.open_orders(),
            accounts: view.accounts().len(),
            memory_bytes: Process::look().map(|process| process.resident_bytes),
            uptime_seconds: self.started.elapsed().as_secs(),
            mode: Some((self.mode)()).filter(|mode| *mode != Mode::Normal).map(Mode::name),
            killed: view.kills().is_killed(KillScope::Everything),
        };
        self.before = here;
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back(measured.clone());
        measured
    }

    /// Returns the last seconds, oldest first.
    pub(crate) fn last(&self) -> Vec<Measured> {
        self.last.iter().cloned().collect()
    }
}

impl PreviousCounters {
    fn of(counters: &Counters, metrics: &Metrics, rest: &GatewayMetrics, view: &View) -> PreviousCounters {
        PreviousCounters {
            at: Instant::now(),
            answered: counters.requests_answered + rest.answers().count(),
            sequence: view.sequence().0,
            trades: view.next_trade(),
            latency: metrics.answers(),
            syncs: metrics.syncs(),
            turns: metrics.turns(),
        }
    }
}
