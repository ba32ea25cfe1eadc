//! Facts about this process from the operating system, where it has them.

use std::fs::{read_dir, read_to_string};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// The resources of a process.
pub(crate) struct Process {
    /// Processor time, of program and kernel.
    pub(crate) cpu_seconds: f64,
    /// The time of its start since the Unix epoch.
    pub(crate) started_seconds: f64,
    pub(crate) resident_bytes: u64,
    pub(crate) open_files: usize,
    /// `None` without a limit.
    pub(crate) open_files_max: Option<u64>,
}

impl Process {
    /// Reads those of this process.
    pub(crate) fn look() -> Option<Process> {
        let stat = read_to_string("/proc/self/stat").ok()?;
        // The name before it, in brackets, may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields are counted from 1 in proc(5), where the state is the third.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let ticks = clock_ticks_per_second() as f64;
        Some(Process {
            cpu_seconds: (field(14)? + field(15)?) as f64 / ticks,
            started_seconds: booted()? + field(22)? as f64 / ticks,
            resident_bytes: field(24)? * page_size() as u64,
            open_files: read_dir("/proc/self/fd").ok()?.count(),
            open_files_max: getrlimit(Resource::Nofile).current,
        })
    }
}

/// Returns the time at which the machine was started, in seconds since the Unix epoch.
fn booted() -> Option<f64> {
    let stat = read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_about_this_process() {
        let process = Process::look().expect("a system with /proc");
        let now = crate::clock::now() as f64 / 1e6;
        assert!(process.started_seconds <= now + 1.0 && process.started_seconds > now - 24.0 * 3600.0);
        assert!(process.resident_bytes > 1 << 20 && process.cpu_seconds >= 0.0);
        let held = std::fs::File::open("/proc/self/stat").expect("a file");
        let more = Process::look().expect("a system with /proc");
        assert!(more.open_files >= 3, "{held:?}");
    }
}
