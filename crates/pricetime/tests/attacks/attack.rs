//! What all attacks share: a server alone on the machine as far as this suite is concerned, bystanders, bounds, a verdict.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bystanders::{Bystanders, Habit};
use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use crate::verdict::{self, Part, Verdict};
use crate::watchdog::Watchdog;

pub const MIB: u64 = 1 << 20;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What an attack may cost. How long bystanders wait is held against those of an idle server beside it, in the same
/// run: a machine that does something else makes both wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// By how many bytes the server's resident memory may grow at most, at any moment.
    pub memory: u64,
    /// How long the attack may last; at least 10 s, and the server is killed behind it.
    pub time: Duration,
    /// By how much longer than at an idle server the p99 of bystanders' waits may be, over XML and over HTTP.
    pub p99: Duration,
    /// By how much longer than at an idle server a bystander may wait.
    pub longest: Duration,
}

/// What most attacks may cost: `Limits { memory: 16 * MIB, ..ORDINARY }`.
pub const ORDINARY: Limits = Limits {
    memory: 200 * MIB,
    time: Duration::from_secs(120),
    p99: Duration::from_millis(50),
    longest: Duration::from_secs(1),
};

/// How large an attack is: the one number in `./test`, the other at length.
pub fn size<T>(short: T, long: T) -> T {
    if verdict::is_long() { long } else { short }
}

/// A server before the attack, to be given what the attack needs.
pub struct Scene {
    pub server: Server,
    /// Another one, which nobody attacks.
    idle: Server,
    title: &'static str,
    limits: Limits,
    folder: Folder,
    turn: MutexGuard<'static, ()>,
}

impl Scene {
    /// Starts a server when no other attack runs: `|launch| launch.with("--idle-timeout 1s")`.
    pub fn set(title: &'static str, limits: Limits, settings: impl Fn(Launch) -> Launch) -> Scene {
        assert!(limits.time >= Duration::from_secs(10), "{title}: the limit of time must not depend on a free machine");
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new("attack");
        let server = settings(Launch::new(&folder.data())).start();
        let idle = settings(Launch::new(&folder.path().join("idle"))).start();
        Scene { server, idle, title, limits, folder, turn }
    }

    /// With another bound of the memory that the attack may take.
    pub fn within(self, memory: u64) -> Scene {
        Scene { limits: Limits { memory, ..self.limits }, ..self }
    }

    /// Stops the server and starts it again on what it wrote: what was done is in the archive alone.
    pub fn again(self) -> Scene {
        let Scene { server, idle, title, limits, folder, turn } = self;
        server.stop();
        let server = Launch::new(&folder.data()).start();
        Scene { server, idle, title, limits, folder, turn }
    }

    /// The server's data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.data()
    }

    /// Lets the attack begin, beside bystanders who trade. From here memory, time and their waits are measured.
    pub fn attack(self) -> Attack {
        self.attack_beside(Habit::Trade)
    }

    /// Lets the attack begin, beside bystanders who do as they are told.
    pub fn attack_beside(self, habit: Habit) -> Attack {
        let bystanders = Bystanders::start(&self.server, habit);
        let control = Bystanders::start(&self.idle, habit);
        let watchdog = Watchdog::start(&self.server.process, self.limits);
        Attack {
            server: Some(self.server),
            idle: Some(self.idle),
            title: self.title,
            limits: self.limits,
            began: Instant::now(),
            bystanders: Some([bystanders, control]),
            watchdog: Some(watchdog),
            parts: Vec::new(),
            _folder: self.folder,
            _turn: self.turn,
        }
    }
}

/// An attack that goes on. Dropped before its end it has failed, and its verdict says so.
pub struct Attack {
    server: Option<Server>,
    idle: Option<Server>,
    title: &'static str,
    limits: Limits,
    began: Instant,
    /// Of the server under attack, and of the idle one.
    bystanders: Option<[Bystanders; 2]>,
    watchdog: Option<Watchdog>,
    parts: Vec<Part>,
    _folder: Folder,
    _turn: MutexGuard<'static, ()>,
}

impl Attack {
    /// The server under attack.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("an attack that goes on has its server")
    }

    /// Notes how long a part of it took; judged in the long form alone.
    pub fn took(&mut self, what: &'static str, took: Duration, allowed: Duration) {
        self.parts.push(Part { what, took, allowed });
    }

    /// Ends it: `outcome` says how the attacker was answered. Panics unless the server goes on, has answered the bystanders
    /// correctly all the time, kept within the limits, and stops in order.
    pub fn end(mut self, outcome: &str) {
        let [waits, control] = self.bystanders.take().expect("an attack ends once").map(Bystanders::end);
        let lasted = self.began.elapsed();
        let server = self.server.take().expect("an attack ends once");
        let grown = self.watchdog.take().expect("an attack ends once").end();
        let parts = std::mem::take(&mut self.parts);
        let verdict = Verdict { title: self.title, limits: self.limits, grown, lasted, waits, control, parts, outcome };
        verdict.tell();
        server.stop();
        self.idle.take().expect("an attack ends once").stop();
        verdict.judge();
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            verdict::tell_failed(self.title, watchdog.bitten());
        }
    }
}
