//! The command line of `pricetime-bench live`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::part::Part;
use crate::flags::{Cores, cores, measured_seconds, rate};
use crate::run::cores_allowed;

const ROUNDS: u32 = 5;
const SECONDS: f64 = 5.0;
const QUICK_ROUNDS: u32 = 1;
const QUICK_SECONDS: f64 = 1.0;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// The order path in a closed loop, with subscribers and without
    Closed,
    /// The same in an open loop
    Open,
    /// From an order to the socket of who is told of its trade
    Trades,
    /// Orders over REST
    Rest,
}

/// What `pricetime-bench live` is told.
#[derive(Args, Clone, Debug)]
pub struct LiveArgs {
    /// Subscribers, each to book, trades and candles of all symbols, the orders of an account, symbols and status
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub subscribers: u64,
    /// Orders a second of the open loop with and without subscribers; for two orders there is a cancel
    #[arg(long, default_value_t = 50_000.0, value_parser = rate)]
    pub rate: f64,
    /// Orders a second while it is measured how soon trades are told
    #[arg(long, default_value_t = 10_000.0, value_parser = rate)]
    pub trade_rate: f64,
    /// Rounds; in each of them everything is measured [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Seconds of each measurement [default: 5]
    #[arg(long, value_parser = measured_seconds)]
    seconds: Option<f64>,
    /// 1 round of 1 second: a look, no figures to state
    #[arg(long)]
    quick: bool,
    /// Measure only this [default: everything]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Only>,
    /// Connections of the loads over XML and over REST
    #[arg(short, long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub connections: u64,
    /// Accounts that send orders
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub accounts: u64,
    /// Symbols that are traded
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub symbols: u64,
    /// Cores of the server, as 0 or 0,2-3 [default: the first that is allowed]
    #[arg(long, value_parser = cores)]
    server_cores: Option<Cores>,
    /// Cores of load and subscribers [default: another than the server's, if there is one]
    #[arg(long, value_parser = cores)]
    client_cores: Option<Cores>,
    /// Write all measurements here
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Make the servers' folders, which are removed again, in here [default: target/bench]
    #[arg(long, value_name = "DIR")]
    pub data_parent: Option<PathBuf>,
    /// Further arguments of the server's `serve`, behind `--`
    #[arg(last = true, value_name = "ARGS")]
    pub serve_args: Vec<String>,
}

impl LiveArgs {
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { QUICK_ROUNDS } else { ROUNDS })
    }

    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { QUICK_SECONDS } else { SECONDS })
    }

    /// What is measured in a round. Those that are compared take turns with who is first.
    pub fn parts(&self, round: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        for [alone, heard] in [[Part::ClosedAlone, Part::ClosedHeard], [Part::OpenAlone, Part::OpenHeard]] {
            parts.extend(if round.is_multiple_of(2) { [heard, alone] } else { [alone, heard] });
        }
        parts.extend([Part::Trades, Part::Rest]);
        parts.retain(|part| self.only.is_empty() || self.only.contains(&part.belongs_to()));
        parts
    }

    /// Of the server, and of load and subscribers.
    pub fn cores(&self) -> (Vec<usize>, Vec<usize>) {
        let allowed = cores_allowed();
        let given = |cores: &Option<Cores>| cores.as_ref().map(|cores| cores.0.clone());
        let server = given(&self.server_cores).unwrap_or_else(|| allowed.first().copied().into_iter().collect());
        let free = allowed.iter().copied().find(|core| !server.contains(core));
        let client =
            given(&self.client_cores).unwrap_or_else(|| free.map_or_else(|| server.clone(), |core| vec![core]));
        (server, client)
    }
}
