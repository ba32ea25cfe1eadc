//! Ours and the raw durable echo, both driven by our load generator.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::measurement::Figures;
use super::mode::Mode;
use super::place::Place;
use super::process::Server;
use crate::record::{LoadSettings, RunRecord};
use crate::run::{Options, RunPlan, Target, measure_with};

const ECHO_FOLDER: &str = "echo";
/// Of the time of the measured part, before it, and at most so many seconds.
const WARMUP: (f64, f64) = (0.2, 1.0);

/// The record of a run, and its figures.
pub struct Run {
    pub record: RunRecord,
    pub figures: Figures,
}

/// Measures our server with a workload. Errors: a line for people.
pub fn order(place: &Place, mode: Mode, workload: &str, seconds: f64, seed: u64) -> Result<Run, String> {
    let target = Target::Own { cores: vec![place.server_core], workers: Some(1), arguments: Vec::new() };
    let record = drive(place, load(mode, workload, seconds, seed), target, &mut |_| {})?;
    let cpu = record.server.cpu_seconds;
    place.settle();
    Ok(run(record, cpu))
}

/// Measures the echo with the same requests. Errors: a line for people.
pub fn echo(place: &Place, mode: Mode, seconds: f64, seed: u64) -> Result<Run, String> {
    let folder = place.fresh(ECHO_FOLDER)?;
    let (server, address) = start_echo(place, &folder)?;
    let mut cpu_before = None;
    // The measured part begins when its progress is told for the first time.
    let mut progress = |_| {
        cpu_before.get_or_insert_with(|| server.cpu());
    };
    let record = drive(place, load(mode, "raw", seconds, seed), Target::At(address.to_string()), &mut progress);
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

fn load(mode: Mode, workload: &str, seconds: f64, seed: u64) -> LoadSettings {
    let (part, most) = WARMUP;
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
        seed,
        threads: 1,
    }
}

fn drive(
    place: &Place,
    load: LoadSettings,
    target: Target,
    progress: &mut dyn FnMut(f64),
) -> Result<RunRecord, String> {
    let plan = RunPlan { load, target, client_cores: vec![place.load_core] };
    // All data is on the same disk.
    let options = Options { data_parent: Some(place.work().to_owned()), ..Options::default() };
    measure_with(&plan, &options, progress)
}

fn run(record: RunRecord, server_cpu_seconds: Option<f64>) -> Run {
    let answered = record.counts.answered.max(1) as f64;
    let figures = Figures {
        throughput: record.throughput,
        latency_us_p50: Some(record.latency.p50),
        latency_us_p99: Some(record.latency.p99),
        server_cpu_us: server_cpu_seconds.map(|seconds| seconds * 1e6 / answered),
        load_cpu_share: Some(record.client.cpu_share),
    };
    Run { record, figures }
}
