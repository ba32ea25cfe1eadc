//! A node as a process, and its own proxies to the servers of the log.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::workload::Random;
use rustix::process::Signal;

use super::log::{Log, SERVERS};
use crate::common::proxy::{Proxy, Way};
use crate::common::server::{Ended, Launch, PATIENCE, Server, state_of};
use crate::common::small_disk::SmallDisk;

/// The settings: nodes refuse soon rather than wait long, and every file is filled soon.
const SETTINGS: &str = "--store-patience 1s --segment-size 64KiB --snapshot-every 2000 --disk-low 0";

pub struct Node {
    number: usize,
    /// The running server; none while it was killed.
    pub server: Option<Server>,
    pub ways: [Proxy; SERVERS],
    url: String,
    pub data: PathBuf,
    pub disk: Option<SmallDisk>,
    /// Whether it may have ended, because its disk was full.
    pub may_end: bool,
    /// The seconds by which its clock has jumped, when it was started again.
    pub jump: i64,
    clock: PathBuf,
}

/// The journal's end before an episode: a start has to read everything behind it.
pub type Mark = (PathBuf, usize);

impl Node {
    /// Starts the node, on a disk of its own if it can have one.
    pub fn start(folder: &Path, number: usize, log: &Log, has_disk: bool) -> Node {
        let ways: [Proxy; SERVERS] = std::array::from_fn(|at| Proxy::to(log.ports[at]));
        let url = log.url(&ways.each_ref().map(|way| way.port));
        let disk = if has_disk { SmallDisk::mount("32m") } else { None };
        let data = disk.as_ref().map_or(folder, SmallDisk::path).join(format!("node-{number}"));
        let clock = folder.join("clock.so");
        let mut node = Node { number, server: None, ways, url, data, disk, may_end: false, jump: 0, clock };
        node.server = Some(node.launch().start());
        node
    }

    pub fn launch(&self) -> Launch {
        // No server of another test ever gets an address that a node has left.
        let own = SocketAddr::from(([127, 0, 1, u8::try_from(self.number).unwrap()], 0));
        let launch = Launch::new(&self.data)
            .on_xml(own)
            .on_http(own)
            .with(&format!("--store {} --node {} {SETTINGS}", self.url, self.number));
        match self.jump {
            0 => launch,
            jump => {
                let load = format!("LD_PRELOAD={}", clock(&self.clock).display());
                launch.through(&["env", &load, &format!("JUMP_SECONDS={jump}")])
            }
        }
    }

    pub fn kill(&mut self) {
        drop(self.server.take());
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(server) = &self.server {
            server.process.signal(signal);
        }
    }

    /// Cuts the node off from the log.
    pub fn cut_off(&self) {
        for way in &self.ways {
            way.hold(Way::Out);
            way.hold(Way::Back);
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.server.as_mut().is_some_and(|server| server.process.is_running())
    }

    /// The end of the process, if it ended.
    pub fn ended(&mut self) -> Option<Ended> {
        if self.is_running() {
            return None;
        }
        let server = self.server.as_mut()?;
        let ended = server.process.wait_for_end(PATIENCE);
        self.server = None;
        Some(ended)
    }

    /// The journal's newest file, and the number of its written bytes.
    pub fn mark(&self) -> Option<Mark> {
        let files = std::fs::read_dir(&self.data).ok()?.flatten().map(|file| file.path());
        let newest =
            files.filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal-")));
        let newest = newest.max()?;
        let bytes = std::fs::read(&newest).ok()?;
        let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        Some((newest, written))
    }

    /// Changes a bit of what the journal got since `mark`, not near its end, where it would count as a torn write.
    /// Returns false if too little came.
    pub fn flip_journal(&self, mark: &Mark, random: &mut Random) -> bool {
        let Some((file, written)) = self.mark() else { return false };
        let from = if file == mark.0 { mark.1 } else { 0 };
        if written < from + 4_000 {
            return false;
        }
        flip(&file, from + 1_000 + random.below(written - from - 3_000), random);
        true
    }

    pub fn state(&self) -> serde_json::Value {
        state_of(&self.data)
    }
}

/// Changes a bit.
pub fn flip(file: &Path, at: usize, random: &mut Random) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << random.below(8))], at as u64).unwrap();
}

/// The library that shows another time, which is made at its first use.
pub fn clock(library: &Path) -> &Path {
    if !library.exists() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/faults/clock.c");
        let made = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(library).arg(source).status();
        assert!(made.unwrap().success(), "cc makes a clock");
    }
    library
}
