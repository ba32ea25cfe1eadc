//! The PostgreSQL store, on servers of its own.
//! Not quick: needs PostgreSQL.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod amendments;
mod audit;
mod distance;
mod faults;
mod fees;
mod groups;
mod icebergs;
mod kills;
mod limits;
mod links;
mod owners;
mod pages;
mod pendings;
mod phases;
mod ports;
mod protections;
mod readers;
mod retention;
mod rows;
mod rules;
mod schema;
mod stops;
mod terms;
mod trails;
mod transfer;
mod under_way;
