//! `pricetime demo`: a market that is alive at once, with play money and simulated traders, on a fresh data folder that is
//! removed at the end.

mod crowd;
mod past;
mod random;
mod venue;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Args;
use exchange::Exchange;
use web::{Key, Keys};

use crate::serve;
use crate::settings::{Durability, ServeArgs};
pub use crowd::Crowd;
use crowd::Pace;
use venue::Live;

/// Hours of trading that the market begins with.
const PAST_HOURS: u64 = 6;

/// What whoever starts it should know.
pub const NOTE: &str = "demo       play money and simulated traders, gone when it ends; account 1 is yours: 100000 dollars, \
                        and 500 shares each of ACME, BOLT, CRUX and DUNE";

/// A key for that account, which nobody else has and which ends with the demo; gives what is said of it.
pub fn add_key(keys: &mut Keys) -> Result<String, String> {
    let account = crowd::account(crowd::YOURS);
    let key = Key::random(account).map_err(|error| format!("no randomness for a key: {error}"))?;
    let note = format!("key        {} for clients of /binance, account {account}; secret {}", key.key, key.secret);
    keys.add(key);
    Ok(note)
}

/// The arguments of `pricetime demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Orders and cancels a second of all simulated traders together
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// Of what the traders do
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// The simulated traders of a running server.
pub struct Traders {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What a demo adds to a server.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    rate: u32,
    seed: u64,
}

/// Makes the market and its past, serves it, and removes it.
pub fn run(args: &DemoArgs) -> Result<ExitCode, String> {
    let mut settings = args.serve.settings()?;
    if args.serve.given.data.is_some() || args.serve.given.store.is_some() {
        return Err("a demo has a data folder of its own; --data and --store are for pricetime serve".to_owned());
    }
    let folder = Folder::new()?;
    settings.data = folder.0.clone();
    settings.durability = Durability::Written;
    let plan = Plan { rate: args.rate, seed: args.seed };
    let started = Instant::now();
    let crowd = past::make(&settings, plan, Duration::from_secs(PAST_HOURS * 3600))?;
    tracing::debug!(took = ?started.elapsed(), "the market's past is made");
    serve::run_demo(settings, args.serve.print_config, (plan, crowd))
}

impl Plan {
    /// Lets the crowd trade until it is told to stop.
    pub fn start(self, mut crowd: Crowd, exchange: Arc<dyn Exchange>) -> std::io::Result<Traders> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        crowd.goes(Pace::of_rate(self.rate));
        let thread = std::thread::Builder::new().name("demo".to_string()).spawn(move || {
            let mut venue = Live::new(exchange);
            let started = Instant::now();
            let mut done = 0u64;
            while !told.load(Ordering::Acquire) {
                let due = (started.elapsed().as_secs_f64() * f64::from(self.rate)) as u64;
                if done >= due {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                match crowd.turn(&mut venue) {
                    Some(commands) => done += commands,
                    None => return,
                }
                // What could not be done in time is not made up for.
                done = done.max(due.saturating_sub(u64::from(self.rate)));
            }
        })?;
        Ok(Traders { stop, thread })
    }
}

impl Traders {
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.thread.join();
    }
}

/// Removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("pricetime-demo-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
