//! The command line of `pricetime-bench run`, and the plan that it means.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::machine::cores_allowed;
use super::measure::{Options, RunPlan, Target};
use super::store::Store;
use crate::flags::{Cores, DEPTH_DEFAULT, LoadFlags, Mode, seconds};
use crate::number::list;
use crate::record::LoadSettings;

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_WARMUP_SECONDS: f64 = 1.0;

/// Why both together are refused.
pub const NO_DURABILITY_BESIDE_DATABASE: &str =
    "with a database a reply leaves when its rows are committed: leave --durability out";

/// When the own server's replies may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    Synced,
    Written,
}

/// What `pricetime-bench run` is told.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub load: LoadFlags,
    /// Repeat, and print mean and spread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
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

impl RunArgs {
    /// The plan, and what people should know about it. Errors: flags that contradict each other.
    pub fn plan(&self) -> Result<(RunPlan, Options, Vec<String>), String> {
        let (mode, depth) = self.mode_and_depth()?;
        let flags = &self.load;
        let duration = flags.duration.or(flags.requests.is_none().then_some(DEFAULT_SECONDS));
        let load = LoadSettings {
            workload: flags.workload().to_string(),
            mode: mode.name().to_string(),
            connections: flags.connections(),
            depth,
            requests: flags.requests,
            duration,
            rate: flags.rate,
            warmup: flags.warmup.unwrap_or(DEFAULT_WARMUP_SECONDS),
            accounts: flags.accounts(),
            symbols: flags.symbols(),
            seed: self.seed,
            threads: self.threads,
        };
        let mut notes = Vec::new();
        let given = |cores: &Option<Cores>| cores.as_ref().map(|cores| cores.0.clone());
        let (target, client_cores) = match &self.target {
            Some(address) => (Target::At(address.clone()), given(&flags.client_cores).unwrap_or_default()),
            None => {
                let allowed = cores_allowed();
                let server =
                    given(&flags.server_cores).unwrap_or_else(|| allowed.first().copied().into_iter().collect());
                let client = given(&flags.client_cores).unwrap_or_else(|| others(&allowed, &server, self.threads));
                if client.iter().any(|core| server.contains(core)) {
                    notes.push(format!("server and load share core {}", list(&client)));
                }
                let (store, arguments) = (self.store()?, self.serve_arguments());
                (Target::Own { cores: server, workers: flags.workers, store, arguments }, client)
            }
        };
        let options = Options {
            data_parent: self.data_parent.clone(),
            patience: Duration::from_secs_f64(self.patience.max(0.001)),
            no_setup: self.no_setup,
        };
        Ok((RunPlan { load, target, client_cores }, options, notes))
    }

    fn mode_and_depth(&self) -> Result<(Mode, u64), String> {
        match (self.load.mode, self.load.depth) {
            (Some(Mode::PerRequest), Some(depth)) if depth > 1 => {
                Err("--mode per-request has one request on each connection: leave --depth out".to_string())
            }
            (Some(Mode::PerRequest), _) => Ok((Mode::PerRequest, 1)),
            (Some(Mode::Persistent), Some(depth)) if depth > 1 => {
                Err(format!("--depth {depth} is --mode pipelined; persistent has one request in flight"))
            }
            (Some(Mode::Pipelined), depth) => Ok((Mode::Pipelined, depth.unwrap_or(DEPTH_DEFAULT))),
            (None, Some(depth)) if depth > 1 => Ok((Mode::Pipelined, depth)),
            (Some(Mode::Persistent) | None, _) => Ok((Mode::Persistent, 1)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_stays_off_the_servers_cores_where_it_can() {
        assert_eq!(others(&[0, 1, 2, 3], &[0], 1), [1]);
        assert_eq!(others(&[0, 1, 2, 3], &[1, 2], 4), [0, 3]);
        assert_eq!(others(&[5], &[5], 1), [5]);
    }
}
