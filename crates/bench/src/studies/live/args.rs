//! The command line of `pricetime-bench live`.

use clap::{Args, ValueEnum};

use crate::flags::rate;
use crate::machine::cores::CoreFlags;
use crate::machine::processor::cores_allowed;
use crate::reports::live_tables::{CLOSED, CLOSED_HEARD, OPEN, OPEN_HEARD, TRADES};
use crate::studies::rounds::Rounds;

/// One kind of measurement.
pub struct Part {
    /// The name in the raw file.
    pub name: &'static str,
    belongs_to: Only,
    /// Orders a second of an open loop.
    pub rate: Option<fn(&LiveArgs) -> f64>,
    /// Whether there are subscribers.
    pub heard: bool,
    /// Whether it measures how soon a subscriber gets trades.
    pub timed: bool,
    pub over_rest: bool,
}

pub static ALL: [Part; 6] = [
    closed(CLOSED),
    Part { heard: true, ..closed(CLOSED_HEARD) },
    Part { belongs_to: Only::Open, rate: Some(|args| args.rate), ..closed(OPEN) },
    Part { belongs_to: Only::Open, rate: Some(|args| args.rate), heard: true, ..closed(OPEN_HEARD) },
    Part { belongs_to: Only::Trades, rate: Some(|args| args.trade_rate), timed: true, ..closed(TRADES) },
    Part { belongs_to: Only::Rest, over_rest: true, ..closed("rest") },
];

const fn closed(name: &'static str) -> Part {
    Part { name, belongs_to: Only::Closed, rate: None, heard: false, timed: false, over_rest: false }
}

/// The kinds of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// The order path in a closed loop, with subscribers and without
    Closed,
    /// The order path in an open loop, with subscribers and without
    Open,
    /// The time from an order to its trade on the socket of a subscriber
    Trades,
    /// Orders over REST
    Rest,
}

/// The arguments of `pricetime-bench live`.
#[derive(Args, Clone, Debug)]
pub struct LiveArgs {
    /// Subscribers, each to book, trades and candles of all symbols, the orders of an account, symbols and status
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub subscribers: u64,
    /// Orders a second of the open loop, with and without subscribers; a cancel follows every second order
    #[arg(long, default_value_t = 50_000.0, value_parser = rate)]
    pub rate: f64,
    /// Orders a second while the delay of trades is measured
    #[arg(long, default_value_t = 10_000.0, value_parser = rate)]
    pub trade_rate: f64,
    #[command(flatten)]
    pub turns: Rounds,
    /// Parts to measure [default: all]
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
    #[command(flatten)]
    cores: CoreFlags,
    /// Further arguments of `pricetime serve`, behind `--`
    #[arg(last = true, value_name = "ARGS")]
    pub serve_args: Vec<String>,
}

impl LiveArgs {
    /// Returns the measurements of a round. Measurements that are compared take turns at being first.
    pub fn parts(&self, round: u32) -> Vec<&'static Part> {
        let mut parts: Vec<&Part> = ALL.iter().collect();
        if round.is_multiple_of(2) {
            parts[..4].chunks_mut(2).for_each(<[_]>::reverse);
        }
        parts.retain(|part| self.only.is_empty() || self.only.contains(&part.belongs_to));
        parts
    }

    /// Returns the cores of the server, and of load and subscribers. Errors: a core that may not be used.
    pub fn cores(&self) -> Result<[Vec<usize>; 2], String> {
        self.cores.sides(&cores_allowed(), [1, 1])
    }
}
