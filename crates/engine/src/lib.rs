//! The market as a pure, single-threaded, deterministic state machine.
//!
//! Commands go in with their sequence and time; replies and events come out. There is no I/O, clock, randomness, thread
//! or float here, and no code depends on the order of a hash table: the same commands give the same replies, events and
//! state hash on every machine. The crate knows nothing of sockets, XML, files or databases.

mod account_orders;
mod accounts;
mod ahead;
mod amending;
mod auctions;
mod book;
mod calendar;
mod canceling;
mod charge;
mod charging;
mod client_orders;
mod counting;
mod deadlines;
mod due_line;
mod engine;
mod export;
mod funding;
mod grouping;
mod hiding;
mod icebergs;
mod import;
mod instruments;
mod invariants;
mod killing;
mod limited;
mod limiting;
mod linking;
mod links;
mod mass_canceling;
mod matching;
mod moving;
mod obeying;
mod order_terms;
mod orders;
mod pending;
mod pendings;
mod protecting;
mod rounds;
mod self_trade;
mod shared_log;
mod stops;
mod taking;
mod trailing;
mod triggering;
mod under_way;

pub use engine::{AHEAD, DoneOrders, Engine};
pub use export::StateHash;
pub use import::{ImportError, Importer};
pub use shared_log::SharedLog;
