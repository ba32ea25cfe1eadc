//! Three servers of the log whose every connection, to each other and to the nodes, passes a proxy: each of them can be
//! killed, stopped, cut off and started again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::super::log_servers::{create, program};
use crate::common::port;
use crate::common::proxy::{Proxy, Way};
use crate::common::wait::wait_until;

pub const SERVERS: usize = 3;
/// The log's name.
pub const NAME: &str = "market";
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Log {
    folder: PathBuf,
    /// The ports for clients.
    pub ports: [u16; SERVERS],
    running: [Option<Child>; SERVERS],
    /// The proxies between servers, by both of their ends.
    ways: Vec<(usize, usize, Proxy)>,
    /// The server that has a changed bit on its disk.
    pub flipped: Option<usize>,
}

impl Log {
    /// Starts the servers, and makes a log.
    pub fn start(folder: &Path) -> Log {
        let ports = std::array::from_fn(|_| port::free());
        let routes: [u16; SERVERS] = std::array::from_fn(|_| port::free());
        let pairs = (0..SERVERS).flat_map(|from| (0..SERVERS).map(move |to| (from, to)));
        let ways = pairs.filter(|(from, to)| from != to).map(|(from, to)| (from, to, Proxy::to(routes[to]))).collect();
        let mut log = Log { folder: folder.to_owned(), ports, running: [None, None, None], ways, flipped: None };
        for (at, route) in routes.into_iter().enumerate() {
            std::fs::write(log.file(at, "conf"), log.settings(at, route)).unwrap();
            log.restart(at);
        }
        let url = log.url(&ports);
        wait_until("the log is made", PATIENCE, || create(&url, SERVERS).is_ok());
        log
    }

    /// The log's URL at these ports.
    pub fn url(&self, ports: &[u16]) -> String {
        let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://{}/{NAME}", hosts.join(","))
    }

    fn file(&self, at: usize, kind: &str) -> PathBuf {
        self.folder.join(format!("log-{at}.{kind}"))
    }

    /// The settings of a server. It advertises a port on which nobody listens: otherwise others would find ways around
    /// the proxies.
    fn settings(&self, at: usize, route: u16) -> String {
        let ways = self.ways.iter().filter(|(from, ..)| *from == at);
        let routes: Vec<String> = ways.map(|(.., way)| format!("nats://127.0.0.1:{}", way.port)).collect();
        let (port, store) = (self.ports[at], self.folder.join(format!("log-{at}")));
        format!(
            "server_name: log-{at}\nlisten: \"127.0.0.1:{port}\"\nping_interval: \"2s\"\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always }}\n\
             cluster {{ name: log, listen: \"127.0.0.1:{route}\", no_advertise: true, advertise: \"127.0.0.1:1\", \
             ping_interval: \"1s\", routes: [{}] }}\n",
            store.display(),
            routes.join(", ")
        )
    }

    /// Starts a server that does not run.
    pub fn restart(&mut self, at: usize) {
        let mut command = Command::new(program());
        command.arg("-c").arg(self.file(at, "conf")).arg("-l").arg(self.file(at, "log"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.running[at] = Some(child.unwrap());
    }

    /// Ends a server at once.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut child) = self.running[at].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn signal(&self, at: usize, signal: Signal) {
        if let Some(child) = &self.running[at] {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Cuts a server off from the others. Clients still reach it.
    pub fn cut_off(&self, at: usize) {
        for (from, to, way) in &self.ways {
            if *from == at || *to == at {
                way.hold(Way::Out);
                way.hold(Way::Back);
            }
        }
    }

    /// Lets held bytes pass again.
    pub fn join(&self) {
        self.ways.iter().for_each(|(.., way)| way.release());
    }

    /// Sends a request to a server. None without an answer.
    fn ask(&self, at: usize, subject: &str) -> Option<Value> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[at]));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        let request = format!("CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer 0\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
            if let Some(message) = line.strip_prefix("MSG ") {
                let mut body = vec![0; message.trim().rsplit(' ').next()?.parse().ok()?];
                lines.read_exact(&mut body).ok()?;
                return serde_json::from_slice(&body).ok();
            }
        }
    }

    fn about(&self) -> Option<Value> {
        (0..SERVERS).find_map(|at| self.ask(at, &format!("$JS.API.STREAM.INFO.{NAME}")))
    }

    /// The server that leads. None where another fault keeps them from electing one.
    pub fn leader(&self) -> Option<usize> {
        self.about()?["cluster"]["leader"].as_str()?.strip_prefix("log-")?.parse().ok()
    }

    /// Has the leader step down.
    pub fn step_down(&self) {
        (0..SERVERS).find_map(|at| self.ask(at, &format!("$JS.API.STREAM.LEADER.STEPDOWN.{NAME}")));
    }

    /// Waits until all servers run and have all of the log.
    pub fn heal(&mut self) {
        self.join();
        if let Some(at) = self.flipped.take() {
            // It gets the log from the others again.
            self.kill(at);
            std::fs::remove_dir_all(self.folder.join(format!("log-{at}"))).unwrap();
        }
        for at in 0..SERVERS {
            self.signal(at, Signal::CONT);
            if self.running[at].is_none() {
                self.restart(at);
            }
        }
        wait_until("all servers of the log have all of it", PATIENCE, || {
            let about = self.about().unwrap_or_default();
            let others = about["cluster"]["replicas"].as_array().cloned().unwrap_or_default();
            others.len() == SERVERS - 1 && others.iter().all(|other| other["current"] == true)
        });
    }

    /// The files in which a server keeps messages.
    pub fn blocks(&self, at: usize) -> Vec<PathBuf> {
        let folder = self.folder.join(format!("log-{at}/jetstream/$G/streams/{NAME}/msgs"));
        let files = std::fs::read_dir(folder).map(|files| files.flatten().map(|file| file.path()).collect());
        let mut blocks: Vec<PathBuf> = files.unwrap_or_default();
        blocks.retain(|file| file.extension().is_some_and(|extension| extension == "blk"));
        blocks
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        (0..SERVERS).for_each(|at| self.kill(at));
    }
}
