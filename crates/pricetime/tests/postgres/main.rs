//! The exchange on a PostgreSQL that the tests start, and things that are the same with files and with rows.
//! Not quick: needs PostgreSQL.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use common::port;

mod audit;
mod binance;
mod bounds;
mod clock;
mod commits;
mod day_orders;
mod exported;
mod failover;
mod faults;
mod history;
mod issue;
mod links;
mod metrics;
mod readers;
mod retention;
mod settings;
mod terms;
mod tls;
mod transfers;
