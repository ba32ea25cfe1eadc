//! What the tests of this crate share: a PostgreSQL of their own, and random markets that are written to it.
#![allow(dead_code, clippy::unwrap_used, clippy::arithmetic_side_effects)]

pub mod market;
pub mod port;
pub mod postgres;
pub mod simple;
