//! `pricetime-bench` through its real binary, on real servers.
//! Not quick: measures for minutes; needs PostgreSQL and strace.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use common::port;

mod baseline;
mod compare;
mod interrupt;
mod live;
mod report;
mod run;
mod store;
mod sweep;
