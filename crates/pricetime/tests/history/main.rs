//! The market's past: what is no longer kept, and the reports that a client missed, from files and from a database.
//! Not quick: needs PostgreSQL, and parts of the history are large.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use common::port;

mod order_reports;
mod retention;
