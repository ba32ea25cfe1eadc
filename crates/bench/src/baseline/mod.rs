//! `pricetime-bench baseline`: an exchange like earlier systems, directly on the tables of PostgreSQL. Each order is
//! one transaction that locks, matches and credits; there is no engine and no server. Source: docs/POSTGRES.md,
//! Measured.

mod exchange;
mod market;
mod traders;

use clap::Args;
pub use rust_decimal::Decimal;
use store::{StoreError, StoreUrl};

pub use exchange::{Exchange, Order, Side};
pub use market::Market;
pub use traders::run as run_load;

use crate::flags::measured_seconds;
use crate::records::LoadSettings;
use crate::records::quantity::{BESIDE, Quantity};
use crate::reports::table::Table;

/// The warm-up: a part of the measured time, and the most seconds.
const WARMUP: (f64, f64) = (0.2, 1.0);

/// The arguments of `pricetime-bench baseline`.
#[derive(Args, Debug)]
pub struct BaselineArgs {
    /// The database, postgres://USER:PASSWORD@HOST:PORT/DATABASE; its schema pricetime_baseline is replaced
    #[arg(long, value_name = "URL", env = "PRICETIME_STORE", hide_env_values = true)]
    store: String,
    /// Numbers of connections; each has a run of its own
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
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the loads and prints the results. Returns whether all are valid. Errors: a line for people.
pub fn run(args: BaselineArgs) -> Result<bool, String> {
    // The URL is parsed here and not by clap, whose errors repeat the arguments.
    let url: StoreUrl = args.store.parse().map_err(|error: StoreError| error.to_string())?;
    let (accounts, symbols) = (args.accounts, args.symbols);
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for &connections in &args.connections {
        let load = LoadSettings {
            connections,
            duration: Some(args.seconds),
            warmup: warmup(args.seconds),
            accounts,
            symbols,
            seed: args.seed,
            ..LoadSettings::default()
        };
        let record = run_load(&url, &load, &mut || ())?;
        let because = record.invalid_because.iter().chain(&record.counts.first_wrong);
        faults.extend(because.map(|fault| format!("INVALID: {connections} connections: {fault}")));
        records.push(record);
    }
    let has = |quantity: &&Quantity| records.iter().any(|record| (quantity.of)(record).is_some());
    let quantities: Vec<&Quantity> = BESIDE.into_iter().filter(has).collect();
    let what = format!("one transaction an order, repeatable read; {accounts} accounts, {symbols} symbols");
    let heads = ["#connections".to_string()].into_iter().chain(quantities.iter().map(|quantity| quantity.column()));
    let mut table = Table::new(what, heads);
    for record in &records {
        let cells = quantities.iter().map(|quantity| quantity.cell_of(record));
        table.row([record.load.connections.to_string()].into_iter().chain(cells));
    }
    print!("{}", table.text());
    match faults.as_slice() {
        [] => println!("valid: every row was checked after each run"),
        faults => faults.iter().for_each(|fault| println!("{fault}")),
    }
    Ok(faults.is_empty())
}

/// Returns the seconds of warm-up before this many of measuring.
pub fn warmup(seconds: f64) -> f64 {
    let (part, most) = WARMUP;
    (seconds * part).min(most)
}
