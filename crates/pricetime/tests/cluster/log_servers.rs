//! Three servers of the log, each a process of its own on free ports and a folder of its own. They are killed when
//! dropped.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::port;
use crate::common::wait::wait_until;

pub struct LogServers {
    running: Vec<Child>,
    ports: Vec<u16>,
    folder: PathBuf,
}

/// Runs a server whose settings are in the folder.
fn run(folder: &Path, at: usize) -> Child {
    let mut command = Command::new(program());
    command.arg("-c").arg(folder.join(format!("log-{at}.conf"))).arg("-l").arg(folder.join(format!("log-{at}.log")));
    command.envs(PASSWORDS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The passwords of the users in deploy/cluster/users.conf.
pub const PASSWORDS: [(&str, &str); 3] =
    [("OPERATOR_PASSWORD", "made-of-3"), ("NODE_PASSWORD", "made-of-4"), ("WATCHER_PASSWORD", "made-of-5")];

/// The program, which `./test` installs.
pub fn program() -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/.venv/bin/nats-server");
    assert!(program.exists(), "{} is missing: ./test installs it", program.display());
    program
}

impl LogServers {
    /// Starts this many servers, which know each other.
    pub fn start(folder: &Path, count: usize) -> LogServers {
        LogServers::start_with(folder, count, "")
    }

    /// Starts servers with further settings.
    pub fn start_with(folder: &Path, count: usize, settings: &str) -> LogServers {
        let further = settings;
        let ports: Vec<[u16; 2]> = (0..count).map(|_| [port::free(), port::free()]).collect();
        let routes: Vec<String> = ports.iter().map(|[_, route]| format!("nats://127.0.0.1:{route}")).collect();
        let running = ports.iter().enumerate().map(|(at, [port, route])| {
            let store = folder.join(format!("log-{at}"));
            let cluster = match count {
                1 => String::new(),
                _ => format!("cluster {{ name: log, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n", routes.join(", ")),
            };
            let settings = format!(
                "server_name: log-{at}\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n{cluster}{further}",
                store.display()
            );
            let file = folder.join(format!("log-{at}.conf"));
            std::fs::write(file, settings).unwrap();
            run(folder, at)
        });
        let (running, folder) = (running.collect(), folder.to_owned());
        LogServers { running, ports: ports.into_iter().map(|[port, _]| port).collect(), folder }
    }

    /// Starts a killed server again.
    pub fn restart(&mut self, at: usize) {
        self.running[at] = run(&self.folder, at);
    }

    /// The port of a server.
    pub fn port(&self, at: usize) -> u16 {
        self.ports[at]
    }

    /// The URL of a log with this name.
    pub fn url(&self, name: &str) -> String {
        let hosts: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://{}/{name}", hosts.join(","))
    }

    /// Makes a log, as soon as the servers have found each other.
    pub fn create(&self, name: &str, replicas: usize) -> String {
        let url = self.url(name);
        wait_until("the log is made", Duration::from_secs(60), || create(&url, replicas).is_ok());
        url
    }

    /// A server's answer on one of its own subjects. The server asked must lead nothing but the stream in question.
    pub fn ask(&self, subject: &str, body: &str) -> Value {
        let answers = self.publish(subject, body.as_bytes(), 1, Duration::from_secs(20));
        serde_json::from_slice(&answers.unwrap().pop().unwrap()).unwrap()
    }

    /// Whether a server says that none of them leads. While it looks for a leader, it says nothing.
    pub fn is_without_leader(&self) -> bool {
        let answers = self.publish("$JS.API.INFO", b"", 1, Duration::from_millis(300));
        answers.is_ok_and(|mut answers| {
            let answer: Value = serde_json::from_slice(&answers.pop().unwrap()).unwrap();
            answer["error"]["code"] == 503
        })
    }

    /// Publishes this many times, and returns the answers. Errors: none came within `patience`.
    fn publish(&self, subject: &str, body: &[u8], times: usize, patience: Duration) -> io::Result<Vec<Vec<u8>>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[0])).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        let mut sent = b"CONNECT {\"verbose\":false}\r\nSUB answer 1\r\n".to_vec();
        for _ in 0..times {
            sent.extend_from_slice(format!("PUB {subject} answer {}\r\n", body.len()).as_bytes());
            sent.extend_from_slice(body);
            sent.extend_from_slice(b"\r\n");
        }
        stream.write_all(&sent).unwrap();
        let (mut lines, mut answers) = (BufReader::new(stream), Vec::new());
        while answers.len() < times {
            let mut line = String::new();
            assert!(lines.read_line(&mut line)? > 0, "the server of the log ended the connection");
            if let Some(message) = line.strip_prefix("MSG ") {
                let mut answer = vec![0; message.trim().rsplit(' ').next().unwrap().parse().unwrap()];
                lines.read_exact(&mut answer)?;
                answers.push(answer);
            }
        }
        Ok(answers)
    }

    /// Sends a log's first message again, this many times. It counts nowhere.
    pub fn repeat_first(&self, name: &str, times: usize) {
        let first = self.ask(&format!("$JS.API.STREAM.MSG.GET.{name}"), r#"{"seq":1}"#);
        let bytes = BASE64_STANDARD.decode(first["message"]["data"].as_str().unwrap()).unwrap();
        for _ in 0..times.div_ceil(500) {
            self.publish(&format!("pricetime.{name}.log"), &bytes, 500, Duration::from_secs(20)).unwrap();
        }
    }

    /// The servers' state of a log.
    pub fn state(&self, name: &str) -> Value {
        self.ask(&format!("$JS.API.STREAM.INFO.{name}"), "")["state"].clone()
    }

    /// The messages of a log behind this one: the node that wrote each, and the number of its commands.
    pub fn written_behind(&self, name: &str, last: u64) -> Vec<(u16, u32)> {
        let end = self.state(name)["last_seq"].as_u64().unwrap();
        let written = |position: u64| {
            let asked = serde_json::json!({ "seq": position }).to_string();
            let told = self.ask(&format!("$JS.API.STREAM.MSG.GET.{name}"), &asked);
            let bytes = BASE64_STANDARD.decode(told["message"]["data"].as_str().unwrap()).unwrap();
            let (node, commands) = (bytes[9..11].try_into().unwrap(), bytes[35..39].try_into().unwrap());
            (u16::from_le_bytes(node), u32::from_le_bytes(commands))
        };
        (last + 1..=end).map(written).collect()
    }

    /// Removes a log, like a disaster.
    pub fn lose(&self, name: &str) {
        self.ask(&format!("$JS.API.STREAM.DELETE.{name}"), "");
    }

    /// Sends a signal to one server.
    pub fn signal(&self, at: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.running[at]), signal).unwrap();
    }

    /// Ends a server at once.
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

/// Runs `pricetime cluster create`. Errors: its text.
pub fn create(url: &str, replicas: usize) -> Result<String, String> {
    cluster(&["create", "--store", url, "--replicas", &replicas.to_string(), "--marks-every", "1s", "--keep", "1s"])
}

/// Runs `pricetime cluster` with these words. Errors: its text.
pub fn cluster(words: &[&str]) -> Result<String, String> {
    let ran = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("cluster").args(words).output().unwrap();
    match ran.status.success() {
        true => Ok(String::from_utf8(ran.stdout).unwrap()),
        false => Err(String::from_utf8(ran.stderr).unwrap()),
    }
}

/// Runs `pricetime cluster status`: returns its output, and whether it says that all is well.
pub fn status(url: &str) -> (String, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    let ran = command.args(["cluster", "status", "--store", url]).output().unwrap();
    (String::from_utf8(ran.stdout).unwrap() + &String::from_utf8(ran.stderr).unwrap(), ran.status.success())
}
