//! The command line of `pricetime-bench run`, and the plan that it means.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::machine::cores_allowed;
use super::measure::{Options, RunPlan, Target};
use super::store::Store;
use crate::load::Recipe;
use crate::number::list;
use crate::record::LoadSettings;

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_PIPELINE: u64 = 16;

/// Why both together are refused.
pub const NO_DURABILITY_BESIDE_DATABASE: &str =
    "with a database a reply leaves when its rows are committed: leave --durability out";

/// How requests use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Connections stay open, with one request in flight on each
    Persistent,
    /// A new connection for each request
    PerRequest,
    /// Connections stay open, with --depth requests in flight on each
    Pipelined,
}

/// When the own server's replies may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    Synced,
    Written,
}

/// What `pricetime-bench run` is told.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Connections at once
    #[arg(short, long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub connections: u64,
    /// Stop after this many requests
    #[arg(short = 'n', long, conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Stop after this time: seconds, or 500ms, 10s, 2m [default: 10s]
    #[arg(short = 'z', long, value_parser = seconds)]
    pub duration: Option<f64>,
    /// Open loop: send this many requests a second on a schedule, whatever the server does, and count latency from the
    /// scheduled time. Without it the loop is closed: a connection sends again when it is answered
    #[arg(long, value_parser = rate)]
    pub rate: Option<f64>,
    /// Load before the measured part: seconds, or 500ms, 10s, 2m
    #[arg(long, default_value = "1s", value_parser = seconds)]
    pub warmup: f64,
    /// Repeat, and print mean and spread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// How requests use connections [default: persistent, or pipelined with --depth]
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// Requests in flight on each connection [default: 1, or 16 when pipelined]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub depth: Option<u64>,
    /// What is sent: create (new accounts); order (two orders in three requests, half of them executing, and cancels that
    /// keep the number of open orders); order-resting (none executes); order-crossing (all execute); lifecycle (an
    /// account, its order, a query, a cancel); mix (60% orders, 30% cancels, 10% queries); query; echo-example (the
    /// published 173 bytes); raw (orders without accounts, any reply is right)
    #[arg(long, default_value = "order", value_parser = workload)]
    pub workload: String,
    /// Accounts that send orders
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub accounts: u64,
    /// Symbols that are traded
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub symbols: u64,
    /// Of the random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the record of the run here, or a list of them with --runs
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the latency distribution here, as HdrHistogram's plotter reads it
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,
    /// Drive a server that runs already, of any make, instead of an own one
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["server_cores", "workers", "store", "durability", "data_parent", "serve_args"])]
    pub target: Option<String>,
    /// Create no accounts and symbols: they are there from an earlier run with --target
    #[arg(long, requires = "target")]
    pub no_setup: bool,
    /// Threads of the load generator
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,
    /// Cores of the own server, as 0 or 0,2-3 [default: the first that is allowed]
    #[arg(long, value_parser = cores)]
    pub server_cores: Option<Cores>,
    /// Cores of the load generator [default: another than the server's, if there is one]
    #[arg(long, value_parser = cores)]
    pub client_cores: Option<Cores>,
    /// Workers of the own server [default: its cores]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub workers: Option<u64>,
    /// Where the own server keeps its market: journal, in its data folder, or postgres://USER:PASSWORD@HOST:5432/DATABASE,
    /// in a database that the run creates there and drops again (its role needs CREATEDB) [default: journal]
    #[arg(long, value_name = "journal|URL")]
    pub store: Option<String>,
    /// When the own server's replies may leave [default: synced]; with a database when it has committed
    #[arg(long, value_enum)]
    pub durability: Option<Durability>,
    /// Make the own server's folder, which is removed again, in here [default: target/bench]
    #[arg(long, value_name = "DIR")]
    pub data_parent: Option<PathBuf>,
    /// Give up when no reply comes for so long
    #[arg(long, default_value = "10s", value_parser = seconds)]
    pub patience: f64,
    /// Further arguments of the own server's `serve`, behind `--`
    #[arg(last = true, value_name = "ARGS")]
    pub serve_args: Vec<String>,
}

/// A list of cores. A type of its own, since clap takes a bare list for repeated flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Cores(pub Vec<usize>);

