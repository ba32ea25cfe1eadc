//! What is measured, and what came out of it, as it stands in the raw file.

use serde::Serialize;

use super::args::Only;
use super::audience::HeardByAll;
use crate::record::Machine;

/// Of the raw file.
pub const FORMAT: u32 = 1;

/// One kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    ClosedAlone,
    ClosedHeard,
    OpenAlone,
    OpenHeard,
    Trades,
    Rest,
}

impl Part {
    pub const ALL: [Part; 6] =
        [Part::ClosedAlone, Part::ClosedHeard, Part::OpenAlone, Part::OpenHeard, Part::Trades, Part::Rest];

    pub fn name(self) -> &'static str {
        match self {
            Part::ClosedAlone => "closed",
            Part::ClosedHeard => "closed-with-subscribers",
            Part::OpenAlone => "open",
            Part::OpenHeard => "open-with-subscribers",
            Part::Trades => "trade-to-socket",
            Part::Rest => "rest",
        }
    }

    pub fn belongs_to(self) -> Only {
        match self {
            Part::ClosedAlone | Part::ClosedHeard => Only::Closed,
            Part::OpenAlone | Part::OpenHeard => Only::Open,
            Part::Trades => Only::Trades,
            Part::Rest => Only::Rest,
        }
    }
}

/// One measurement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measurement {
    /// From 1.
    pub round: u32,
    pub part: &'static str,
    /// How busy the machine was with other things just before, in percent of all its cores.
    pub busy_percent: f64,
    /// Requests answered a second.
    pub throughput: f64,
    /// Of them, those that opened an order.
    pub orders_per_second: f64,
    /// From a request, or from when it was due in an open loop, to its reply.
    pub latency_us: Option<Latency>,
    /// From when an order was due to be sent until a subscriber had read of its trade.
    pub trade_to_socket_us: Option<Latency>,
    /// Processor time of the server, a request.
    pub server_cpu_us: Option<f64>,
    /// The part of a core that the load used.
    pub load_cpu_share: f64,
    pub heard: Option<HeardByAll>,
    /// Why the figures must not be used; empty for a valid measurement.
    pub invalid_because: Vec<String>,
    /// What to keep in mind when reading the figures.
    pub warnings: Vec<String>,
}

/// Percentiles in microseconds, and all of it.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    /// How many were measured.
    pub count: u64,
    /// In nanoseconds: HdrHistogram's V2 form in base64.
    pub histogram: String,
}

/// All of a benchmark.
#[derive(Serialize)]
pub struct Record {
    pub format: u32,
    /// UTC, as RFC 3339.
    pub started: String,
    pub command: String,
    pub rounds: u32,
    pub seconds: f64,
    pub subscribers: u64,
    /// Orders a second of the open loops.
    pub rate: f64,
    pub trade_rate: f64,
    pub connections: u64,
    pub server_cores: Vec<usize>,
    pub client_cores: Vec<usize>,
    pub machine: Machine,
    pub measurements: Vec<Measurement>,
}
