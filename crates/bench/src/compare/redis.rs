//! Redis, driven by its own redis-benchmark. It knows how both are started and what they print.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::measurement::Figures;
use super::mode::Mode;
use super::place::Place;
use crate::process::{Server, finish, free_port, in_path};

const FOLDER: &str = "redis";
/// With the key and the framing around it, a SET of it has as many bytes as an order of the same comparison.
pub const VALUE_BYTES: &str = "97";
const STARTS_MAX: usize = 5;
/// A calibrating run that took less says little of how many requests a run needs.
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
    /// Errors: what is missing, and how to get it.
    pub fn find() -> Result<Redis, String> {
        let find = |program: &str, package: &str| {
            in_path(program).ok_or_else(|| format!("{program} is missing; get it with: apt-get install {package}"))
        };
        let server = find("redis-server", "redis-server")?;
        let benchmark = find("redis-benchmark", "redis-tools")?;
        let output = Command::new(&server).arg("--version").output();
        let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version =
            printed.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("of unknown version");
        Ok(Redis { server, benchmark, version: version.to_string() })
    }

    /// Starts a server on new data, and measures it for about so long. Errors: what either program said.
    pub fn measure(&self, place: &Place, mode: Mode, durable: bool, seconds: f64) -> Result<Figures, String> {
        let (server, port) = self.start(place, durable)?;
        let measured = self.drive(place, mode, port, seconds, &server);
        drop(server);
        place.forget(FOLDER);
        measured
    }

    fn start(&self, place: &Place, durable: bool) -> Result<(Server, u16), String> {
        let mut last = String::new();
        for _ in 0..STARTS_MAX {
            let (folder, port) = (place.fresh(FOLDER)?, free_port()?);
            let mut command = Command::new(&self.server);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--daemonize", "no", "--save", ""]);
            match durable {
                true => command.args(["--appendonly", "yes", "--appendfsync", "always"]),
                false => command.args(["--appendonly", "no"]),
            };
            command.args(["--auto-aof-rewrite-percentage", "0", "--dir"]).arg(&folder).current_dir(&folder);
            let mut server = Server::start(&mut command, &[place.server_core], folder.join("log"), Signal::TERM)?;
            // Somebody else may have taken the port: only this process may answer there.
            match server.await_ready(|server| answers_as(port, server.id())) {
                Ok(()) => return Ok((server, port)),
                Err(error) => last = error,
            }
        }
        Err(format!("redis-server: {last}"))
    }

    fn drive(&self, place: &Place, mode: Mode, port: u16, seconds: f64, server: &Server) -> Result<Figures, String> {
        let run = |requests: u64| {
            let mut command = Command::new(&self.benchmark);
            command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-t", "set", "-d", VALUE_BYTES, "--csv"]);
            command.args(["-c", &mode.connections().to_string(), "-P", &mode.depth().to_string()]);
            command.args(["-k", if mode == Mode::PerRequest { "0" } else { "1" }, "-n", &requests.to_string()]);
            let finished = finish(&mut command, &[place.load_core])?;
            let line = read_csv(&finished.stdout)
                .ok_or_else(|| format!("redis-benchmark printed no figures but: {}", finished.stdout.trim()))?;
            Ok::<_, String>((line, finished))
        };
        // It counts requests, not seconds: short runs first say how many it takes.
        let mut requests = CALIBRATION_REQUESTS * mode.depth();
        let rate = loop {
            let (line, finished) = run(requests)?;
            if finished.took >= CALIBRATION_MIN || finished.took.as_secs_f64() >= seconds {
                break line.throughput;
            }
            requests *= 4;
        };
        let requests = ((rate * seconds) as u64).max(CALIBRATION_REQUESTS);
        let before = server.cpu();
        let (line, finished) = run(requests)?;
        Ok(Figures {
            throughput: line.throughput,
            latency_us_p50: line.latency_us_p50,
            latency_us_p99: line.latency_us_p99,
            latency_us_p999: None,
            server_cpu_us: Some((server.cpu() - before).as_secs_f64() * 1e6 / requests as f64),
            load_cpu_share: Some(finished.cpu.as_secs_f64() / finished.took.as_secs_f64()),
            ..Figures::default()
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

#[derive(Debug, PartialEq)]
struct CsvLine {
    throughput: f64,
    latency_us_p50: Option<f64>,
    latency_us_p99: Option<f64>,
}

/// Reads the line of SET; versions before 6.2 print the throughput alone.
fn read_csv(printed: &str) -> Option<CsvLine> {
    let fields = |line: &str| line.split(',').map(|field| field.trim_matches('"').to_string()).collect::<Vec<_>>();
    let names = printed.lines().find(|line| line.starts_with("\"test\"")).map(fields).unwrap_or_default();
    let values = printed.lines().find(|line| line.starts_with("\"SET\"")).map(fields)?;
    let number =
        |name: &str| -> Option<f64> { values.get(names.iter().position(|other| other == name)?)?.parse().ok() };
    let us = |name: &str| number(name).map(|ms| ms * 1e3);
    let throughput = values.get(1)?.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0)?;
    Some(CsvLine { throughput, latency_us_p50: us("p50_latency_ms"), latency_us_p99: us("p99_latency_ms") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_both_forms_of_csv() {
        let new = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\
                   \"p99_latency_ms\",\"max_latency_ms\"\n\
                   \"SET\",\"78003.12\",\"0.600\",\"0.100\",\"0.591\",\"0.800\",\"0.983\",\"2.103\"\n";
        let line = read_csv(new).expect("a line of figures");
        assert_eq!((line.throughput, line.latency_us_p50, line.latency_us_p99), (78_003.12, Some(591.0), Some(983.0)));
        let old = read_csv("\"SET\",\"61349.70\"\n");
        assert_eq!(old, Some(CsvLine { throughput: 61_349.7, latency_us_p50: None, latency_us_p99: None }));
        assert_eq!(read_csv("Could not connect to Redis at 127.0.0.1:1: Connection refused\n"), None);
    }
}
