//! The running exchange: one loop over a ledger that orders the gateways' batches, stamps them with the time, keeps,
//! applies and answers them; recovery of what was kept, and snapshots. It knows no socket, no protocol and no setting
//! of the command line.
//!
//! ```text
//! inbox ─► Turn: admission, time ─► Ledger: order ─► engine: apply ─► Ledger: release
//! ```
//! [`Market`] is the loop over a journal, with its threads.

pub mod admission;
pub mod apply;
mod attribution;
mod background_yield;
pub mod calendar;
pub mod caller_runs;
pub mod day_ends;
mod day_time;
mod disk_watch;
mod done_orders;
pub mod exchange_handle;
pub mod follower;
mod given_ids;
pub mod inbox;
pub mod journal_ledger;
pub mod ledger;
mod market;
#[cfg(feature = "memory")]
pub mod memory_ledger;
mod presence;
mod protection;
pub mod recovery;
pub mod rewind;
mod scheduled;
pub mod snapshots;
pub mod timekeeper;
pub mod turn;
mod turn_budget;
pub mod waiting_batches;

pub use market::{Failed, Market, MarketOptions};
