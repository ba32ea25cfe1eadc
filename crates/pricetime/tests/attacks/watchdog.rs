//! Watches a server under attack: its peak memory, and that neither it nor the attack goes on without end. It reads the
//! kernel's own record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::attack::{Limits, MIB};
use crate::common::server::{Process, memory_kib_of};

/// The memory beyond its limit at which a server is killed: so much that the figure is worth printing, so little that
/// the machine goes on.
const BEYOND: u64 = 512 * MIB;

pub struct Watchdog {
    process: u32,
    before_kib: u64,
    stop: Arc<AtomicBool>,
    bitten: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Resets the process's peak memory, and watches it from now on.
    pub fn start(process: &Process, limits: Limits) -> Watchdog {
        let process = process.id();
        std::fs::write(format!("/proc/{process}/clear_refs"), "5").unwrap();
        let before_kib = memory_kib_of(process, "VmRSS").expect("a server that serves");
        let (stop, bitten) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (stopped, why) = (stop.clone(), bitten.clone());
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                let grown = memory_kib_of(process, "VmRSS").unwrap_or(0).saturating_sub(before_kib) * 1024;
                let fault = if grown > limits.memory + BEYOND {
                    Some(format!("its memory grew by {} MiB; at most {}", grown / MIB, limits.memory / MIB))
                } else {
                    (began.elapsed() > limits.time).then(|| format!("the attack took longer than {:?}", limits.time))
                };
                if let Some(fault) = fault {
                    *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                    let _ = kill_process(Pid::from_raw(process as i32).unwrap(), Signal::KILL);
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Watchdog { process, before_kib, stop, bitten, thread: Some(thread) }
    }

    /// The most bytes by which the resident memory has grown.
    pub fn grown_bytes_max(&self) -> u64 {
        let peak_kib = memory_kib_of(self.process, "VmHWM").expect("a server that still runs");
        peak_kib.saturating_sub(self.before_kib) * 1024
    }

    /// The reason why it has killed the server.
    pub fn bitten(&self) -> Option<String> {
        self.bitten.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the watch; returns the most bytes by which memory has grown. Panics if the server was killed.
    pub fn end(self) -> u64 {
        if let Some(fault) = self.bitten() {
            panic!("the server was killed: {fault}");
        }
        self.grown_bytes_max()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread holds nothing, and only needs to end.
            let _ = thread.join();
        }
    }
}
