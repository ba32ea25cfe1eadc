//! Other programs as processes: servers that are always ended, and clients that are waited for, each on its cores, with
//! the processor time that they use.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::processor::on_cores;
use crate::machine::{interrupt, processor};

/// Time that a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(5);
/// Ports on which a server is tried.
const STARTS_MAX: usize = 5;
/// Bytes of a program's output that are shown.
const SAID_BYTES_MAX: usize = 1000;

/// A server. Ended when dropped.
pub struct Server {
    child: Child,
    log: PathBuf,
    stop_with: Signal,
}

impl Server {
    /// Starts it on these cores, with its output in the file `log`. Errors: the system's; a signal asked to stop.
    pub fn start(command: &mut Command, cores: &[usize], log: PathBuf, stop_with: Signal) -> Result<Server, String> {
        interrupt::check()?;
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let file = File::create(&log).map_err(failed)?;
        command.stdin(Stdio::null()).stderr(file.try_clone().map_err(failed)?).stdout(file);
        let child = spawn(command, cores)?;
        Ok(Server { child, log, stop_with })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time of it and its children so far.
    pub fn cpu(&self) -> Duration {
        processor::family(self.child.id())
    }

    /// Returns all its output.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until `ready` returns something. Errors: it ended, or takes too long, with its output.
    pub fn await_ready<T>(&mut self, mut ready: impl FnMut(&Server) -> Option<T>) -> Result<T, String> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            interrupt::check()?;
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended {
                return Err(format!("the server did not start; it said: {}", self.said()));
            }
            if let Some(found) = ready(self) {
                return Ok(found);
            }
            std::thread::sleep(GLANCE);
        }
        Err(format!("the server did not start within {} s; it said: {}", PATIENCE.as_secs(), self.said()))
    }

    /// Stops it, and waits. Errors: how it ended otherwise.
    pub fn stop(mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("the server ended by itself ({status}); it said: {}", self.said()));
        }
        let asked = Instant::now();
        match self.end(interrupt::is_asked) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("the server ended with {status}; it said: {}", self.said())),
            None => {
                // The next signal is not polite any more.
                self.stop_with = Signal::KILL;
                Err(format!("the server did not stop within {} s and was killed", asked.elapsed().as_secs()))
            }
        }
    }

    /// Signals it to stop, and waits as long as there is patience. Returns its status, if it ended.
    fn end(&mut self, is_hurried: fn() -> bool) -> Option<ExitStatus> {
        // The signal fails where the process has ended already.
        let _ = kill_process(Pid::from_child(&self.child), self.stop_with);
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && !is_hurried() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(GLANCE);
        }
        None
    }

    fn said(&self) -> String {
        end_of(&self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(|| false);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The output of a client, and the processor time and the time that it took.
pub struct Finished {
    pub stdout: String,
    pub cpu: Duration,
    pub took: Duration,
}

impl Finished {
    /// Returns the part of a core that it used.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.took.as_secs_f64()
    }
}

/// Runs a client on these cores to its end. Errors: it failed, with its output; a signal asked to stop, and it was
/// ended.
pub fn finish(command: &mut Command, cores: &[usize]) -> Result<Finished, String> {
    interrupt::check()?;
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let (before, started) = (processor::of_ended_children(), Instant::now());
    let [mut stdout, mut stderr] = [said_in_memory().map_err(failed)?, said_in_memory().map_err(failed)?];
    command.stdin(Stdio::null());
    command.stdout(stdout.try_clone().map_err(failed)?).stderr(stderr.try_clone().map_err(failed)?);
    let mut child = spawn(command, cores)?;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if interrupt::is_asked() => {
                // The process is not waited for yet, so the id is still its own.
                let _ = kill_process(Pid::from_child(&child), Signal::TERM);
                break child.wait().map_err(failed)?;
            }
            None => std::thread::sleep(GLANCE),
        }
    };
    let took = started.elapsed();
    interrupt::check()?;
    let [stdout, stderr] = [text_of(&mut stdout), text_of(&mut stderr)];
    if !status.success() {
        return Err(format!("{program} failed ({status}); it said: {}", end_of(&(stdout + &stderr))));
    }
    Ok(Finished { stdout, cpu: processor::of_ended_children().saturating_sub(before), took })
}

/// Returns a file for a client's output, however long, that needs no reader meanwhile.
fn said_in_memory() -> std::io::Result<File> {
    Ok(rustix::fs::memfd_create("said", MemfdFlags::CLOEXEC)?.into())
}

fn text_of(said: &mut File) -> String {
    let mut bytes = Vec::new();
    // Output that cannot be read is missing in the message.
    let _ = said.rewind().and_then(|()| said.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Starts a server, as `prepare` sets it up for a free port, and waits until it is ready there. Another program may
/// take the port first: then the server ends, and is started again on another port. Errors: what it said the last time.
pub fn start_on_free_port(
    cores: &[usize],
    stop_with: Signal,
    mut prepare: impl FnMut(u16) -> Result<(Command, PathBuf), String>,
    ready: impl Fn(&Server, u16) -> bool,
) -> Result<(Server, u16), String> {
    let mut last = String::new();
    for _ in 0..STARTS_MAX {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = address.map_err(|error| format!("no free port: {error}"))?.port();
        let (mut command, log) = prepare(port)?;
        let mut server = Server::start(&mut command, cores, log, stop_with)?;
        match server.await_ready(|server| ready(server, port).then_some(())) {
            Ok(()) => return Ok((server, port)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns free ports, for servers that have to know each other's: another program may still take one before they do.
pub fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let failed = |error: std::io::Error| format!("no free port: {error}");
    let listen = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed);
    let listeners = (0..count).map(listen).collect::<Result<Vec<_>, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr().map_err(failed)?.port())).collect()
}

/// Finds a program as the shell does.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// Returns the word of a program's version output that `read` finds.
pub fn version(program: &Path, read: impl Fn(&str) -> Option<&str>) -> String {
    let output = Command::new(program).arg("--version").output();
    let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    read(&printed).unwrap_or("of unknown version").to_string()
}

pub fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Starts a child on these cores: it runs where the thread that starts it does.
fn spawn(command: &mut Command, cores: &[usize]) -> Result<Child, String> {
    let child = on_cores(cores, || command.spawn())?;
    child.map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))
}

fn end_of(text: &str) -> String {
    let mut from = text.len().saturating_sub(SAID_BYTES_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].trim().to_string()
}