impl RunArgs {
    /// The plan, and what people should know about it. Errors: flags that contradict each other.
    pub fn plan(&self) -> Result<(RunPlan, Options, Vec<String>), String> {
        let (mode, depth) = self.mode_and_depth()?;
        let duration = self.duration.or(self.requests.is_none().then_some(DEFAULT_SECONDS));
        let load = LoadSettings {
            workload: self.workload.clone(),
            mode: mode.to_string(),
            connections: self.connections,
            depth,
            requests: self.requests,
            duration,
            rate: self.rate,
            warmup: self.warmup,
            accounts: self.accounts,
            symbols: self.symbols,
            seed: self.seed,
            threads: self.threads,
        };
        let mut notes = Vec::new();
        let given = |cores: &Option<Cores>| cores.as_ref().map(|cores| cores.0.clone());
        let (target, client_cores) = match &self.target {
            Some(address) => (Target::At(address.clone()), given(&self.client_cores).unwrap_or_default()),
            None => {
                let allowed = cores_allowed();
                let server =
                    given(&self.server_cores).unwrap_or_else(|| allowed.first().copied().into_iter().collect());
                let client = given(&self.client_cores).unwrap_or_else(|| others(&allowed, &server, self.threads));
                if client.iter().any(|core| server.contains(core)) {
                    notes.push(format!("server and load share core {}", list(&client)));
                }
                let (store, arguments) = (self.store()?, self.serve_arguments());
                (Target::Own { cores: server, workers: self.workers, store, arguments }, client)
            }
        };
        let options = Options {
            data_parent: self.data_parent.clone(),
            patience: Duration::from_secs_f64(self.patience.max(0.001)),
            no_setup: self.no_setup,
        };
        Ok((RunPlan { load, target, client_cores }, options, notes))
    }

    fn mode_and_depth(&self) -> Result<(&'static str, u64), String> {
        match (self.mode, self.depth) {
            (Some(Mode::PerRequest), Some(depth)) if depth > 1 => {
                Err("--mode per-request has one request on each connection: leave --depth out".to_string())
            }
            (Some(Mode::PerRequest), _) => Ok(("per-request", 1)),
            (Some(Mode::Persistent), Some(depth)) if depth > 1 => {
                Err(format!("--depth {depth} is --mode pipelined; persistent has one request in flight"))
            }
            (Some(Mode::Pipelined), depth) => Ok(("pipelined", depth.unwrap_or(DEFAULT_PIPELINE))),
            (None, Some(depth)) if depth > 1 => Ok(("pipelined", depth)),
            (Some(Mode::Persistent) | None, _) => Ok(("persistent", 1)),
        }
    }

    /// Read here and not by clap, whose errors show what was given, and so the password.
    fn store(&self) -> Result<Store, String> {
        let store = self.store.as_deref().map_or(Ok(Store::Journal), str::parse)?;
        match (&store, self.durability) {
            (Store::Postgres(_), Some(_)) => Err(NO_DURABILITY_BESIDE_DATABASE.to_string()),
            (Store::Postgres(_) | Store::Journal, _) => Ok(store),
        }
    }

    fn serve_arguments(&self) -> Vec<String> {
        let durability = self.durability.map(|durability| match durability {
            Durability::Synced => "synced",
            Durability::Written => "written",
        });
        let durability = durability.map(|name| ["--durability".to_string(), name.to_string()]);
        durability.into_iter().flatten().chain(self.serve_args.iter().cloned()).collect()
    }
}

/// As many cores as there are threads, besides the server's; the server's where there are no others.
fn others(allowed: &[usize], server: &[usize], threads: u64) -> Vec<usize> {
    let free: Vec<usize> = allowed.iter().copied().filter(|core| !server.contains(core)).collect();
    if free.is_empty() { server.to_vec() } else { free.into_iter().take(threads as usize).collect() }
}

fn workload(name: &str) -> Result<String, String> {
    name.parse::<Recipe>().map(|_| name.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("requests a second, more than 0".to_string()),
    }
}

/// Seconds, from `10`, `10s`, `500ms`, `2m`.
fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor));
    match parsed {
        Some(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("a time like 10, 10s, 500ms or 2m".to_string()),
    }
}

/// Numbers from `0,2-3`.
pub fn cores(text: &str) -> Result<Cores, String> {
    let wrong = || "a list of cores like 0 or 0,2-3".to_string();
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|core| *core < 1024).ok_or_else(wrong);
    let mut found = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => found.extend(number(first)?..=number(last)?),
            None => found.push(number(part)?),
        }
    }
    if found.is_empty() { Err(wrong()) } else { Ok(Cores(found)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_cores_are_read_as_people_write_them() {
        assert_eq!(
            [seconds("10"), seconds("1.5s"), seconds("500ms"), seconds("2m")],
            [Ok(10.0), Ok(1.5), Ok(0.5), Ok(120.0)]
        );
        assert!(seconds("ten").is_err() && seconds("-1").is_err() && seconds("").is_err() && seconds("NaN").is_err());
        assert_eq!(cores("0,2-4,7"), Ok(Cores(vec![0, 2, 3, 4, 7])));
        assert!(cores("").is_err() && cores("3-1").is_err() && cores("a").is_err());
    }

    #[test]
    fn the_load_stays_off_the_servers_cores_where_it_can() {
        assert_eq!(others(&[0, 1, 2, 3], &[0], 1), [1]);
        assert_eq!(others(&[0, 1, 2, 3], &[1, 2], 4), [0, 3]);
        assert_eq!(others(&[5], &[5], 1), [5]);
    }
}
