//! What was acknowledged is there: after kills, with damaged or changed files, in backups and copies, in folders of the version
//! before, and whatever the threads of a server do.
//! Not quick: kills servers for half a minute.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod backup;
mod crash;
mod damage;
mod data_folder;
mod folder_faults;
mod former_folders;
mod lost_cancels;
mod lost_executions;
mod state;
mod threads;
mod tools;
