//! FIX 4.4 over the real wire: sessions, orders and their reports, members, and clients with wrong messages.
//! QuickFIX/Go trades in `--test strangers`, and FIX over TLS is tested in `--test tls`.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod amendments;
mod auction_orders;
mod lasting;
mod members;
mod orders;
mod scenarios;
mod sessions;
