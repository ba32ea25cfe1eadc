//! The journal on disks that work, fail and lose their power.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod appends;
mod callers;
mod codec;
mod crashes;
mod damage;
mod folders;
mod headers;
mod live;
mod snapshots;
