//! The facts of the machine that matter for figures, and the time of day.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use procfs::{CpuInfo, Current, Meminfo};

use super::disk;
use crate::records::Machine;

/// Describes it, with the disk that holds `data` if there is such a folder.
pub fn describe(data: Option<&Path>) -> Machine {
    let processors = CpuInfo::current().ok();
    Machine {
        cpu: processors.as_ref().and_then(|all| all.model_name(0)).unwrap_or(std::env::consts::ARCH).to_string(),
        cores: processors.as_ref().map_or(1, |all| all.num_cores() as u64),
        memory_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
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

/// Returns the commit of the repository that holds the current directory, if it is this program's.
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

/// Returns the present time in UTC, as RFC 3339.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
