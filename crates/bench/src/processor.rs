//! Processor time of processes, and how busy the machine is, from `/proc`.

use std::fs;
use std::time::Duration;

/// The unit of `/proc/*/stat`, the same on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// Fields of `/proc/PID/stat` behind the name.
const PARENT: usize = 1;
/// User and system time of a process.
const OWN: [usize; 2] = [11, 12];
/// Of its children that have ended and were waited for.
const OF_ENDED_CHILDREN: [usize; 2] = [13, 14];

/// Processor time of a process and its children, ended or not.
pub fn family(process: u32) -> Duration {
    let Some(parent) = fields_of(&process.to_string()) else { return Duration::ZERO };
    let mut time = sum(&parent, OWN) + sum(&parent, OF_ENDED_CHILDREN);
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else { continue };
        if let Some(fields) = fields_of(name).filter(|fields| fields.get(PARENT) == Some(&u64::from(process))) {
            time += sum(&fields, OWN);
        }
    }
    time
}

/// Processor time of one process, without its children; none where it is gone.
pub fn of(process: u32) -> Option<Duration> {
    fields_of(&process.to_string()).map(|fields| sum(&fields, OWN))
}

/// Processor time of this thread, by the tick.
pub fn of_thread() -> Duration {
    fields_of("thread-self").map_or(Duration::ZERO, |fields| sum(&fields, OWN))
}

/// Processor time of all children of this process that have ended.
pub fn of_ended_children() -> Duration {
    fields_of("self").map_or(Duration::ZERO, |fields| sum(&fields, OF_ENDED_CHILDREN))
}

/// The part of all cores that is in use, in percent, over a moment.
pub fn busy_percent(moment: Duration) -> f64 {
    let before = ticks();
    std::thread::sleep(moment);
    match (before, ticks()) {
        (Some(before), Some(after)) => busy_between(before, after),
        _ => 0.0,
    }
}

/// All and idle ticks of the machine so far.
fn ticks() -> Option<[u64; 2]> {
    read_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

fn read_ticks(text: &str) -> Option<[u64; 2]> {
    // User, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen; what follows is counted twice.
    let times: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).take(8).map_while(|field| field.parse().ok()).collect();
    Some([times.iter().sum(), times.get(3)? + times.get(4)?])
}

fn busy_between(before: [u64; 2], after: [u64; 2]) -> f64 {
    let [all, idle] = [0, 1].map(|at| after[at].saturating_sub(before[at]) as f64);
    if all > 0.0 { (all - idle).max(0.0) / all * 100.0 } else { 0.0 }
}

fn fields_of(process: &str) -> Option<Vec<u64>> {
    Some(read_fields(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?))
}

/// The fields behind the name, which may hold anything; those that are no numbers of this kind count as zero.
fn read_fields(stat: &str) -> Vec<u64> {
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    behind.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect()
}

fn sum(fields: &[u64], which: [usize; 2]) -> Duration {
    let ticks: u64 = which.iter().filter_map(|&at| fields.get(at)).sum();
    TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 200 0 0 30 12 5 3 20 0 1 0 100 1 1";
        let fields = read_fields(stat);
        assert_eq!(fields[PARENT], 1);
        assert_eq!(sum(&fields, OWN), Duration::from_millis(420));
        assert_eq!(sum(&fields, OF_ENDED_CHILDREN), Duration::from_millis(80));
    }

    #[test]
    fn waiting_for_a_disk_is_idle_and_stolen_time_is_not() {
        let before = read_ticks("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0").expect("ticks");
        let after = read_ticks("cpu  10 0 10 60 10 0 0 10 99 99\ncpu0").expect("ticks");
        assert_eq!(busy_between(before, after), 30.0);
        assert_eq!(busy_between(before, before), 0.0);
    }
}
