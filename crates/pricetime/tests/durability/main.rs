//! Everything that was acknowledged is kept: after kills, with damaged or changed files, in backups and
//! copies, and whatever the server's threads do.
//! Not quick: kills servers for half a minute.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod backup;
mod crash;
mod damage;
mod data_folder;
mod earlier_rules;
mod folder_faults;
mod lost_cancels;
mod lost_executions;
mod state;
mod threads;
mod tools;
mod unreleased;
