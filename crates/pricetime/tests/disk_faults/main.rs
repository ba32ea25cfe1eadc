//! A disk that fails, and the order of system calls: both are seen from outside.
//! Not quick: needs strace.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod disk;
mod syscalls;
