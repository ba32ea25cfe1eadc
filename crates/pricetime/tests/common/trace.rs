//! A trace of the server's system calls by `strace`, and the rule that it must keep: a reply is written to its socket
//! only after a successful sync of the file that holds its command.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::wait::wait_for;

/// Names what to install if it is missing, instead of passing without a check.
pub fn require_strace() {
    let found = Command::new("strace").arg("-V").output();
    assert!(found.is_ok(), "this test needs strace: install the package `strace` (apt-get install strace)");
}

/// The words that run a program under `strace`, which writes to `output`. The program is the started process; the
/// tracer is its grandchild (-D).
pub fn strace<'a>(output: &'a str, expressions: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["strace", "-D", "-f", "-ttt", "-xx", "-s", "10000000", "-o", output];
    words.extend(expressions.iter().flat_map(|expression| ["-e", *expression]));
    words
}

/// Runs a command of the program under `strace`, and returns the trace of these calls, with the paths of files.
pub fn traced(trace: &Path, calls: &str, words: &[&str], folders: &[&Path]) -> String {
    require_strace();
    let output = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o"])
        .arg(trace)
        .arg(env!("CARGO_BIN_EXE_pricetime"))
        .args(words)
        .args(folders)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(trace).unwrap()
}

/// One system call. Its places are lines of the trace, which are in the order of time.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    /// The first argument, which is a file descriptor.
    pub file: i64,
    /// The written bytes, if any.
    pub bytes: Vec<u8>,
    pub entered: usize,
    /// The line where it returned; none when the process ended first.
    pub returned: Option<usize>,
    /// The result; `-1` after an error.
    pub result: i64,
    pub error: Option<String>,
}

/// All system calls of a process, in the order in which they were entered.
pub struct Trace(Vec<Call>);

impl Trace {
    /// Reads the trace of a process that has ended.
    pub fn read(path: &Path, process: u32) -> Trace {
        let end = format!("{process} ");
        let text = wait_for("the end of the trace", Duration::from_secs(20), || {
            let text = std::fs::read_to_string(path).ok()?;
            let ended = |line: &str| line.starts_with(&end) && line.ends_with("+++") && line.contains(" +++ ");
            text.lines().rev().take(50).any(ended).then_some(text)
        });
        let mut calls: Vec<Call> = Vec::new();
        let mut unfinished: Vec<(&str, usize)> = Vec::new();
        for (place, line) in text.lines().enumerate() {
            // A line has the thread, the time, and the call.
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let Some((_, what)) = rest.trim_start().split_once(' ') else { continue };
            if let Some(resumed) = what.strip_prefix("<... ") {
                let Some(at) = unfinished.iter().position(|(of, _)| *of == thread) else { continue };
                let (_, call) = unfinished.swap_remove(at);
                calls[call].finish(place, resumed);
            } else if let Some((name, rest)) = what.split_once('(').filter(|(name, _)| is_name(name)) {
                let file = rest.split([',', ')', ' ', '<']).next().and_then(|file| file.parse().ok()).unwrap_or(-1);
                let mut call = Call {
                    name: name.to_string(),
                    file,
                    bytes: hex_bytes(rest),
                    entered: place,
                    returned: None,
                    result: 0,
                    error: None,
                };
                if rest.ends_with("<unfinished ...>") {
                    unfinished.retain(|(of, _)| *of != thread);
                    unfinished.push((thread, calls.len()));
                } else {
                    call.finish(place, rest);
                }
                calls.push(call);
            }
        }
        Trace(calls)
    }

    /// The calls of these names.
    pub fn calls<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Call> {
        self.0.iter().filter(move |call| names.contains(&call.name.as_str()))
    }

    /// Checks every acknowledgement that left through a socket against the rule; returns the number of them. Errors:
    /// the first that left too early.
    pub fn check(&self, asked: &[Acknowledged]) -> Result<usize, String> {
        let sends: Vec<&Call> = self.calls(&["sendto", "sendmsg", "write", "writev"]).collect();
        let writes: Vec<&Call> = self.calls(&["pwrite64"]).collect();
        let syncs: Vec<&Call> = self.calls(&["fdatasync", "fsync"]).filter(|sync| sync.is_success()).collect();
        let mut checked = 0;
        for Acknowledged { told, command } in asked {
            let sent = sends.iter().find(|send| contains(&send.bytes, told.as_bytes()));
            let Some(sent) = sent else { continue };
            let mut stored = writes.iter().filter(|write| contains(&write.bytes, command));
            let Some(stored) = stored.find(|write| write.is_success()) else {
                return Err(format!("{told} was sent, and its command was never written"));
            };
            let Some(written) = stored.returned else { return Err(format!("{told}: its command's write did not end")) };
            let covering = syncs.iter().find(|sync| {
                sync.file == stored.file
                    && sync.entered > written
                    && sync.returned.is_some_and(|end| end < sent.entered)
            });
            if covering.is_none() {
                return Err(format!(
                    "{told} was sent at line {}; its command was written at line {written}, and no sync of file {} ended between",
                    sent.entered + 1,
                    stored.file
                ));
            }
            checked += 1;
        }
        Ok(checked)
    }
}

/// A text that stands in one reply only, and the command that it acknowledges, as the journal writes it.
#[derive(Clone, Debug)]
pub struct Acknowledged {
    pub told: String,
    pub command: Vec<u8>,
}

impl Call {
    fn finish(&mut self, place: usize, rest: &str) {
        let Some((_, result)) = rest.rsplit_once(" = ") else { return };
        let mut words = result.split(' ');
        let Some(number) = words.next().and_then(|number| number.parse().ok()) else { return };
        self.returned = Some(place);
        self.result = number;
        self.error = (number < 0).then(|| words.next().unwrap_or("?").to_string());
    }

    fn is_success(&self) -> bool {
        self.returned.is_some() && self.error.is_none()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// All strings of the arguments, which -xx writes as `\x41\x42`.
fn hex_bytes(arguments: &str) -> Vec<u8> {
    let strings = arguments.split('"').skip(1).step_by(2);
    let codes = strings.flat_map(|string| string.split("\\x").skip(1));
    codes.filter_map(|code| u8::from_str_radix(code.get(..2)?, 16).ok()).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
