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
pub mod cluster_tool;
mod common_members;
pub mod connections;
pub mod demo;
pub mod docs_tool;
pub mod encryption;
pub mod feed_start;
mod followers;
pub mod health;
pub mod inspect;
mod join;
mod journal_dump;
pub mod journal_tool;
pub mod keys;
pub mod live_copy;
pub mod logging;
pub mod login;
pub mod members;
mod past_markets;
mod replayed_callers;
pub mod send;
pub mod serve;
pub mod setting_choices;
pub mod setting_units;
pub mod settings;
pub mod sql_history;
pub mod state;
pub mod store_location;
pub mod store_tool;
mod take_over;
#[cfg(test)]
mod tests;
pub mod tls_client;
pub mod tls_tool;
mod unjoined;
pub mod verify;
