//! The gateway with its sockets: clients that hang, leave or ask for too much, and a server that stops.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "shared with the tests that need a process of their own")]
mod support;

mod abandoned;
mod done_orders;
mod heavy;
mod limits;
mod stopping;
