//! `pricetime-bench baseline`: the exchange that earlier systems were, straight on the tables of PostgreSQL. Each order is
//! one transaction that locks, matches and credits; there is no engine and no server. Source: docs/POSTGRES.md, Measured.

mod amount;
mod exchange;
mod market;
mod statements;
mod traders;

use std::error::Error as _;
use std::time::Duration;

use clap::Args;
use store::{StoreError, StoreUrl};

pub use amount::Amount;
pub use exchange::{Exchange, Order, Side};
pub use market::Market;
pub use traders::{Outcome, Plan, run as run_load};

use crate::flags::measured_seconds;
use crate::number::{figure, percent};
use crate::table::Table;

const HEADER: [&str; 8] =
    ["#connections", "#orders/s", "#requests/s", "#retries an order", "#p50 us", "#p99 us", "#p99.9 us", "#load CPU"];
/// Of the time of the measured part, before it, and at most so many seconds.
const WARMUP: (f64, f64) = (0.2, 1.0);

/// What `pricetime-bench baseline` is told.
#[derive(Args, Debug)]
pub struct BaselineArgs {
    /// The database, postgres://USER:PASSWORD@HOST:PORT/DATABASE. The schema pricetime_baseline in it is made anew
    #[arg(long, value_name = "URL", env = "PRICETIME_STORE", hide_env_values = true)]
    store: String,
    /// Connections at once, a run for each number
    #[arg(long, value_delimiter = ',', default_value = "1,8,32", value_parser = clap::value_parser!(u64).range(1..=1000))]
    connections: Vec<u64>,
    /// Seconds of each run
    #[arg(long, default_value_t = 5.0, value_parser = measured_seconds)]
    seconds: f64,
    /// Accounts that send orders
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    accounts: u64,
    /// Symbols that are traded
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    symbols: u64,
    /// Of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the loads and prints what came out. Returns whether all are valid. Errors: a line for people.
pub fn run(args: BaselineArgs) -> Result<bool, String> {
    // Read here and not with the arguments, whose errors repeat what was given.
    let url: StoreUrl = args.store.parse().map_err(|error: StoreError| error.to_string())?;
    let what =
        format!("one transaction an order, repeatable read; {} accounts, {} symbols", args.accounts, args.symbols);
    let mut table = Table::new(what, &HEADER);
    let mut faults = Vec::new();
    for &connections in &args.connections {
        let plan = Plan {
            connections: connections as usize,
            measured: Duration::from_secs_f64(args.seconds),
            warmup: warmup(args.seconds),
            accounts: args.accounts,
            symbols: args.symbols,
            seed: args.seed,
        };
        let outcome = run_load(&url, &plan, &mut || ())?;
        table.row(row(connections, &outcome));
        faults.extend(outcome.faults.iter().map(|fault| format!("INVALID: {connections} connections: {fault}")));
    }
    print!("{}", table.text());
    match faults.as_slice() {
        [] => println!("valid: every row was checked after each run"),
        faults => faults.iter().for_each(|fault| println!("{fault}")),
    }
    Ok(faults.is_empty())
}

/// Before so many seconds of measuring.
pub fn warmup(seconds: f64) -> Duration {
    let (part, most) = WARMUP;
    Duration::from_secs_f64((seconds * part).min(most))
}

fn row(connections: u64, outcome: &Outcome) -> [String; 8] {
    let whole = |value: f64| figure(value.round());
    [
        connections.to_string(),
        whole(outcome.orders_per_second()),
        whole(outcome.requests_per_second()),
        format!("{:.3}", outcome.retries_per_order()),
        whole(outcome.latency_us(0.5)),
        whole(outcome.latency_us(0.99)),
        whole(outcome.latency_us(0.999)),
        percent(outcome.load_cpu_share),
    ]
}

/// An error with all of its causes: the driver's own words are `db error`.
pub fn said(error: &tokio_postgres::Error) -> String {
    let mut text = format!("PostgreSQL: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
