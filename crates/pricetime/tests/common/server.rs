//! The real binary as a process: started on free ports and a folder of its own, awaited, signalled, and always ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::client::Client;
use super::wait::wait_for;

/// The time that a start, an answer or an end may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The last line that a started server prints.
const LAST_BANNER_LINE: &str = "try it:";

static LOGS: AtomicU32 = AtomicU32::new(0);

/// The settings of a start.
#[derive(Clone, Debug)]
pub struct Launch {
    data: PathBuf,
    /// The place that `pricetime state` reads: the data folder, or a database's URL.
    kept: PathBuf,
    wrapper: Vec<String>,
    arguments: Vec<String>,
    ports: [String; 2],
    demo: bool,
}

impl Launch {
    /// Makes a launch on a data folder, with free ports and defaults for the rest.
    pub fn new(data: &Path) -> Launch {
        let free = "127.0.0.1:0".to_string();
        Launch {
            data: data.to_owned(),
            kept: data.to_owned(),
            wrapper: Vec::new(),
            arguments: Vec::new(),
            ports: [free.clone(), free],
            demo: false,
        }
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Adds further arguments, separated by blanks.
    pub fn with(mut self, arguments: &str) -> Launch {
        self.arguments.extend(arguments.split_whitespace().map(str::to_string));
        self
    }

    /// Puts the market into a database.
    pub fn in_database(mut self, url: &str) -> Launch {
        self.kept = url.into();
        self.with(&format!("--store {url}"))
    }

    /// Launches through another program that becomes the server (`prlimit`, `strace -D`).
    pub fn through(mut self, wrapper: &[&str]) -> Launch {
        self.wrapper = wrapper.iter().map(|word| (*word).to_string()).collect();
        self
    }

    /// Launches `pricetime demo`, which has a data folder of its own.
    pub fn with_traders(mut self) -> Launch {
        self.demo = true;
        self
    }

    /// Puts XML on this address.
    pub fn on_xml(mut self, address: SocketAddr) -> Launch {
        self.ports[0] = address.to_string();
        self
    }

    /// Puts HTTP with the health on this address.
    pub fn on_http(mut self, address: SocketAddr) -> Launch {
        self.ports[1] = address.to_string();
        self
    }

    /// Starts the process and waits for nothing.
    pub fn spawn(&self) -> Process {
        let binary = env!("CARGO_BIN_EXE_pricetime").to_string();
        let words: Vec<&String> = self.wrapper.iter().chain([&binary]).collect();
        let log_number = LOGS.fetch_add(1, Ordering::Relaxed);
        let log = self.data.with_extension(format!("{log_number}.log"));
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args([if self.demo { "demo" } else { "serve" }, "--xml", &self.ports[0], "--http", &self.ports[1]])
            .args((!self.demo).then_some([Path::new("--data"), &self.data]).into_iter().flatten())
            .args(&self.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", words[0]));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Process { child, lines, printed: String::new(), log, started: Instant::now(), kept: self.kept.clone() }
    }

    /// Starts the server and waits until it says that it serves. Panics with its output if it ends instead.
    pub fn start(&self) -> Server {
        self.try_start().unwrap_or_else(|ended| panic!("the server did not start: {ended:?}"))
    }

    /// Starts the server. Errors: its end, if it ended before it served.
    pub fn try_start(&self) -> Result<Server, Ended> {
        self.spawn().serving()
    }
}

/// The end of a process and its output.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A started process, serving or not. It is killed when dropped.
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    pub printed: String,
    log: PathBuf,
    started: Instant,
    kept: PathBuf,
}

impl Process {
    /// Waits until it says that it serves. Errors: its end, if it ended before.
    pub fn serving(mut self) -> Result<Server, Ended> {
        if self.read_until(LAST_BANNER_LINE) {
            let started_in = self.started.elapsed();
            let address = |label: &str| -> SocketAddr {
                let line = self.printed.lines().find_map(|line| line.trim().strip_prefix(label));
                let line = line.unwrap_or_else(|| panic!("no {label} in {}", self.printed)).trim();
                line.trim_start_matches("http://")
                    .trim_start_matches("https://")
                    .split([' ', '/'])
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            };
            let (xml, http) = (address("XML"), address("health"));
            let compatible = self.printed.contains("\n  Binance ").then(|| address("Binance"));
            let fix = self.printed.contains("\n  FIX ").then(|| address("FIX"));
            Ok(Server { xml, http, compatible, fix, banner: self.printed.clone(), started_in, process: self })
        } else {
            Err(self.wait_for_end(PATIENCE))
        }
    }

