//! Three servers of the log, each a process of its own on free ports and a folder of its own. Killed when dropped.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::common::wait::wait_until;

/// Below those that the system gives by itself, which other tests get.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

fn free_port() -> u16 {
    loop {
        let next = NEXT_PORT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (std::process::id() as u16 ^ next) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub struct LogServers {
    running: Vec<Child>,
    ports: Vec<u16>,
}

/// The program, which `./test` installs.
fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/.venv/bin/nats-server");
    assert!(program.exists(), "{} is missing: ./test installs it", program.display());
    program
}

impl LogServers {
    /// Starts so many, which know each other.
    pub fn start(folder: &Path, count: usize) -> LogServers {
        let ports: Vec<[u16; 2]> = (0..count).map(|_| [free_port(), free_port()]).collect();
        let routes: Vec<String> = ports.iter().map(|[_, route]| format!("nats://127.0.0.1:{route}")).collect();
        let running = ports.iter().enumerate().map(|(at, [port, route])| {
            let store = folder.join(format!("log-{at}"));
            let cluster = match count {
                1 => String::new(),
                _ => format!("cluster {{ name: log, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n", routes.join(", ")),
            };
            let settings = format!(
                "server_name: log-{at}\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n{cluster}",
                store.display()
            );
            let file = folder.join(format!("log-{at}.conf"));
            std::fs::write(&file, settings).unwrap();
            let mut command = Command::new(program());
            command.arg("-c").arg(&file).arg("-l").arg(folder.join(format!("log-{at}.log")));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        let running = running.collect();
        LogServers { running, ports: ports.into_iter().map(|[port, _]| port).collect() }
    }

    /// Where a log of this name is.
    pub fn url(&self, name: &str) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://{}/{name}", hosts.join(","))
    }

    /// Has a log made there, as soon as the servers have found each other.
    pub fn create(&self, name: &str, replicas: usize) -> String {
        let url = self.url(name);
        wait_until("the log is made", Duration::from_secs(60), || create(&url, replicas).is_ok());
        url
    }

    /// Ends one at once.
    pub fn kill(&mut self, at: usize) {
        let _ = self.running[at].kill();
        let _ = self.running[at].wait();
    }
}

impl Drop for LogServers {
    fn drop(&mut self) {
        (0..self.running.len()).for_each(|at| self.kill(at));
    }
}

/// `pricetime cluster create`. Errors: what it said.
pub fn create(url: &str, replicas: usize) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    command.args(["cluster", "create", "--store", url, "--replicas", &replicas.to_string(), "--marks-every", "1s"]);
    let ran = command.output().unwrap();
    match ran.status.success() {
        true => Ok(String::from_utf8(ran.stdout).unwrap()),
        false => Err(String::from_utf8(ran.stderr).unwrap()),
    }
}

/// `pricetime cluster status`: what it printed, and whether it says that all is well.
pub fn status(url: &str) -> (String, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    let ran = command.args(["cluster", "status", "--store", url]).output().unwrap();
    (String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap(), ran.status.success())
}
