//! Several servers as nodes of one cluster, over the real log on real servers of it: all nodes answer as one, also when
//! nodes and servers of the log are killed; and their refusals.
//! Not quick: starts nats-server.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod audit;
mod away;
mod clocks;
mod copies;
mod deployed;
mod faults;
mod log_servers;
mod lost;
mod members;
mod nodes;
mod permissions;
mod read_only;
mod recency;
mod recovery;
mod refusals;
mod retention;
mod side_streams;
mod upgrade;
