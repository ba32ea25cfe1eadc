//! `pricetime bench`: the load generator, the experiments made of its runs, and their report.
//!
//! It talks to servers over sockets and starts its own as a process of its own, so that it measures what a stranger
//! would get, and so that it can drive any server of this protocol. Nothing depends on it but the binary.

use clap::{Args, Subcommand};

pub mod baseline;
pub mod compare;
pub mod echo;
pub mod load;
pub mod record;
pub mod report;
pub mod run;
pub mod statistics;
pub mod sweep;

/// Measure an exchange server: one load, series of loads, their report, and other servers beside it
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One load against a server of its own or any other; prints throughput, latency and faults
    Run(Box<run::RunArgs>),
    /// A series of runs along an axis, or a published experiment repeated
    Sweep(Box<sweep::SweepArgs>),
    /// Tables, plots, one HTML page and a PDF from the raw files of sweeps
    Report(report::ReportArgs),
    /// Ours beside Redis, PostgreSQL and a raw durable echo, in turn on the same cores
    Compare(compare::CompareArgs),
    /// What earlier systems did: one transaction an order, straight on the tables of a PostgreSQL
    Baseline(baseline::BaselineArgs),
    /// The raw durable echo: appends what comes, syncs once a turn, answers, parses nothing
    Echo(echo::EchoArgs),
}

/// Runs a command; false when what it measured is not valid. Errors: a line for people.
pub fn run(args: BenchArgs) -> Result<bool, String> {
    match args.command {
        Command::Run(args) => run::run(*args),
        Command::Sweep(args) => sweep::run(*args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Baseline(args) => baseline::run(args),
        Command::Echo(args) => echo::run(args).map(|()| true),
    }
}