    /// Whether it has said so far that it serves; does not wait.
    pub fn says_that_it_serves(&mut self) -> bool {
        while let Ok(line) = self.lines.try_recv() {
            self.note(&line);
        }
        self.has_said(LAST_BANNER_LINE)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        // The process may have ended already; it is not reaped, so the id is still its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Ends it at once, like a crash.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end. Panics, after killing it, if it takes longer.
    pub fn wait_for_end(&mut self, patience: Duration) -> Ended {
        let status = wait_for("the end of the server", patience, || self.child.try_wait().unwrap());
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.note(&line);
        }
        Ended { status, stdout: self.printed.clone(), stderr: self.log() }
    }

    /// Its output on standard error so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The number of files and sockets that it has open.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.id())).map_or(0, Iterator::count)
    }

    /// A line of `/proc/PID/status`, in KiB.
    pub fn memory_kib(&self, line: &str) -> u64 {
        memory_kib_of(self.id(), line).expect("a figure in kB")
    }

    /// The resident memory in KiB.
    pub fn rss_kib(&self) -> u64 {
        self.memory_kib("VmRSS")
    }

    fn read_until(&mut self, start_of_line: &str) -> bool {
        while !self.has_said(start_of_line) {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.note(&line),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    panic!("the server says nothing for {PATIENCE:?}: {}\n{}", self.printed, self.log());
                }
            }
        }
        true
    }

    fn note(&mut self, line: &str) {
        self.printed.push_str(line);
        self.printed.push('\n');
    }

    fn has_said(&self, start_of_line: &str) -> bool {
        self.printed.lines().any(|line| line.trim_start().starts_with(start_of_line))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("standard error of the server: {}", self.log());
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

/// A server that serves.
pub struct Server {
    pub process: Process,
    /// The address for requests.
    pub xml: SocketAddr,
    /// The address of its health.
    pub http: SocketAddr,
    /// The address of the compatible interface at the root.
    pub compatible: Option<SocketAddr>,
    /// The address of FIX.
    pub fix: Option<SocketAddr>,
    /// The text that it printed at its start.
    pub banner: String,
    /// The time from the start of the process to the end of that text.
    pub started_in: Duration,
}

impl Server {
    /// Opens a connection.
    pub fn client(&self) -> Client {
        connect(self.xml)
    }

    /// Sends one request on a new connection.
    pub fn ask(&self, body: &str) -> String {
        self.client().ask(body)
    }

    /// Asks it to stop and waits until it has. Panics unless it ends well.
    pub fn stop(mut self) -> Ended {
        self.process.signal(Signal::TERM);
        let ended = self.process.wait_for_end(PATIENCE);
        assert!(ended.status.success(), "a stopped server ends well: {ended:?}");
        ended
    }

    /// Ends it like a crash.
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// The answer of `/ready`.
    pub fn readiness(&self) -> String {
        let mut stream = TcpStream::connect(self.http).unwrap();
        write!(stream, "GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The state of its data folder or database.
    pub fn state(&self) -> serde_json::Value {
        state_of(&self.process.kept)
    }
}

/// A connection to a server.
pub fn connect(xml: SocketAddr) -> Client {
    Client::connect(xml, PATIENCE).unwrap_or_else(|error| panic!("cannot connect to {xml}: {error}"))
}

/// A line of `/proc/PID/status` in KiB, of a running process.
pub fn memory_kib_of(process: u32, line: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

/// The output of `pricetime state` for a data folder or a database.
pub fn state_of(data: &Path) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .env_clear()
        .args(["state", "--format", "json"])
        .arg(data)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "pricetime state {}: {stderr}", data.display());
    serde_json::from_slice(&output.stdout).unwrap()
}
