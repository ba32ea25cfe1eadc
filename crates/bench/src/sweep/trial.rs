//! What the tests of sweeps share: a machine, a plan, and a run that is made up instead of made.

use clap::Parser;

use super::cores::Here;
use super::flags::SweepArgs;
use crate::record::{
    ClientRecord, Conservation, Counts, Experiment, FORMAT, Latency, LoadSettings, Machine, RunRecord, ServerRecord,
};
use crate::run::{RunPlan, Store, Target};

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
    let requests = plan.load.requests.unwrap_or(1_000);
    RunRecord {
        format: FORMAT,
        started: "2026-11-21T00:00:00Z".to_string(),
        command: String::new(),
        load: plan.load.clone(),
        server: server(plan),
        machine: machine(),
        seconds: requests as f64 / throughput,
        throughput,
        counts: Counts { sent: requests, answered: requests, ..Counts::default() },
        latency: Latency {
            from: "closed".to_string(),
            mean: 10.0,
            deviation: 1.0,
            min: 5.0,
            p50: 10.0,
            p90: 11.0,
            p99: 12.0,
            p999: 13.0,
            max: 14.0,
            histogram: String::new(),
        },
        in_flight_max: plan.load.connections * plan.load.depth,
        connections_max: plan.load.connections,
        client: ClientRecord { cores: plan.client_cores.clone(), cpu_share: 0.5, source_addresses: 1 },
        conservation: Conservation::Holds,
        invalid_because: Vec::new(),
        warnings: Vec::new(),
    }
}

fn server(plan: &RunPlan) -> ServerRecord {
    let (cores, workers) = match &plan.target {
        Target::Own { cores, workers, .. } => (Some(cores.clone()), *workers),
        Target::At(_) => (None, None),
    };
    ServerRecord {
        address: "127.0.0.1:1".to_string(),
        own: true,
        version: None,
        command: None,
        cores,
        workers,
        durability: None,
        store: None,
        backlog: Some(4_096),
        cpu_seconds: None,
        memory_peak: None,
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "made up".to_string(),
        cores: 2,
        memory_bytes: 1,
        kernel: String::new(),
        disk: String::new(),
        fsync_us: None,
        congestion_control: String::new(),
        somaxconn: 4_096,
        commit: None,
        compiler: String::new(),
    }
}

/// An experiment without runs.
pub fn experiment() -> Experiment {
    Experiment {
        format: FORMAT,
        name: "trial".to_string(),
        title: String::new(),
        description: String::new(),
        axis: "cores".to_string(),
        command: String::new(),
        started: String::new(),
        seed: 1,
        shows: "throughput".to_string(),
        log_axis: false,
        published: Vec::new(),
        planned: None,
        runs: Vec::new(),
    }
}
