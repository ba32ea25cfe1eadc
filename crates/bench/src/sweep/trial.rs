//! What the tests of sweeps share: a machine, a plan, and a run that is made up instead of made.

use clap::Parser;

use super::cores::Here;
use super::flags::SweepArgs;
use crate::record::{Experiment, LoadSettings, RunRecord};
use crate::run::{RunPlan, Store, Target};
use crate::sample;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SweepArgs,
}

/// The arguments of this command line.
pub fn args(line: &str) -> SweepArgs {
    try_args(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The same, or why they are refused.
pub fn try_args(line: &str) -> Result<SweepArgs, String> {
    let words = std::iter::once("sweep").chain(line.split_whitespace());
    let args = Line::try_parse_from(words).map_err(|error| error.to_string())?.args;
    args.check().map(|()| args)
}

/// A machine with so many cores.
pub fn here(cores: usize) -> Here {
    Here { cores: (0..cores).collect(), connections_max: 20_000 }
}

/// A plan to start from.
pub fn plan() -> RunPlan {
    RunPlan {
        load: LoadSettings {
            workload: "order".to_string(),
            mode: "persistent".to_string(),
            connections: 50,
            depth: 1,
            requests: Some(1_000),
            duration: None,
            rate: None,
            warmup: 0.0,
            accounts: 100,
            symbols: 4,
            seed: 1,
            threads: 1,
        },
        target: Target::Own { cores: Vec::new(), workers: None, store: Store::Journal, arguments: Vec::new() },
        client_cores: Vec::new(),
    }
}

/// A run of this plan on a server that answers 1,000 requests a second.
pub fn fake(plan: &RunPlan) -> RunRecord {
    fake_at(plan, 1_000.0)
}

/// A run of this plan on a server of this speed.
pub fn fake_at(plan: &RunPlan, throughput: f64) -> RunRecord {
    let mut record = sample::record(throughput, plan.load.requests.unwrap_or(1_000), sample::latency(10.0, 10, 0));
    record.load = plan.load.clone();
    (record.in_flight_max, record.connections_max) = (plan.load.connections * plan.load.depth, plan.load.connections);
    record.client.cores = plan.client_cores.clone();
    if let Target::Own { cores, workers, .. } = &plan.target {
        (record.server.cores, record.server.workers) = (Some(cores.clone()), *workers);
    }
    record
}

/// An experiment without runs.
pub fn experiment() -> Experiment {
    sample::experiment("trial", "cores", "throughput")
}
