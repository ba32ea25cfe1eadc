//! What the machine is, as far as it matters for figures; the time of day; and which cores a thread runs on.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::disk;
use crate::load;
use crate::record::Machine;

/// Describes it, with the disk that holds `data` if there is such a folder.
pub fn describe(data: Option<&Path>) -> Machine {
    Machine {
        cpu: value_in("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_string()),
        cores: std::fs::read_to_string("/proc/cpuinfo")
            .map_or(1, |text| text.lines().filter(|line| line.starts_with("processor")).count().max(1) as u64),
        memory_bytes: value_in("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024),
        kernel: format!("Linux {}", line_of("/proc/sys/kernel/osrelease").unwrap_or_default()),
        disk: data.map_or_else(|| "not known: the server is not ours".to_string(), disk::describe),
        fsync_us: data.and_then(disk::sync_us),
        congestion_control: line_of("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default(),
        somaxconn: line_of("/proc/sys/net/core/somaxconn").and_then(|text| text.parse().ok()).unwrap_or(0),
        commit: commit(),
        compiler: env!("BENCH_COMPILER").to_string(),
    }
}

fn line_of(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// The value of `name : value`.
fn value_in(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim().to_string())
}

/// Of the repository that the current directory is in, if it is this program's.
fn commit() -> Option<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_string())
    };
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if !Path::new(&root).join("crates/bench/Cargo.toml").exists() {
        return None;
    }
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    Some(if changed { commit + "+" } else { commit })
}

/// Now, in UTC, as RFC 3339.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    rfc3339(seconds)
}

fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March, counted from the year 0, so that a leap day is the last of its year.
    let day = days + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The cores that this process may use.
pub fn cores_allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// Does something on these cores (any when none are given), and returns to where the thread ran. Errors: cores that there
/// are not.
pub fn on_cores<T>(cores: &[usize], work: impl FnOnce() -> T) -> Result<T, String> {
    if cores.is_empty() {
        return Ok(work());
    }
    let before = sched_getaffinity(None).map_err(|error| format!("cannot tell the cores of this thread: {error}"))?;
    load::run_on(cores)?;
    let done = work();
    sched_setaffinity(None, &before).map_err(|error| format!("cannot return to the cores of before: {error}"))?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(rfc3339(1_763_690_000), "2025-11-21T01:53:20Z");
        assert_eq!(rfc3339(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn work_runs_on_the_cores_given_and_the_thread_returns() {
        let before = cores_allowed();
        let last = *before.last().expect("a core");
        assert_eq!(on_cores(&[last], cores_allowed), Ok(vec![last]));
        assert_eq!(cores_allowed(), before);
        assert!(on_cores(&[1023], || ()).is_err_and(|error| error.contains("1023")));
    }
}
