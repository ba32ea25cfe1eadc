//! Ours on its journal and the raw durable echo, both driven by our load generator.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::measurement::{Figures, Task};
use super::place::Place;
use crate::baseline::warmup;
use crate::process::Server;
use crate::record::{LoadSettings, RunRecord};
use crate::run::{Options, RunPlan, Store, Target, measure_with};

const ECHO_FOLDER: &str = "echo";
/// Of the loads.
pub const ACCOUNTS: u64 = 10_000;
pub const SYMBOLS: u64 = 4;

/// The record of a run, and its figures.
pub struct Run {
    pub record: RunRecord,
    pub figures: Figures,
}

/// Measures our server with a workload, in an open loop where a rate is given. Errors: a line for people.
pub fn order(task: &Task, place: &Place, workload: &str, rate: Option<f64>) -> Result<Run, String> {
    let (server_cores, load_cores) = place.cores_in(task.mode);
    let load = LoadSettings { rate, threads: load_cores.len() as u64, ..load(task, workload) };
    let workers = Some(server_cores.len() as u64);
    let target = Target::Own { cores: server_cores, workers, store: Store::Journal, arguments: Vec::new() };
    let record = drive(place, load, target, load_cores, &mut |_| {})?;
    let cpu = record.server.cpu_seconds;
    place.settle();
    Ok(run(record, cpu))
}

/// Measures the echo with the same requests, in an open loop where a rate is given. Errors: a line for people.
pub fn echo(task: &Task, place: &Place, rate: Option<f64>) -> Result<Run, String> {
    let folder = place.fresh(ECHO_FOLDER)?;
    let (server_cores, load_cores) = place.cores_in(task.mode);
    let (server, address) = start_echo(&server_cores, &folder)?;
    let mut cpu_before = None;
    // The measured part begins when its progress is told for the first time.
    let mut progress = |_| {
        cpu_before.get_or_insert_with(|| server.cpu());
    };
    let target = Target::At(address.to_string());
    let load = LoadSettings { rate, threads: load_cores.len() as u64, ..load(task, "raw") };
    let record = drive(place, load, target, load_cores, &mut progress);
    let cpu = cpu_before.map(|before: Duration| (server.cpu().saturating_sub(before)).as_secs_f64());
    drop(server);
    place.forget(ECHO_FOLDER);
    Ok(run(record?, cpu))
}

fn start_echo(cores: &[usize], folder: &Path) -> Result<(Server, SocketAddr), String> {
    let binary = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["echo", "--file"]).arg(folder.join("requests"));
    let mut server = Server::start(&mut command, cores, folder.join("log"), Signal::TERM)?;
    let address = server.await_ready(|server| {
        let log = server.log();
        // A whole line: its end may not be written yet.
        let (line, _) = log.split_once('\n')?;
        line.strip_prefix("echo on ")?.parse().ok()
    })?;
    Ok((server, address))
}

/// The load of a task.
pub fn load(task: &Task, workload: &str) -> LoadSettings {
    let Task { round, mode, seconds, .. } = *task;
    LoadSettings {
        workload: workload.to_string(),
        mode: mode.load_mode().to_string(),
        connections: mode.connections(),
        depth: mode.depth(),
        requests: None,
        duration: Some(seconds),
        rate: None,
        warmup: warmup(seconds).as_secs_f64(),
        accounts: ACCOUNTS,
        symbols: SYMBOLS,
        seed: u64::from(round),
        threads: 1,
    }
}

/// Puts a load on a server. Errors: a line for people.
pub fn drive(
    place: &Place,
    load: LoadSettings,
    target: Target,
    client_cores: Vec<usize>,
    progress: &mut dyn FnMut(f64),
) -> Result<RunRecord, String> {
    let plan = RunPlan { load, target, client_cores };
    // All data is on the same disk.
    let options = Options { data_parent: Some(place.work().to_owned()), ..Options::default() };
    measure_with(&plan, &options, progress)
}

/// A record with its figures; the processor time is that of the server in the measured part.
pub fn run(record: RunRecord, server_cpu_seconds: Option<f64>) -> Run {
    let answered = record.counts.answered.max(1) as f64;
    let orders = record.counts.kinds.get("opened").map(|orders| *orders as f64);
    let figures = Figures {
        throughput: record.throughput,
        latency_us_p50: Some(record.latency.p50),
        latency_us_p99: Some(record.latency.p99),
        latency_us_p999: Some(record.latency.p999),
        orders_per_second: orders.filter(|_| record.seconds > 0.0).map(|orders| orders / record.seconds),
        server_cpu_us: server_cpu_seconds.map(|seconds| seconds * 1e6 / answered),
        load_cpu_share: Some(record.client.cpu_share),
        ..Figures::default()
    };
    Run { record, figures }
}
