//! Ctrl-C and SIGTERM during measurements of `pricetime-bench`: its children end, its data goes, finished runs stay.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::PATIENCE;
use crate::common::bench::binary;
use crate::common::folder::Folder;
use crate::common::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A started `pricetime-bench`. It is killed when dropped.
struct Bench {
    child: Child,
    folder: PathBuf,
}

impl Bench {
    /// Starts it in this folder, where it puts everything.
    fn start(folder: &Folder, words: &str) -> Bench {
        // PostgreSQL runs as another user when the tests run as root, and must reach its data.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let stderr = File::create(folder.path().join("stderr")).unwrap();
        let child = Command::new(binary())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(folder.path())
            .args(words.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        Bench { child, folder: folder.path().canonicalize().unwrap() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until one of the processes in its folder has this word on its command line.
    fn wait_for_process(&mut self, word: &str) -> Pid {
        wait_for(&format!("a process with {word}"), PATIENCE, || {
            assert_eq!(self.child.try_wait().unwrap(), None, "it ended before there was a process with {word}");
            let mut working = self.processes().into_iter();
            working.find(|(_, words)| words.iter().any(|found| found.contains(word))).map(|(process, _)| process)
        })
    }

    /// The other processes that run in its folder, with their command lines.
    fn processes(&self) -> Vec<(Pid, Vec<String>)> {
        let own = self.child.id() as i32;
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let found = numbers.filter(|number| *number != own).filter_map(|number| {
            // The process may end meanwhile.
            let runs_in = std::fs::read_link(format!("/proc/{number}/cwd")).ok()?;
            let line = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
            let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            runs_in.starts_with(&self.folder).then(|| (Pid::from_raw(number).unwrap(), words))
        });
        found.collect()
    }

    /// The exit code and the text on standard error.
    fn ended(&mut self) -> (Option<i32>, String) {
        let status = wait_for("the end of the benchmark", PATIENCE, || self.child.try_wait().unwrap());
        (status.code(), std::fs::read_to_string(self.folder.join("stderr")).unwrap())
    }

    fn assert_nothing_runs(&self) {
        assert_eq!(self.processes(), [], "nothing that it started is left");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names in a folder; none where there is no folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits until a server of the benchmark says in its log below this folder that it serves.
fn wait_for_server(parent: &Path) {
    wait_until("a server that serves", PATIENCE, || {
        names(parent).iter().any(|run| {
            std::fs::read_to_string(parent.join(run).join("data.log")).is_ok_and(|log| log.contains("try it:"))
        })
    });
}

fn report(folder: &Folder, results: &str) -> Output {
    let mut command = Command::new(binary());
    command.env_clear().current_dir(folder.path()).args(["report", results]).output().unwrap()
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[test]
fn an_interrupted_run_ends_its_server_and_removes_its_data() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = Folder::new("interrupted-run");
        let parent = folder.path().join("parent");
        let mut bench = Bench::start(&folder, "run -z 30s --warmup 0 --json record.json --data-parent parent");
        wait_for_server(&parent);
        bench.wait_for_process("serve");
        bench.signal(signal);
        let (ended, stderr) = bench.ended();
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(stderr.contains("interrupted by SIG"), "{stderr}");
        bench.assert_nothing_runs();
        assert_eq!(names(&parent), [""; 0], "the data is gone");
        assert_eq!(names(folder.path()), ["parent", "stderr"], "a run that did not end has no record");
    }
}

#[test]
fn an_interrupted_live_benchmark_ends_its_server_and_removes_its_data() {
    for only in ["closed", "trades", "rest"] {
        let folder = Folder::new("interrupted-live");
        let parent = folder.path().join("results/work");
        let words = format!("live --rounds 1 --seconds 60 --only {only} --subscribers 2 --accounts 100 --out results");
        let mut bench = Bench::start(&folder, &words);
        wait_for_server(&parent);
        bench.signal(Signal::INT);
        let (ended, stderr) = bench.ended();
        assert_eq!(ended, Some(130), "{only}: {stderr}");
        assert!(stderr.contains("interrupted by SIGINT"), "{only}: {stderr}");
        bench.assert_nothing_runs();
        assert_eq!(names(folder.path()), ["stderr"], "{only}: the data is gone, and what did not end has no record");
    }
}

#[test]
fn of_several_runs_those_that_ended_are_kept() {
    let folder = Folder::new("interrupted-runs");
    let mut bench =
        Bench::start(&folder, "run -n 500 -c 5 --warmup 0 --workload create --runs 1000 --json records.json");
    // The folders of runs are numbered from 0: when the third is there, two runs have ended.
    let third = format!("run-{}-2", bench.child.id());
    let parent = folder.path().join("target/bench");
    wait_until("the third run", PATIENCE, || names(&parent).contains(&third));
    bench.signal(Signal::INT);
    let (ended, stderr) = bench.ended();
    assert_eq!(ended, Some(130), "{stderr}");
    let records: Value = serde_json::from_slice(&std::fs::read(folder.path().join("records.json")).unwrap()).unwrap();
    let made = records.as_array().unwrap().len();
    assert!(made >= 2 && stderr.contains(&format!("{made} of 1000 runs were made")), "{made}: {stderr}");
    bench.assert_nothing_runs();
    assert_eq!(names(folder.path()), ["records.json", "stderr"]);
}

#[test]
fn an_interrupted_sweep_keeps_its_runs_and_can_be_reported() {
    let folder = Folder::new("interrupted-sweep");
    let words = "sweep --axis connections --values 1,4 --runs 50 -z 100ms --warmup 0 --accounts 50 --out results";
    let mut bench = Bench::start(&folder, words);
    let results = folder.path().join("results");
    wait_until("two runs", PATIENCE, || names(&results.join("runs")).contains(&"0002.json".to_string()));
    bench.signal(Signal::TERM);
    let (ended, stderr) = bench.ended();
    assert_eq!(ended, Some(143), "{stderr}");
    let experiment: Value = serde_json::from_slice(&std::fs::read(results.join("experiment.json")).unwrap()).unwrap();
    let made = experiment["runs"].as_array().unwrap().len();
    assert!(stderr.contains(&format!("interrupted by SIGTERM (results holds {made} of 100 runs")), "{made}: {stderr}");
    assert_eq!(names(&results.join("runs")).len(), made, "each of them is there");
    bench.assert_nothing_runs();
    assert_eq!(names(folder.path()), ["results", "stderr"], "no data is left");
    let reported = report(&folder, "results");
    assert!(reported.status.success(), "{}", String::from_utf8_lossy(&reported.stderr));
    let page = std::fs::read_to_string(results.join("report/report.html")).unwrap();
    assert!(page.contains(&format!("ended early: {made} of 100 runs")));
}

#[test]
fn an_interrupted_comparison_ends_servers_and_clients_of_others_too() {
    let check = |words: &str, process: &str| {
        let folder = Folder::new("interrupted-compare");
        let mut bench = Bench::start(&folder, &format!("compare --modes single --out results {words}"));
        bench.wait_for_process(process);
        bench.signal(Signal::INT);
        let (ended, stderr) = bench.ended();
        assert_eq!(ended, Some(130), "{stderr}");
        assert!(stderr.contains("interrupted by SIGINT"), "{stderr}");
        bench.assert_nothing_runs();
        assert!(!folder.path().join("results/work").exists(), "no data is left");
        stderr
    };
    // The server is the first that is measured.
    let stderr = check("--rounds 1 --only echo --seconds 60", "serve");
    assert!(stderr.contains("none of 3 runs was made"), "{stderr}");
    for (other, client, needed) in [("redis", "redis-benchmark", "redis-server"), ("postgres", "pgbench", "pgbench")] {
        match is_installed(needed) {
            // A client that is over before it is seen comes again in the next round.
            true => drop(check(&format!("--rounds 100 --only {other} --seconds 1"), client)),
            false => println!("{needed} is not installed: what it leaves behind is not tested"),
        }
    }
}

/// A stopped echo does not end when told to, and the comparison waits for it.
#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new("interrupted-twice");
    let mut bench = Bench::start(&folder, "compare --only echo --modes one-core --rounds 1 --seconds 8 --out results");
    let echo = bench.wait_for_process("requests");
    kill_process(echo, Signal::STOP).unwrap();
    // Before it has stopped, the signal to end would be the first that it handles.
    wait_until("the echo to have halted", PATIENCE, || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", echo.as_raw_nonzero())).unwrap();
        status.lines().any(|line| line.starts_with("State:\tT"))
    });
    let status = wait_for("its end", PATIENCE, || {
        bench.signal(Signal::INT);
        bench.child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(130));
    let left: Vec<Pid> = bench.processes().into_iter().map(|(process, _)| process).collect();
    assert_eq!(left, [echo], "it no longer waited for the echo");
    kill_process(echo, Signal::KILL).unwrap();
}
