//! The load generator: threads that keep a server busy and count its replies. It knows sockets and the protocol, not
//! how the server was started, and prints nothing.

mod choice;
mod clock;
mod connection;
mod drive;
mod login;
mod observer;
mod replies;
mod requesters;
mod requests;
mod rest;
mod result;
mod server;
mod setup;
mod sources;
mod workload;

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub use choice::{Choice, Mix, Next, OpenOrder, Random, standing};
pub use clock::own_cpu;
pub use login::Login;
pub use observer::{Observer, OpenedOrder};
pub use replies::Kind;
pub use requesters::{Answer, Requester, block_on, in_time, run_requesters};
pub use requests::symbol_name;
pub use rest::run_rest;
pub use result::LoadResult;
pub use server::Server;
pub use setup::{IssuedTotals, Setup, issued_each};
pub use sources::Sources;

use crate::machine::processor;
use crate::records::LoadSettings;
use drive::Driver;
use replies::Framing;
use workload::Workload;

/// Files that a process needs besides its connections.
const OTHER_FILES: u64 = 64;
/// The distance between the threads' first source ports.
const SOURCES_APART: u32 = 100_003;
/// Time behind the measured part in which a load that could send nothing in it still sends its first measured request:
/// a thread that other programs kept from running has a figure, too.
const GRACE: Duration = Duration::from_secs(10);
/// Time between two looks whether a load ended in its warm-up.
const GLANCE: Duration = Duration::from_millis(100);

/// A load to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub load: LoadSettings,
    pub server: Server,
    /// Whether each request has a connection of its own.
    pub per_request: bool,
    /// The length of the measured part.
    pub duration: Option<Duration>,
    pub warmup: Duration,
    /// The cores of the threads, in turn; empty for any.
    pub cores: Vec<usize>,
    pub framing: Framing,
    /// Whether replies must echo their requests as our server does.
    pub strict: bool,
    /// The source addresses of connections.
    pub sources: Sources,
    /// Whether to remember every order that was opened, and when it was sent.
    pub note_orders: bool,
}

/// One thread's part of a plan.
struct Share {
    /// The thread's number, and the number of threads.
    number: u64,
    of: u64,
    connections: usize,
    /// Requests of the measured part, at most.
    requests: u64,
    rate: Option<f64>,
    /// Time from the common start of the schedule to its own.
    offset: Duration,
    /// The first of its source ports.
    first_source: u32,
}

/// Runs the load, to its end or until a signal asks to stop, and serves the observers meanwhile. Calls `measuring` when
/// the measured part begins. Errors: connections that cannot be made.
pub fn run(
    plan: &Plan,
    open: &[OpenOrder],
    mut observers: Vec<Box<dyn Observer>>,
    measuring: &mut dyn FnMut(),
) -> Result<LoadResult, String> {
    allow_connections(plan.load.connections)?;
    let shares = shares(plan);
    // It is passed when all connections are made; then the clock starts.
    let ready = &Barrier::new(shares.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .iter()
            .map(|share| {
                // All observers go to the first thread.
                let observers = std::mem::take(&mut observers);
                scope.spawn(move || {
                    let failed = |error| format!("{}: {error}", plan.server.to);
                    let mut workload = Workload::new(plan, share, open);
                    let driver = pin(plan, share.number)
                        .and_then(|()| Driver::connect(plan, share, &mut workload, observers).map_err(failed));
                    // The barrier is passed also after a failure: the other threads wait for all.
                    ready.wait();
                    driver?.run().map_err(failed)
                })
            })
            .collect();
        ready.wait();
        let started = Instant::now();
        while started.elapsed() < plan.warmup && threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(plan.warmup.saturating_sub(started.elapsed()).min(GLANCE));
        }
        measuring();
        let mut all = LoadResult::default();
        for thread in threads {
            all.add(&thread.join().map_err(|_| "a load thread has failed: see the message above".to_string())??);
        }
        Ok(all)
    })
}

fn shares(plan: &Plan) -> Vec<Share> {
    let count = plan.load.threads.clamp(1, plan.load.connections.max(1));
    let part = |all: u64, number: u64| all / count + u64::from(number < all % count);
    (0..count)
        .map(|number| Share {
            number,
            of: count,
            connections: part(plan.load.connections, number) as usize,
            requests: plan.load.requests.map_or(u64::MAX, |requests| part(requests, number)),
            rate: plan.load.rate.map(|rate| rate / count as f64),
            offset: plan.load.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(number as f64 / rate)),
            first_source: number as u32 * SOURCES_APART,
        })
        .collect()
}

fn pin(plan: &Plan, number: u64) -> Result<(), String> {
    let Some(core) = plan.cores.get(number as usize % plan.cores.len().max(1)) else { return Ok(()) };
    processor::run_on(&[*core])
}

fn allow_connections(connections: u64) -> Result<(), String> {
    let limit = getrlimit(Resource::Nofile);
    let needed = connections + OTHER_FILES;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let enough = limit.maximum.is_none_or(|maximum| maximum >= needed);
    if !enough || setrlimit(Resource::Nofile, raised).is_err() {
        let limit = limit.maximum.unwrap_or(0);
        return Err(format!(
            "{connections} connections need {needed} open files, and {limit} are allowed: raise `ulimit -n`"
        ));
    }
    Ok(())
}
