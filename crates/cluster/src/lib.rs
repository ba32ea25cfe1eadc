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

mod batch_delay;
mod callers;
mod client;
#[cfg(feature = "fuzz")]
pub mod fuzzing;
pub mod jetstream;

mod ledger;
mod log_check;
mod log_time;
mod log_url;
mod marks;
pub mod members;
mod message;
mod message_parts;
pub mod node_copy;
mod node_status;
mod recent_messages;
mod retention;
mod servers;
mod side_streams;
pub mod simulated;
#[cfg(test)]
mod simulation;
pub mod status_poll;
mod status_subject;
mod stream_config;
#[cfg(test)]
mod tests;
pub mod upgrade;
pub mod versions;

pub use client::{Delivered, LogClient, LogError};
pub use ledger::{ClusterError, ClusterLedger, Member};
pub use log_url::LogUrl;
pub use message_parts::WINDOW;
pub use node_copy::CopySource;
pub use node_status::{MarkReport, NodeReport, NodeStatus};
pub use stream_config::{LogTerms, create};
