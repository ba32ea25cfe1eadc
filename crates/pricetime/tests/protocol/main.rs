//! The XML protocol over a real socket: requests and their replies, framing, the client's commands, and how servers
//! start, end and share an address.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod access;
mod budget;
mod check;
mod demo;
mod framing;
mod icebergs;
mod linked;
mod long_orders;
mod member_limits;
mod pending;
mod requests;
mod terms;
mod two_servers;
