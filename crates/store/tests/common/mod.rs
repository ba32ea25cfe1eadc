//! The parts that the tests of this crate share: a PostgreSQL of their own, and random markets that are written to it.

pub mod market;
pub mod port;
#[allow(dead_code, reason = "tests of the server use more of it")]
pub mod postgres;
pub mod simple;
