//! The state that the clients of an episode share: the addresses of nodes, and the history of calls and answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::pair::{Asked, DOLLARS, ORDERS, PairCall, SHARES};
use crate::common::checker::CALLS_MAX;
use crate::common::server::Server;

pub const NODES: usize = 3;
/// The most pairs of an episode. Each gets a number of calls, one pair after the other.
pub const PAIRS: usize = 60;
const CALLS: usize = 40;
/// The number of calls kept free for the reads at the end, which belong to a history, too.
const CALLS_READ: usize = ORDERS + 2;

/// The addresses of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub xml: SocketAddr,
    pub http: SocketAddr,
}

impl Target {
    pub fn of(server: &Server) -> Target {
        Target { xml: server.xml, http: server.http }
    }
}

/// A call, and the node to which it was made.
#[derive(Clone, Debug)]
pub struct NodeCall {
    pub node: usize,
    pub call: PairCall,
}

pub struct Stage {
    began: Instant,
    /// The number of the episode, for names that no other one has.
    episode: usize,
    pub targets: Mutex<[Target; NODES]>,
    ended: AtomicBool,
    calls: AtomicUsize,
    pub histories: Vec<Mutex<Vec<NodeCall>>>,
    /// The numbers of orders, by pair and order, once they are known.
    pub numbers: Mutex<HashMap<(usize, usize), u64>>,
    longest_wait_ns: AtomicU64,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    pub fn new(episode: usize, targets: [Target; NODES]) -> Stage {
        Stage {
            began: Instant::now(),
            episode,
            targets: Mutex::new(targets),
            ended: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            histories: (0..PAIRS).map(|_| Mutex::new(Vec::new())).collect(),
            numbers: Mutex::new(HashMap::new()),
            longest_wait_ns: AtomicU64::new(0),
        }
    }

    pub fn account(&self, pair: usize, account: usize) -> String {
        format!("{}", (self.episode + 1) * 1_000 + pair * 2 + account)
    }

    pub fn symbol(&self, pair: usize) -> String {
        format!("E{}P{pair}", self.episode)
    }

    /// The request that creates all pairs.
    pub fn creation(&self) -> String {
        let accounts = (0..PAIRS).flat_map(|pair| [self.account(pair, 0), self.account(pair, 1)]);
        let accounts: String = accounts.map(|id| format!("<account id=\"{id}\" balance=\"{DOLLARS}\"/>")).collect();
        let symbols = (0..PAIRS).map(|pair| {
            let has = |account| format!("<account id=\"{}\">{SHARES}</account>", self.account(pair, account));
            format!("<symbol sym=\"{}\">{}{}</symbol>", self.symbol(pair), has(0), has(1))
        });
        format!("<create>{accounts}{}</create>", symbols.collect::<String>())
    }

    pub fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }

    /// The pair whose turn it is. None when the episode is over.
    pub fn pair(&self) -> Option<usize> {
        let pair = self.calls.load(Ordering::Relaxed) / CALLS;
        (pair < PAIRS && !self.ended.load(Ordering::Relaxed)).then_some(pair)
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Keeps a call. Other clients may have added some meanwhile, and the checker takes only a limited number.
    pub fn keep(&self, pair: usize, node: usize, call: PairCall) {
        let mut history = lock(&self.histories[pair]);
        if history.len() < CALLS_MAX - CALLS_READ {
            history.push(NodeCall { node, call });
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there is room for a call that changes something, which must be kept.
    pub fn has_room(&self, pair: usize) -> bool {
        lock(&self.histories[pair]).len() + 12 < CALLS_MAX - CALLS_READ
    }

    /// The pairs with calls.
    pub fn asked_pairs(&self) -> impl Iterator<Item = usize> {
        (0..PAIRS).filter(|pair| !lock(&self.histories[*pair]).is_empty())
    }

    /// Notes how long a client waited for an answer, from whichever node.
    pub fn waited(&self, ns: u64) {
        self.longest_wait_ns.fetch_max(ns, Ordering::Relaxed);
    }

    pub fn longest_wait_ms(&self) -> u64 {
        self.longest_wait_ns.load(Ordering::Relaxed) / 1_000_000
    }

    /// Makes a guard that ends the calls when it is dropped.
    pub fn ending(&self) -> Ending<'_> {
        Ending(self)
    }
}

/// See `Stage::ending`.
pub struct Ending<'a>(&'a Stage);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

/// A history in a form that a person can follow.
pub fn shown(mut history: Vec<NodeCall>) -> String {
    history.sort_by_key(|record| record.call.from);
    let line = |NodeCall { node, call }: &NodeCall| {
        let asked: Asked = call.asked;
        match &call.told {
            Some((told, at)) => {
                format!("\n{:>9} to {:>9} us  node {}  {asked:?}: {told:?}", call.from / 1000, at / 1000, node + 1)
            }
            None => format!("\n{:>9} to {:>9} us  node {}  {asked:?}", call.from / 1000, "?", node + 1),
        }
    };
    history.iter().map(line).collect()
}
