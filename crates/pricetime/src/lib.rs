//! The server put together: sequencer, recovery, settings, and the commands of the `pricetime` binary.
//!
//! Everything that orders, times, starts and stops lives here; nothing depends on this crate but the binary and tests.

pub mod admission;
pub mod answering;
pub mod archive_gate;
pub mod archive_reader;
pub mod archiver;
pub mod backend;
pub mod backup;
pub mod check;
pub mod client;
pub mod connections;
pub mod copies;
pub mod demo;
pub mod exchange_handle;
pub mod give_way;
pub mod health;
pub mod inbox;
pub mod inspect;
pub mod journal_tool;
pub mod keys;
pub mod logging;
pub mod market;
pub mod place;
pub mod projection;
pub mod records;
pub mod recovery;
pub mod send;
pub mod sequencer;
pub mod serve;
pub mod settings;
pub mod snapshots;
pub mod sql_market;
pub mod sql_reader;
pub mod state;
pub mod store_tool;
pub mod timekeeper;
pub mod units;
pub mod verify;
