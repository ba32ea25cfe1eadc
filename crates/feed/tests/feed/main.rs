//! The read model and its history, beside a naive model of the market.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod amended;
mod auctions;
mod begun;
mod damage;
mod failing;
mod follows;
mod gathered;
mod holdings;
mod line;
mod notes;
mod parts;
mod remembered;
mod seconds;
mod under_way;
