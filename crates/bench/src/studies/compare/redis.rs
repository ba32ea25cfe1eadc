//! Redis, driven by its own redis-benchmark: starts both, and reads their output.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::Task;
use crate::machine::facts::now;
use crate::machine::process::{Server, finish, in_path, start_on_free_port, version};
use crate::machine::test_bed::TestBed;
use crate::records::{ClientRecord, Counts, FORMAT, Latency, LoadSettings, Mode, Recipe, RunRecord, ServerRecord};

const FOLDER: &str = "redis";
/// Bytes of a value: with the key and the framing around it, a SET has as many bytes as an order of the same
/// comparison.
const VALUE_BYTES: &str = "97";
/// The shortest calibrating run that says how many requests a run needs.
const CALIBRATION_MIN: Duration = Duration::from_millis(250);
const CALIBRATION_REQUESTS: u64 = 1_000;
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// The programs.
pub struct Redis {
    server: PathBuf,
    benchmark: PathBuf,
    pub version: String,
}

impl Redis {
    /// Finds the programs. Errors: what is missing, and how to get it.
    pub fn find() -> Result<Redis, String> {
        let find = |program: &str, package: &str| {
            in_path(program).ok_or_else(|| format!("{program} is missing; get it with: apt-get install {package}"))
        };
        let server = find("redis-server", "redis-server")?;
        let benchmark = find("redis-benchmark", "redis-tools")?;
        let version = version(&server, |said| said.split_whitespace().find_map(|word| word.strip_prefix("v=")));
        Ok(Redis { server, benchmark, version })
    }

    /// Describes its settings.
    pub fn described(&self) -> String {
        format!(
            "Redis {}: SET of {VALUE_BYTES} bytes by redis-benchmark, a request of 140 bytes; no snapshots, no rewriting",
            self.version
        )
    }

    /// Starts a server on new data, and measures it for about as long as is asked. Errors: what either program said.
    pub fn measure(&self, task: &Task, bed: &TestBed, durable: bool) -> Result<RunRecord, String> {
        let started = now();
        let (server, port) = self.start(bed, FOLDER, &[bed.server_core], durable, None)?;
        let measured = self.drive(task, bed, port, &server);
        drop(server);
        bed.forget(FOLDER);
        let durability = if durable { "appendfsync always" } else { "none" };
        measured.map(|mut record| {
            record.server.durability = Some(durability.to_string());
            RunRecord { started, ..record }
        })
    }

    /// Starts a server on new data in the folder of this name; a replica of the server at `primary`, if there is one.
    /// Errors: what it said.
    pub fn start(
        &self,
        bed: &TestBed,
        name: &str,
        cores: &[usize],
        durable: bool,
        primary: Option<u16>,
    ) -> Result<(Server, u16), String> {
        let prepare = |port: u16| {
            let folder = bed.fresh(name)?;
            let mut command = Command::new(&self.server);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--daemonize", "no", "--save", ""]);
            match durable {
                true => command.args(["--appendonly", "yes", "--appendfsync", "always"]),
                false => command.args(["--appendonly", "no"]),
            };
            if let Some(port) = primary {
                command.args(["--replicaof", "127.0.0.1", &port.to_string()]);
            }
            command.args(["--repl-diskless-sync-delay", "0"]);
            command.args(["--auto-aof-rewrite-percentage", "0", "--dir"]).arg(&folder).current_dir(&folder);
            Ok((command, folder.join("log")))
        };
        // Only this process may answer there.
        let ready = |server: &Server, port| answers_as(port, server.id()).is_some();
        start_on_free_port(cores, Signal::TERM, prepare, ready).map_err(|error| format!("redis-server: {error}"))
    }

