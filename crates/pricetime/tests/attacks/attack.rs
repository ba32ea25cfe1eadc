//! The parts that all attacks share: a server alone on the machine as far as this suite is concerned, bystanders,
//! bounds, a verdict.

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

/// The allowed costs of an attack. The waits of bystanders are compared with those at an idle server beside it, in the
/// same run, because other work of the machine makes both wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes by which the server's resident memory may grow, at any moment.
    pub memory: u64,
    /// The most time for the attack; at least 10 s. The watchdog kills a slower server.
    pub time: Duration,
    /// The most by which the p99 of bystanders' waits may exceed that at an idle server, over XML and over HTTP.
    pub p99: Duration,
    /// The most by which a bystander's wait may exceed that at an idle server.
    pub longest: Duration,
    /// The most for the one over XML, whom no reader of the market keeps waiting; none if it is `longest`.
    pub longest_xml: Option<Duration>,
}

/// The allowed costs of most attacks: `Limits { memory: 16 * MIB, ..ORDINARY }`.
pub const ORDINARY: Limits = Limits {
    memory: 200 * MIB,
    time: Duration::from_secs(120),
    p99: Duration::from_millis(50),
    longest: Duration::from_secs(1),
    longest_xml: None,
};

/// The size of an attack: the first number in `./test`, the second in the long form.
pub fn size<T>(short: T, long: T) -> T {
    if verdict::is_long() { long } else { short }
}

/// A server before the attack, which the test prepares.
pub struct Scene {
    pub server: Server,
    /// Another server, which nobody attacks.
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

    /// Replaces the scene's bound of memory.
    pub fn within(self, memory: u64) -> Scene {
        Scene { limits: Limits { memory, ..self.limits }, ..self }
    }

    /// Stops the server and starts it again on its data folder, so that only the archive has the done orders.
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

    /// Begins the attack, beside bystanders who trade. From here on memory, time and their waits are measured.
    pub fn attack(self) -> Attack {
        self.attack_beside(Habit::Trade)
    }

    /// Begins the attack, beside bystanders with this habit.
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

/// An attack that goes on. If it is dropped before its end, it has failed, and its verdict says so.
pub struct Attack {
    server: Option<Server>,
    idle: Option<Server>,
    title: &'static str,
    limits: Limits,
    began: Instant,
    /// The bystanders of the server under attack, and of the idle one.
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

    /// Notes the time of a part of it; only the long form judges it.
    pub fn took(&mut self, what: &'static str, took: Duration, allowed: Duration) {
        self.parts.push(Part { what, took, allowed });
    }

    /// Ends the attack: `outcome` says how the attacker was answered. Panics unless the server goes on, has answered
    /// the bystanders correctly all the time, kept within the limits, and stops in order.
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
