//! The long form of the simulation in `tests/simulation.rs`: random scenarios for as long as asked, or one point again.
//!
//! ```text
//! cargo run --release -p pricetime --example simulate -- --seconds 600
//! cargo run --release -p pricetime --example simulate -- --seed 7 --at 120 --fault crash-torn
//! ```

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use simulation::campaign::{self, Density};
use simulation::faults::Fault;
use simulation::point::Point;
use simulation::process::Sabotage;
use simulation::tally::{SCENARIOS, Tally};

/// Lives of markets on a disk that fails, lies and loses power, checked against a naive exchange.
#[derive(Parser, Debug)]
struct Arguments {
    /// Seconds to go on with new scenarios
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Stop after this many scenarios
    #[arg(long)]
    scenarios: Option<u64>,
    /// Seed of the first scenario [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Run only the point where the fault of --fault strikes at this operation of the disk, counted from 0
    #[arg(long, requires = "fault", requires = "seed")]
    at: Option<u64>,
    /// Kind of fault: error, no-space, short-write, failed-sync, killed, crash-lost, crash-torn, crash-reordered,
    /// lying-sync, bit-flip
    #[arg(long, value_parser = fault)]
    fault: Option<Fault>,
    /// Operation of the disk, in the recovery from the first fault, at which a second one strikes, counted from 0
    #[arg(long, requires = "then")]
    then_at: Option<u64>,
    /// Kind of the second fault
    #[arg(long, value_parser = fault, requires = "then_at")]
    then: Option<Fault>,
    /// Try only one in this many points of each scenario
    #[arg(long, default_value_t = 1)]
    one_in: usize,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match (arguments.seed, arguments.at, arguments.fault) {
        (Some(seed), Some(at), Some(fault)) => {
            let then = arguments.then_at.zip(arguments.then);
            campaign::try_point(&Point { seed, at, fault, then, sabotage: Sabotage::Nothing })
        }
        _ => many(&arguments),
    };
    match result {
        Ok(tally) => {
            print!("{tally}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn many(arguments: &Arguments) -> Result<Tally, campaign::Failure> {
    let density = Density { one_in: arguments.one_in, second_one_in: 40 * arguments.one_in, of_second_one_in: 3 };
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let first = arguments.seed.unwrap_or(since_1970.as_micros() as u64);
    let ends = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut sum = Tally::default();
    for seed in first.. {
        let enough = arguments.scenarios.is_some_and(|scenarios| sum.get(SCENARIOS) >= scenarios);
        if enough || (arguments.scenarios.is_none() && Instant::now() >= ends) {
            break;
        }
        sum.add(&campaign::run_scenarios([seed], density, Sabotage::Nothing)?);
    }
    Ok(sum)
}

fn fault(name: &str) -> Result<Fault, String> {
    let names = || Fault::ALL.map(Fault::name).join(", ");
    Fault::named(name).ok_or_else(|| format!("there is no such fault; the faults are {}", names()))
}
