//! The server put together: its settings, the parts that start and stop with it, and the commands of the `pricetime`
//! binary.
//!
//! Only the binary and tests depend on this crate.

pub mod access_tool;
mod audit_trail;
pub mod backend;
pub mod backup;
pub mod check;
pub mod client;
pub mod cluster;
mod common_members;
pub mod connections;
pub mod copies;
pub mod demo;
pub mod docs_tool;
pub mod encryption;
mod followers;
pub mod health;
pub mod inspect;
mod join;
mod journal_dump;
pub mod journal_tool;
pub mod keys;
pub mod logging;
pub mod login;
pub mod members;
mod named_account;
pub mod projection;
pub mod records;
mod replayed_callers;
mod rewinds;
pub mod send;
pub mod serve;
pub mod settings;
pub mod state;
pub mod store_location;
pub mod store_tool;
mod take_over;
pub mod tls_client;
pub mod tls_tool;
pub mod units;
pub mod verify;
