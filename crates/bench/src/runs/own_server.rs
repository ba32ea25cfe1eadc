//! Our server as it is started for a measurement: on its cores, on free ports, with a fresh market, and always ended.

use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::Signal;

use super::fresh::Fresh;
use crate::machine::process::Server;
use crate::machine::{processor, program};
use crate::records::ServerRecord;

/// The default of `--backlog`.
const BACKLOG: u64 = 8192;

/// A running server.
pub struct OwnServer {
    pub address: SocketAddr,
    /// The address of its page, REST and WebSocket.
    pub http: SocketAddr,
    server: Server,
    /// The folder and the database, declared behind the process, so that they are dropped after it has ended.
    fresh: Fresh,
    /// The facts that are known when it starts.
    record: ServerRecord,
}

impl OwnServer {
    /// Starts it on these cores (any when none are given) and waits until it serves. Errors: what it said instead.
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
        let workers = workers.or((!cores.is_empty()).then_some(cores.len() as u64));
        let mut words: Vec<String> =
            ["serve", "--xml", "127.0.0.1:0", "--http", "127.0.0.1:0"].map(String::from).into();
        words.extend(workers.map(|workers| format!("--workers={workers}")));
        // A load that creates accounts must not end at a bound.
        for (name, value) in [("--log-level", "warn"), ("--max-accounts", "1000000000")] {
            words.extend(value_of(arguments, name).is_none().then(|| format!("{name}={value}")));
        }
        words.extend(arguments.iter().cloned());
        // Only the command line decides the settings.
        let mut command = program::server_command()?;
        command.args(&words);
        fresh.tell(&mut command);
        let log = fresh.folder().with_extension("log");
        let mut server = Server::start(&mut command, cores, log, Signal::TERM)?;
        let (version, address, http) = server.await_ready(|server| banner(&server.log()))?;
        let setting = |name: &str, default: &str| value_of(arguments, name).unwrap_or(default).to_string();
        let (version, durability, store) = match fresh.database() {
            None => (version, setting("--durability", "synced"), ServerRecord::JOURNAL),
            Some(database) => {
                (format!("{version}, {}", database.version), database.durability(), ServerRecord::POSTGRES)
            }
        };
        let record = ServerRecord {
            address: address.to_string(),
            own: true,
            version: Some(version),
            command: Some(format!("pricetime {} {}", words.join(" "), fresh.told())),
            cores: (!cores.is_empty()).then(|| cores.to_vec()),
            workers,
            durability: Some(durability),
            store: Some(store.to_string()),
            backlog: Some(setting("--backlog", "").parse().unwrap_or(BACKLOG)),
            ..ServerRecord::default()
        };
        Ok(OwnServer { address, http, server, fresh, record })
    }

    /// Returns a warning about figures from it.
    pub fn warning(&self) -> Option<String> {
        self.fresh.warning()
    }

    /// Returns the processor time that it used so far.
    pub fn cpu(&self) -> Option<Duration> {
        processor::of(self.server.id())
    }

    /// Returns its record; `cpu` is that of the measured part.
    pub fn record(&self, cpu: Option<Duration>, somaxconn: u64) -> ServerRecord {
        ServerRecord {
            backlog: self.record.backlog.map(|backlog| backlog.min(somaxconn)),
            cpu_seconds: cpu.map(|cpu| cpu.as_secs_f64()),
            memory_peak: processor::memory_peak(self.server.id()),
            ..self.record.clone()
        }
    }

    /// Stops it, and waits; returns the store of its market. Errors: how it ended otherwise.
    pub fn stop(self) -> Result<Fresh, String> {
        self.server.stop().map(|()| self.fresh)
    }
}

/// Reads version and addresses, once all of them are written.
fn banner(log: &str) -> Option<(String, SocketAddr, SocketAddr)> {
    // The last line is the hint how to try it.
    log.contains("try it:").then_some(())?;
    let word = |label: &str| {
        let line = log.lines().find_map(|line| line.trim().strip_prefix(label))?;
        line.split_whitespace().next()?.trim_start_matches("http://").split('/').next()?.parse().ok()
    };
    let version = log.lines().find(|line| line.starts_with("pricetime ")).unwrap_or("pricetime");
    Some((version.to_string(), word("XML")?, word("health")?))
}

/// Returns the value of `--name value` or `--name=value`.
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
    fn addresses_are_read_when_all_of_them_are_written() {
        let said =
            "pricetime 0.1.0\n  XML        127.0.0.1:7 (2 workers)\n  health     http://127.0.0.1:9/health, /ready\n";
        assert_eq!(banner(said), None);
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let whole = banner(&format!("{said}try it:      echo\n"));
        assert_eq!(whole, Some(("pricetime 0.1.0".to_string(), address(7), address(9))));
    }
}
