//! A simple load program: keeps a number of connections busy against a server and says how fast it answered.
//!
//! `cargo run --release -p pricetime --example load -- --to 127.0.0.1:12345 --connections 50 --seconds 5`
//!
//! One thread and one epoll loop over prepared bytes, so that it stays out of the way of what it measures. Closed loop:
//! a connection sends again when it is answered, so a stall of the server is felt once by each connection, and the
//! latencies are no promise for clients that keep coming. It knows what a reply must begin with, not what it says.

mod connection;
mod drive;
mod report;
mod setup;
mod tally;
mod workload;

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::drive::Plan;
use crate::report::Report;
use crate::workload::Workload;

/// Keep connections busy against a server and print how fast it answered.
#[derive(Parser, Debug)]
#[command(name = "load")]
struct Args {
    /// Address of the server
    #[arg(long, default_value = "127.0.0.1:12345")]
    to: SocketAddr,
    /// Connections at once
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// Requests in flight on each connection
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,
    /// Stop after this many requests
    #[arg(long, conflicts_with = "seconds")]
    requests: Option<u64>,
    /// Stop after this many seconds [default: 5]
    #[arg(long)]
    seconds: Option<f64>,
    /// What to send
    #[arg(long, value_enum, default_value_t = Kind::Orders)]
    workload: Kind,
    /// Accounts that send orders
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    accounts: u32,
    /// Symbols that are traded
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    symbols: u32,
    /// Of the random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Open a new connection for each request, and close it when the reply is there
    #[arg(long, conflicts_with = "depth")]
    connection_per_request: bool,
    /// Create no accounts and symbols first: they are there, or the server needs none
    #[arg(long)]
    no_setup: bool,
    /// Run on this core
    #[arg(long)]
    pin: Option<usize>,
    /// Print one JSON object instead of lines for people
    #[arg(long)]
    json: bool,
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Orders that never match: each rests at its own price
    Orders,
    /// Buys and sells in turn that always cross: half of them execute at once, and few stay open
    Crossing,
    /// New accounts
    Create,
    /// Queries of open orders
    Query,
    /// SET of 200 bytes in the protocol of Redis, to measure that server with the same client
    RedisSet,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(report) => {
            print!("{}", if args.json { report.json() } else { report.text() });
            if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Report, String> {
    if let Some(core) = args.pin {
        let mut cores = rustix::thread::CpuSet::new();
        cores.set(core);
        rustix::thread::sched_setaffinity(None, &cores)
            .map_err(|error| format!("cannot run on core {core}: {error}; choose one below the output of `nproc`"))?;
    }
    let mut workload = prepare(args)?;
    let plan = plan(args)?;
    let cpu_before = report::own_cpu();
    let tally = drive::run(&plan, &mut workload).map_err(|error| format!("{}: {error}", args.to))?;
    let cpu = report::own_cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    Ok(Report::new(args, tally, cpu))
}

/// Makes the accounts, symbols and orders that the workload needs, then the workload itself.
fn prepare(args: &Args) -> Result<Workload, String> {
    let market = !args.no_setup && matches!(args.workload, Kind::Orders | Kind::Crossing | Kind::Query);
    if market {
        setup::market(args.to, args.accounts, args.symbols)?;
    }
    Ok(match args.workload {
        Kind::Orders => Workload::orders(args.accounts, args.symbols, args.seed),
        Kind::Crossing => Workload::crossing(args.accounts, args.symbols, args.seed),
        Kind::Create => Workload::create(),
        Kind::Query => Workload::query(&setup::open_orders(args.to, args.accounts, args.symbols)?),
        Kind::RedisSet => Workload::redis_set(),
    })
}

fn plan(args: &Args) -> Result<Plan, String> {
    let seconds = match (args.requests, args.seconds) {
        (Some(_), _) => None,
        (None, seconds) => Some(seconds.unwrap_or(5.0)),
    };
    let time = seconds.map(Duration::try_from_secs_f64).transpose().map_err(|error| format!("--seconds: {error}"))?;
    let loopback = matches!(args.to.ip(), IpAddr::V4(ip) if ip.is_loopback());
    Ok(Plan {
        to: args.to,
        connections: args.connections as usize,
        depth: args.depth as usize,
        connection_per_request: args.connection_per_request,
        requests_max: args.requests.unwrap_or(u64::MAX),
        time,
        rotate_sources: args.connection_per_request && loopback,
    })
}
