//! Processor time and memory of processes, how busy the machine is, and which cores a thread runs on.

use std::time::Duration;

use procfs::process::{Process, Stat, all_processes};
use procfs::{CpuTime, CurrentSI, KernelStats};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The unit of `/proc`, the same on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// Returns the processor time of a process and its children, ended or not.
pub fn family(process: u32) -> Duration {
    let Some(parent) = stat(process) else { return Duration::ZERO };
    let is_child = |stat: &Stat| stat.ppid as u32 == process;
    let all = all_processes().into_iter().flatten().flatten();
    let children: Duration =
        all.filter_map(|process| process.stat().ok()).filter(is_child).map(|stat| own(&stat)).sum();
    own(&parent) + of_ended(&parent) + children
}

/// Returns the processor time of one process, without its children; `None` where it is gone.
pub fn of(process: u32) -> Option<Duration> {
    stat(process).map(|stat| own(&stat))
}

/// Returns the most memory that a process had, in bytes.
pub fn memory_peak(process: u32) -> Option<u64> {
    let status = Process::new(process as i32).and_then(|process| process.status()).ok()?;
    status.vmhwm.map(|kib| kib * 1024)
}

/// Returns the processor time of all children of this process that have ended.
pub fn of_ended_children() -> Duration {
    stat(std::process::id()).map_or(Duration::ZERO, |stat| of_ended(&stat))
}

fn stat(process: u32) -> Option<Stat> {
    Process::new(process as i32).and_then(|process| process.stat()).ok()
}

fn own(stat: &Stat) -> Duration {
    ticks(stat.utime + stat.stime)
}

/// Returns the processor time of children that have ended and were waited for.
fn of_ended(stat: &Stat) -> Duration {
    ticks((stat.cutime + stat.cstime).max(0) as u64)
}

fn ticks(count: u64) -> Duration {
    TICK * u32::try_from(count).unwrap_or(u32::MAX)
}

/// Measures the part of all cores that is in use, in percent, over a moment.
pub fn busy_percent(moment: Duration) -> f64 {
    let look = || KernelStats::current().map(|stats| all_and_idle(&stats.total));
    let before = look();
    std::thread::sleep(moment);
    match (before, look()) {
        (Ok(before), Ok(after)) => busy_between(before, after),
        _ => 0.0,
    }
}

/// Returns the machine's ticks so far, all and idle ones. A core that waits for a disk is idle, one that a neighbour
/// took is not.
fn all_and_idle(time: &CpuTime) -> [u64; 2] {
    let idle = time.idle + time.iowait.unwrap_or(0);
    let interrupts = time.irq.unwrap_or(0) + time.softirq.unwrap_or(0);
    [time.user + time.nice + time.system + interrupts + time.steal.unwrap_or(0) + idle, idle]
}

fn busy_between(before: [u64; 2], after: [u64; 2]) -> f64 {
    let [all, idle] = [0, 1].map(|at| after[at].saturating_sub(before[at]) as f64);
    if all > 0.0 { (all - idle).max(0.0) / all * 100.0 } else { 0.0 }
}

/// Binds the calling thread, and what it starts, to these cores.
pub fn run_on(cores: &[usize]) -> Result<(), String> {
    let mut set = CpuSet::new();
    for core in cores {
        if *core >= CpuSet::MAX_CPU {
            return Err(format!("there is no core {core}"));
        }
        set.set(*core);
    }
    sched_setaffinity(None, &set)
        .map_err(|error| format!("cannot run on cores {cores:?}: {error}; choose some that `taskset -cp $$` lists"))
}

/// Returns the cores that this process may use.
pub fn cores_allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// Runs `work` on these cores (any when none are given), and returns to where the thread ran. Errors: cores that do not
/// exist.
pub fn on_cores<T>(cores: &[usize], work: impl FnOnce() -> T) -> Result<T, String> {
    if cores.is_empty() {
        return Ok(work());
    }
    let before = sched_getaffinity(None).map_err(|error| format!("cannot tell the cores of this thread: {error}"))?;
    run_on(cores)?;
    let done = work();
    sched_setaffinity(None, &before).map_err(|error| format!("cannot return to the cores of before: {error}"))?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use procfs::{FromBufReadSI, LocalSystemInfo};

    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle_and_stolen_time_is_not() {
        let total = |times: &str| {
            let text = format!("cpu  {times}\ncpu0 {times}\nctxt 1\nbtime 1\nprocesses 1\n");
            let stats = KernelStats::from_buf_read(text.as_bytes(), &LocalSystemInfo).expect("figures");
            all_and_idle(&stats.total)
        };
        let [before, after] = [total("0 0 0 0 0 0 0 0 0 0"), total("10 0 10 60 10 0 0 10 99 99")];
        assert_eq!((busy_between(before, after), busy_between(before, before)), (30.0, 0.0));
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
