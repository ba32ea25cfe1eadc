//! The parts that tests on the real binary share: starting and ending it, sending requests, reading replies, state and
//! traces, and traders that remember all their answers. Nothing here knows how the server works inside.
#![allow(dead_code, reason = "each test file uses its part of this")]

pub mod audit;
pub mod bench;
pub mod callers;
pub mod checker;
pub mod client;
pub mod day_orders;
pub mod decimal;
pub mod exposition;
pub mod fix;
pub mod folder;
pub mod here;
pub mod http;
pub mod issues;
pub mod keys;
pub mod load;
pub mod members;
pub mod once;
pub mod order_xml;
pub mod orders;
pub mod packed;
#[path = "../../../store/tests/common/port.rs"]
pub mod port;
pub mod proxy;
pub mod raw;
pub mod reply;
pub mod server;
pub mod small_disk;
pub mod talk;
pub mod trace;
pub mod trader;
pub mod transfers;
pub mod wait;