    fn drive(&self, task: &Task, bed: &TestBed, port: u16, server: &Server) -> Result<RunRecord, String> {
        let load = task.load(Recipe::Raw);
        let keep = if load.mode == Mode::PerRequest { "0" } else { "1" };
        let flags = format!("-t set -d {VALUE_BYTES} --csv -c {} -P {} -k {keep}", load.connections, load.depth);
        let run = |requests: u64| {
            let mut command = Command::new(&self.benchmark);
            command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-n", &requests.to_string()]);
            let finished = finish(command.args(flags.split(' ')), &[bed.load_core])?;
            let line = read_csv(&finished.stdout)
                .ok_or_else(|| format!("redis-benchmark printed no figures but: {}", finished.stdout.trim()))?;
            Ok::<_, String>((line, finished))
        };
        // redis-benchmark counts requests, not seconds: short runs first find how many a run takes.
        let mut requests = CALIBRATION_REQUESTS * load.depth;
        let rate = loop {
            let ((rate, _), finished) = run(requests)?;
            if finished.took >= CALIBRATION_MIN || finished.took.as_secs_f64() >= task.seconds {
                break rate;
            }
            requests *= 4;
        };
        let requests = ((rate * task.seconds) as u64).max(CALIBRATION_REQUESTS);
        let before = server.cpu();
        let ((throughput, latency), finished) = run(requests)?;
        Ok(RunRecord {
            format: FORMAT,
            command: format!("redis-benchmark -n {requests} {flags}"),
            load: LoadSettings { requests: Some(requests), duration: None, warmup: 0.0, ..load },
            server: ServerRecord {
                address: format!("127.0.0.1:{port}"),
                version: Some(format!("Redis {}", self.version)),
                cores: Some(vec![bed.server_core]),
                cpu_seconds: Some((server.cpu() - before).as_secs_f64()),
                ..ServerRecord::default()
            },
            seconds: requests as f64 / throughput,
            throughput,
            counts: Counts { sent: requests, answered: requests, ..Counts::default() },
            latency,
            client: ClientRecord { cores: vec![bed.load_core], cpu_share: finished.cpu_share(), source_addresses: 1 },
            ..RunRecord::default()
        })
    }
}

fn answers_as(port: u16, process: u32) -> Option<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE)).ok()?;
    stream.write_all(b"INFO server\r\nQUIT\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.contains(&format!("process_id:{process}\r\n")).then_some(())
}

/// Reads the line of SET: requests a second, and their latency; versions before 6.2 print the throughput alone.
fn read_csv(printed: &str) -> Option<(f64, Latency)> {
    let fields = |line: &str| line.split(',').map(|field| field.trim_matches('"').to_string()).collect::<Vec<_>>();
    let names = printed.lines().find(|line| line.starts_with("\"test\"")).map(fields).unwrap_or_default();
    let values = printed.lines().find(|line| line.starts_with("\"SET\"")).map(fields)?;
    let us = |name: &str| {
        let at = names.iter().position(|other| other == name)?;
        values.get(at)?.parse::<f64>().ok().map(|ms| ms * 1e3)
    };
    let throughput = values.get(1)?.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)?;
    let latency = Latency {
        from: "closed".to_string(),
        mean: us("avg_latency_ms"),
        min: us("min_latency_ms"),
        p50: us("p50_latency_ms"),
        p99: us("p99_latency_ms"),
        max: us("max_latency_ms"),
        ..Latency::default()
    };
    Some((throughput, latency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_both_forms_of_csv() {
        let new = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\
                   \"p99_latency_ms\",\"max_latency_ms\"\n\
                   \"SET\",\"78003.12\",\"0.600\",\"0.100\",\"0.591\",\"0.800\",\"0.983\",\"2.103\"\n";
        let (throughput, latency) = read_csv(new).expect("a line of figures");
        assert_eq!((throughput, latency.p50, latency.p99, latency.p999), (78_003.12, Some(591.0), Some(983.0), None));
        let (throughput, latency) = read_csv("\"SET\",\"61349.70\"\n").expect("a line of figures");
        assert_eq!((throughput, latency.p50), (61_349.7, None));
        assert!(read_csv("Could not connect to Redis at 127.0.0.1:1: Connection refused\n").is_none());
    }
}
