//! Disks that fail, and the order of system calls, both observed from outside of the server.
//! Not quick: needs strace.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod disk;
mod syscalls;
