//! One market on many nodes. Its ledger is a log that all of them share, and that another program, NATS JetStream,
//! keeps and replicates.
//!
//! ```text
//! the loop ─► ReplicaLedger ─► message ─► LogClient: publish        (JetStream, or a simulated log)
//!    ▲             │    ▲                      │
//!    └── ordered ──┘    └── taken, in order ◄──┘ next
//! ```
//! A batch of commands becomes a message. Every node takes all messages in the log's order; each writes the taken ones
//! into its own journal, syncs it and applies them. The node that wrote a message answers for it when it has taken it
//! itself. The engine's state ([`engine::SharedLog`]) decides which messages count, so a message that comes twice, or
//! from a process that another one has replaced, counts nowhere.

mod callers;
mod client;
mod copies;
pub mod fetching;
mod gathering;
mod giving;
pub mod jetstream;

mod ledger;
mod log_check;
mod log_time;
mod log_url;
mod marks;
pub mod members;
mod message;
mod parts;
mod retention;
mod servers;
mod side_streams;
pub mod simulated;
#[cfg(test)]
mod simulation;
mod standing;
mod status_subject;
mod stream_config;
pub mod survey;
#[cfg(test)]
mod tests;
mod trail;
pub mod upgrade;
pub mod versions;

pub use client::{Delivered, LogClient, LogError};
pub use copies::CopySource;
pub use ledger::{Member, ReplicaError, ReplicaLedger};
pub use log_url::LogUrl;
pub use parts::WINDOW;
pub use standing::{MarkReport, NodeReport, Standing};
pub use stream_config::{LogTerms, create};
