//! Ours and the raw durable echo, both driven by our load generator.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::measurement::{Figures, Task};
use super::mode::Mode;
use super::place::Place;
use super::process::Server;
use crate::record::{LoadSettings, RunRecord};
use crate::run::{Options, RunPlan, Store, Target, measure_with};

const ECHO_FOLDER: &str = "echo";
/// Of the time of the measured part, before it, and at most so many seconds.
const WARMUP: (f64, f64) = (0.2, 1.0);

/// The record of a run, and its figures.
pub struct Run {
    pub record: RunRecord,
    pub figures: Figures,
}

/// Measures our server with a workload, in an open loop where a rate is given. Errors: a line for people.
pub fn order(task: &Task, place: &Place, workload: &str, rate: Option<f64>) -> Result<Run, String> {
    let (server_cores, load_cores) = cores(place, task.mode);
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
    let (server, address) = start_echo(place, &folder)?;
    let mut cpu_before = None;
    // The measured part begins when its progress is told for the first time.
    let mut progress = |_| {
        cpu_before.get_or_insert_with(|| server.cpu());
    };
    let target = Target::At(address.to_string());
    let record = drive(place, LoadSettings { rate, ..load(task, "raw") }, target, vec![place.load_core], &mut progress);
    let cpu = cpu_before.map(|before: Duration| (server.cpu().saturating_sub(before)).as_secs_f64());
    drop(server);
    place.forget(ECHO_FOLDER);
    Ok(run(record?, cpu))
}

fn start_echo(place: &Place, folder: &Path) -> Result<(Server, SocketAddr), String> {
    let binary = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["bench", "echo", "--file"]).arg(folder.join("requests"));
    let mut server = Server::start(&mut command, place.server_core, folder.join("log"), Signal::TERM)?;
    let address = server.await_ready(|server| {
        let log = server.log();
        // A whole line: its end may not be written yet.
        let (line, _) = log.split_once('\n')?;
        line.strip_prefix("echo on ")?.parse().ok()
    })?;
    Ok((server, address))
}

/// Those of the server, and those of the load.
fn cores(place: &Place, mode: Mode) -> (Vec<usize>, Vec<usize>) {
    let Place { server_core, load_core, cores, .. } = place;
    match mode {
        Mode::OneCore => (vec![*server_core], vec![*server_core]),
        Mode::TwoCores => (cores.clone(), cores.clone()),
        Mode::Persistent
        | Mode::Pipelined
        | Mode::PerRequest
        | Mode::Single
        | Mode::Clients8
        | Mode::Clients32
        | Mode::OpenHalf => (vec![*server_core], vec![*load_core]),
    }
}

fn load(task: &Task, workload: &str) -> LoadSettings {
    let (Task { round, mode, seconds, .. }, (part, most)) = (*task, WARMUP);
    LoadSettings {
        workload: workload.to_string(),
        mode: mode.load_mode().to_string(),
        connections: mode.connections(),
        depth: mode.depth(),
        requests: None,
        duration: Some(seconds),
        rate: None,
        warmup: (seconds * part).min(most),
        accounts: 10_000,
        symbols: 4,
        seed: u64::from(round),
        threads: 1,
    }
}

fn drive(
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

fn run(record: RunRecord, server_cpu_seconds: Option<f64>) -> Run {
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
    };
    Run { record, figures }
}
