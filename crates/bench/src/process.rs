//! Other programs as processes: servers that are always ended, and clients that are waited for, each on its cores, with
//! the processor time that they use.

use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::on_cores;
use crate::{interrupt, processor};

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(5);
/// How often whoever waits for a client looks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// What is shown of what a program said.
const SAID_BYTES_MAX: usize = 1000;

/// A server. Ended when dropped.
pub struct Server {
    child: Child,
    log: PathBuf,
    stop_with: Signal,
}

impl Server {
    /// Starts it on these cores, with all that it says in the file `log`. Errors: the system's; a signal asked to stop.
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

    /// Processor time of it and its children so far.
    pub fn cpu(&self) -> Duration {
        processor::family(self.child.id())
    }

    /// All that it said.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until `ready` gives something. Errors: it ended, or takes too long, with what it said.
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

    /// Tells it to stop, and waits. Errors: how it ended otherwise.
    pub fn stop(mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(format!("the server ended by itself ({status}); it said: {}", self.said()));
        }
        self.tell_to_stop();
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && !interrupt::is_asked() {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the server ended with {status}; it said: {}", self.said())),
                _ => std::thread::sleep(GLANCE),
            }
        }
        // It was asked kindly.
        self.stop_with = Signal::KILL;
        Err(format!("the server did not stop within {} s and was killed", asked.elapsed().as_secs()))
    }

    fn tell_to_stop(&self) {
        // Fails where it has ended already.
        let _ = kill_process(Pid::from_child(&self.child), self.stop_with);
    }

    fn said(&self) -> String {
        end_of(&self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tell_to_stop();
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(GLANCE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client printed, and the processor time and the time that it took.
pub struct Finished {
    pub stdout: String,
    pub cpu: Duration,
    pub took: Duration,
}

/// Runs a client on these cores to its end. Errors: it failed, with what it said; a signal asked to stop, and it was ended.
pub fn finish(command: &mut Command, cores: &[usize]) -> Result<Finished, String> {
    interrupt::check()?;
    let program = command.get_program().to_string_lossy().into_owned();
    let (before, started) = (processor::of_ended_children(), Instant::now());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command, cores)?;
    let [stdout, stderr] = read_to_end(&mut child);
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    let took = started.elapsed();
    interrupt::check()?;
    if !status.success() {
        return Err(format!("{program} failed ({status}); it said: {}", end_of(&(stdout + &stderr))));
    }
    Ok(Finished { stdout, cpu: processor::of_ended_children().saturating_sub(before), took })
}

/// What a client prints, until it closes its output, as its end does. Ends it when a signal asks to stop.
fn read_to_end(child: &mut Child) -> [String; 2] {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (done, closed) = channel();
    std::thread::scope(|scope| {
        let stderr = scope.spawn(move || text_of(stderr));
        let stdout = scope.spawn(move || {
            let text = text_of(stdout);
            // Somebody waits for it below.
            let _ = done.send(());
            text
        });
        while closed.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if interrupt::is_asked() {
                // It is not waited for yet, so the id is still its own.
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
            }
        }
        [stdout, stderr].map(|text| text.join().unwrap_or_default())
    })
}

/// Of a pipe that is read until it is closed.
fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is missing in what is shown.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A port that nobody has. Somebody else may take it before it is used: whoever uses it tries again.
pub fn free_port() -> Result<u16, String> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

/// Where a program is, as the shell finds it.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

pub fn is_program(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// A child runs where the thread that starts it does.
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
