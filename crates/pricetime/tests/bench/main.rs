//! `pricetime-bench` through its real binary, on real servers.
//! Not quick: measures for minutes; needs PostgreSQL and strace.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use std::time::Duration;

use common::port;

/// Time for a step that comes behind others, on a machine that runs many things at once. A wait ends with its step.
const PATIENCE: Duration = Duration::from_secs(300);

mod baseline;
mod compare;
mod interrupt;
mod live;
mod report;
mod run;
mod store;
mod sweep;
