//! `pricetime-bench`: the load generator, the experiments made of its runs, and their report.
//!
//! It talks to servers over sockets and starts ours as the program that it is, so that it measures what a stranger
//! would get, and so that it can drive any server of this protocol. The server knows nothing of it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod baseline;
mod echo;
mod flags;
mod loads;
mod machine;
pub mod records;
mod reports;
mod runs;
mod studies;

use machine::{interrupt, program};
use studies::{compare, live, sweep};

/// Measure an exchange server: one load, series of loads, their report, and other servers beside it
#[derive(Parser)]
#[command(name = "pricetime-bench", version, about)]
pub struct Cli {
    /// Program of the server [default: `pricetime` in the folder of this program]
    #[arg(long, global = true, value_name = "PATH")]
    server: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Load a server of its own or any other, and print throughput, latency and faults
    Run(Box<runs::RunArgs>),
    /// Make a series of runs that differ in one thing, or repeat a published experiment
    Sweep(Box<sweep::SweepArgs>),
    /// Make one page with tables and plots from the raw files of `sweep`, `compare` and `live`
    Report(reports::ReportArgs),
    /// Measure Pricetime beside Redis, PostgreSQL and a raw durable echo, one after the other on the same cores; as a
    /// cluster beside replicated systems
    Compare(compare::CompareArgs),
    /// Measure what subscribers cost traders, the delay of trades on their way to subscribers, and orders over REST
    Live(Box<live::LiveArgs>),
    /// Measure an exchange without an engine: each order is one transaction on tables in PostgreSQL
    Baseline(baseline::BaselineArgs),
    /// Run a raw durable echo: it appends the bytes that arrive, syncs once a turn, answers, and parses nothing
    Echo(echo::EchoArgs),
}

/// Runs a command; fails when its measurement is not valid, and with 130 or 143 when SIGINT or SIGTERM ended it.
/// Errors: a line for people.
pub fn run(cli: Cli) -> Result<ExitCode, String> {
    cli.server.into_iter().for_each(program::choose);
    let valid = match cli.command {
        Command::Run(args) => cleaning_up(|| runs::run(*args)),
        Command::Sweep(args) => cleaning_up(|| sweep::run(*args)),
        Command::Compare(args) => cleaning_up(|| compare::run(args)),
        Command::Live(args) => cleaning_up(|| live::run(&args)),
        // These commands leave nothing behind: a signal just ends them.
        Command::Baseline(args) => baseline::run(args),
        Command::Report(args) => reports::run(args),
        Command::Echo(args) => echo::run(args).map(|()| true),
    };
    let Some(signal) = interrupt::signal() else {
        return valid.map(|valid| if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    match (valid, interrupt::check()) {
        (Err(said), Err(interrupted)) if !said.starts_with(&interrupted) => {
            eprintln!("pricetime-bench: {interrupted}: {said}")
        }
        (Err(said), _) => eprintln!("pricetime-bench: {said}"),
        (Ok(_), _) => {}
    }
    // Shells report an end by a signal in this way.
    Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)))
}

/// Lets a command end what it started and remove its data when a signal asks it to stop.
fn cleaning_up(command: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
    interrupt::watch()?;
    command()
}
