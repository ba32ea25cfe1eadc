//! The market as a pure, single-threaded, deterministic state machine.
//!
//! Commands go in with their sequence and time; replies and events come out. There is no I/O, clock, randomness, thread
//! or float here, and no code depends on the order of a hash table: the same commands give the same replies, events and
//! state hash on every machine. The crate knows nothing of sockets, XML, files or databases.

mod accounts;
mod engine;
mod fees;
mod icebergs;
mod invariants;
mod kill_switch;
mod limits;
mod links;
mod matching;
mod orders;
mod pending;
mod phases;
mod prefetch;
mod queries;
mod rules;
mod self_trade;
mod shared_log;
mod snapshot;
mod stops;
mod under_way;

pub use engine::{AHEAD, DoneOrders, Engine};
pub use shared_log::state::SharedLog;
pub use snapshot::export::StateHash;
pub use snapshot::import::{ImportError, Importer};
