//! The settings of a load, and their words on the command line and in files.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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

/// Returns the word for this value on the command line and in files.
pub fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
}
