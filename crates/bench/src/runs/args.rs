//! The command line of `pricetime-bench run`, and the plan that it makes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::measure::{RunPlan, Target};
use super::store::Store;
use crate::flags::{LoadFlags, seconds};
use crate::loads::Login;
use crate::machine::cores::CoreFlags;
use crate::machine::processor::cores_allowed;
use crate::records::number::list;
use crate::records::{LoadSettings, Mode, ServerRecord};

const DEFAULT_SECONDS: f64 = 10.0;
const DEFAULT_WARMUP_SECONDS: f64 = 1.0;

/// The arguments of `pricetime-bench run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    cores: CoreFlags,
    /// Repeat, and print mean and spread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File for the record of the run, or for a list of records with --runs
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Address of a running server to load, of any make, instead of a server that this program starts
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["server_cores", "workers", "store", "durability", "data_parent", "serve_args"])]
    pub target: Option<String>,
    /// Log in on each connection to the server of --target, with the id of a key that signs with a secret and the file
    /// that holds nothing but the secret
    #[arg(long, requires = "target", value_name = "KEY:SECRETFILE")]
    pub login: Option<Login>,
    /// Speak TLS with the server of --target, and trust the authorities in this PEM file; it may hold the server's own
    /// certificate
    #[arg(long, requires = "target", value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// Create no accounts and symbols, because an earlier run with --target has left them
    #[arg(long, requires = "target")]
    pub no_setup: bool,
    /// Threads of the load generator
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,
    #[command(flatten)]
    pub keeping: StoreFlags,
    /// Folder in which the server's data folder is made and removed again [default: target/bench]
    #[arg(long, value_name = "DIR")]
    pub data_parent: Option<PathBuf>,
    /// Time without a reply after which the run gives up
    #[arg(long, default_value = "10s", value_parser = seconds)]
    pub patience: f64,
    /// Further arguments of `pricetime serve`, behind `--`
    #[arg(last = true, value_name = "ARGS")]
    pub serve_args: Vec<String>,
}

impl RunArgs {
    /// Returns the plan, and notes for people. Errors: flags that contradict each other.
    pub fn plan(&self) -> Result<(RunPlan, Vec<String>), String> {
        let flags = &self.load;
        let load = LoadSettings {
            warmup: flags.warmup.unwrap_or(DEFAULT_WARMUP_SECONDS),
            threads: self.threads,
            ..flags.settings(flags.mode(Mode::Persistent)?, self.seed, DEFAULT_SECONDS)
        };
        let mut notes = Vec::new();
        let (target, client_cores) = match &self.target {
            Some(address) => {
                let cores = self.cores.client_cores.as_ref().map_or(Vec::new(), |cores| cores.0.clone());
                (Target::At(address.clone()), cores)
            }
            None => {
                let [server, client] = self.cores.sides(&cores_allowed(), [1, self.threads as usize])?;
                if client.iter().any(|core| server.contains(core)) {
                    notes.push(format!("server and load share core {}", list(&client)));
                }
                (self.keeping.own_server(server, flags.workers, &self.serve_args)?, client)
            }
        };
        let plan = RunPlan {
            data_parent: self.data_parent.clone(),
            patience: Duration::from_secs_f64(self.patience.max(0.001)),
            no_setup: self.no_setup,
            tls_ca: self.tls_ca.clone(),
            login: self.login.clone(),
            ..RunPlan::new(load, target, client_cores)
        };
        Ok((plan, notes))
    }
}

/// The arguments of runs and sweeps about the own server's store, and about the durability of its replies.
#[derive(Args, Clone, Debug)]
pub struct StoreFlags {
    /// Place of the market: journal, in the data folder, or postgres://USER:PASSWORD@HOST:5432/DATABASE, in a database
    /// that each run creates there and drops again (its role needs CREATEDB) [default: journal]
    #[arg(long, value_name = "journal|URL")]
    store: Option<String>,
    /// State of a command when its reply may leave: synced to the disk, or only written to the operating system; with a
    /// database it is always committed [default: synced]
    #[arg(long, value_parser = ["synced", "written"])]
    durability: Option<String>,
}

impl StoreFlags {
    /// Reads the store here and not with clap, whose errors show the arguments, and so the password. Errors: an invalid
    /// store; a durability beside a database.
    pub fn store(&self) -> Result<Store, String> {
        let store = self.store.as_deref().map_or(Ok(Store::Journal), str::parse)?;
        match (&store, &self.durability) {
            (Store::Postgres(_), Some(_)) => {
                Err("with a database a reply leaves when its rows are committed: leave --durability out".to_string())
            }
            (Store::Postgres(_) | Store::Journal, _) => Ok(store),
        }
    }

    /// Returns `synced`, `written`, or `committed to PostgreSQL`.
    pub fn durability(&self) -> &str {
        let default = if self.store.as_deref().is_none_or(|store| store == ServerRecord::JOURNAL) {
            "synced"
        } else {
            "committed to PostgreSQL"
        };
        self.durability.as_deref().unwrap_or(default)
    }

    /// Returns an own server with this store, and further arguments. Errors: as for `store`.
    pub fn own_server(&self, cores: Vec<usize>, workers: Option<u64>, further: &[String]) -> Result<Target, String> {
        let durability = self.durability.as_ref().map(|durability| ["--durability".to_string(), durability.clone()]);
        let arguments = durability.into_iter().flatten().chain(further.iter().cloned()).collect();
        Ok(Target::Own { cores, workers, store: self.store()?, arguments })
    }
}
