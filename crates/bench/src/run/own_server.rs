//! The server that a run starts for itself: on its cores, on free ports, with a fresh market, and always ended.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::fresh::Fresh;
use super::machine;
use super::store::Store;
use crate::interrupt;
use crate::load;
use crate::program;
use crate::record::ServerRecord;

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(5);
/// The default of `--backlog`.
const BACKLOG: u64 = 8192;
/// What is shown of what a server said.
const SAID_BYTES_MAX: usize = 1000;

/// A running server.
pub struct OwnServer {
    pub address: SocketAddr,
    /// Of its page, REST and WebSocket.
    pub http: SocketAddr,
    process: Process,
    /// Behind the process, so that nobody uses it any more when it is dropped.
    fresh: Fresh,
    version: String,
    command: String,
    cores: Vec<usize>,
    workers: Option<u64>,
    arguments: Vec<String>,
}

/// Killed when dropped.
struct Process {
    child: Child,
    log: PathBuf,
}

impl OwnServer {
    /// Starts it and waits until it serves. Errors: what it said instead.
    pub fn start(
        fresh: Fresh,
        cores: &[usize],
        workers: Option<u64>,
        arguments: &[String],
    ) -> Result<OwnServer, String> {
        if value_of(arguments, "--store").is_some() {
            return Err("every run keeps its market in a fresh place: give --store to the benchmark, before the `--`"
                .to_string());
        }
        let binary = program::server()?;
        let log = fresh.folder().with_extension("log");
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let errors = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        let workers = workers.or((!cores.is_empty()).then_some(cores.len() as u64));
        let mut words: Vec<String> =
            ["serve", "--xml", "127.0.0.1:0", "--http", "127.0.0.1:0"].map(String::from).into();
        words.extend(workers.map(|workers| format!("--workers={workers}")));
        if value_of(arguments, "--log-level").is_none() {
            words.push("--log-level=warn".to_string());
        }
        if value_of(arguments, "--max-accounts").is_none() {
            // A load that creates accounts is not to end at a bound.
            words.push("--max-accounts=1000000000".to_string());
        }
        words.extend(arguments.iter().cloned());
        let mut command = Command::new(binary);
        command.args(&words).stdin(Stdio::null()).stdout(file).stderr(errors);
        // What is measured is what the command line says.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PRICETIME_")) {
            command.env_remove(name);
        }
        fresh.tell(&mut command);
        // A child runs where the thread that starts it does.
        let child = machine::on_cores(cores, || command.spawn())?.map_err(|error| format!("the server: {error}"))?;
        let mut process = Process { child, log };
        let (version, address, http) = process.await_addresses()?;
        Ok(OwnServer {
            address,
            http,
            process,
            version,
            command: format!("pricetime {} {}", words.join(" "), fresh.told()),
            fresh,
            cores: cores.to_vec(),
            workers,
            arguments: arguments.to_vec(),
        })
    }

    /// What to know about figures from it.
    pub fn warning(&self) -> Option<String> {
        self.fresh.warning()
    }

    /// Processor time that it used so far.
    pub fn cpu(&self) -> Option<Duration> {
        load::cpu_in(&format!("/proc/{}/stat", self.process.child.id()))
    }

    /// What is known of it; `cpu` is that of the measured part.
    pub fn record(&self, cpu: Option<Duration>, somaxconn: u64) -> ServerRecord {
        let setting = |name: &str, default: &str| value_of(&self.arguments, name).unwrap_or(default).to_string();
        let backlog = setting("--backlog", "").parse().unwrap_or(BACKLOG);
        let (version, durability, store) = match self.fresh.database() {
            None => (self.version.clone(), setting("--durability", "synced"), Store::JOURNAL),
            Some(database) => {
                (format!("{}, {}", self.version, database.version()), database.durability(), Store::POSTGRES)
            }
        };
        ServerRecord {
            address: self.address.to_string(),
            own: true,
            version: Some(version),
            command: Some(self.command.clone()),
            cores: (!self.cores.is_empty()).then(|| self.cores.clone()),
            workers: self.workers,
            durability: Some(durability),
            store: Some(store.to_string()),
            backlog: Some(backlog.min(somaxconn)),
            cpu_seconds: cpu.map(|cpu| cpu.as_secs_f64()),
            memory_peak: self.memory_peak(),
        }
    }

    fn memory_peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
    }

    /// Tells it to stop, and waits; gives what holds its market. Errors: how it ended otherwise.
    pub fn stop(mut self) -> Result<Fresh, String> {
        if let Ok(Some(status)) = self.process.child.try_wait() {
            let said = self.process.said();
            return Err(format!("the server ended by itself ({status}); it said: {said}"));
        }
        if let Some(pid) = Pid::from_raw(self.process.child.id() as i32) {
            // One that has just ended says so below.
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && !interrupt::is_asked() {
            match self.process.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(self.fresh),
                Ok(Some(status)) => {
                    return Err(format!("the server ended with {status}; it said: {}", self.process.said()));
                }
                _ => std::thread::sleep(GLANCE),
            }
        }
        Err(format!("the server did not stop within {} s and was killed", asked.elapsed().as_secs()))
    }
}

impl Process {
    fn await_addresses(&mut self) -> Result<(String, SocketAddr, SocketAddr), String> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            interrupt::check()?;
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            // Its last line is the hint how to try it: all before it is written.
            if text.contains("try it:")
                && let Some(address) = text.lines().find_map(xml_address)
                && let Some(http) = text.lines().find_map(http_address)
            {
                let version = text.lines().find(|line| line.starts_with("pricetime ")).unwrap_or("pricetime");
                return Ok((version.to_string(), address, http));
            }
            if ended {
                return Err(format!("the server did not start; it said: {}", self.said()));
            }
            std::thread::sleep(GLANCE);
        }
        Err(format!("the server did not start within {} s; it said: {}", PATIENCE.as_secs(), self.said()))
    }

    /// The end of what it wrote.
    fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut from = text.len().saturating_sub(SAID_BYTES_MAX);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].trim().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn xml_address(line: &str) -> Option<SocketAddr> {
    line.trim().strip_prefix("XML")?.split_whitespace().next()?.parse().ok()
}

fn http_address(line: &str) -> Option<SocketAddr> {
    let url = line.trim().strip_prefix("health")?.split_whitespace().next()?;
    url.strip_prefix("http://")?.split('/').next()?.parse().ok()
}

/// The value of `--name value` or `--name=value`.
fn value_of<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, argument)| match argument.strip_prefix(name)? {
        "" => arguments.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_however_they_are_written() {
        let arguments = ["--backlog", "16", "--durability=written"].map(String::from);
        assert_eq!(value_of(&arguments, "--backlog"), Some("16"));
        assert_eq!(value_of(&arguments, "--durability"), Some("written"));
        assert_eq!(value_of(&arguments, "--store"), None);
    }
}
