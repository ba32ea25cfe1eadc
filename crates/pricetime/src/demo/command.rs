//! `pricetime demo`: serves the demo's market from a fresh data folder, which is removed at the end.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::{Plan, past};
use crate::serve;
use crate::settings::ServeArgs;

/// The hours of trading with which the market begins: three days.
const PAST_HOURS: u64 = 72;

/// The arguments of `pricetime demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Orders and cancels a second, of all simulated traders together
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// Seed of the traders' random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// Makes the market and its past, serves it, and removes it.
pub fn run(args: &DemoArgs) -> Result<ExitCode, String> {
    let mut settings = args.serve.settings()?;
    if args.serve.given.data.is_some() || args.serve.given.store.is_some() {
        return Err("a demo has a data folder of its own; --data and --store are for pricetime serve".to_owned());
    }
    let mut signals = serve::stop_signals()?;
    let folder = Folder::new()?;
    settings.data = folder.0.clone();
    let plan = Plan { rate: args.rate, seed: args.seed };
    let started = Instant::now();
    let mut is_asked_to_stop = || signals.pending().next().is_some();
    let past = Duration::from_secs(PAST_HOURS * 3600);
    let Some(crowd) = past::make(&settings, plan, past, &mut is_asked_to_stop)? else {
        return Ok(ExitCode::SUCCESS);
    };
    tracing::debug!(took = ?started.elapsed(), "the market's past is made");
    serve::run_demo(settings, args.serve.print_config, signals, (plan, crowd))
}

/// A folder that is removed when it is dropped.
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
