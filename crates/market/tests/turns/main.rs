//! The loop, step by step, over a ledger in memory.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod calendar;
mod client_ids;
mod disconnect;
mod fairness;
mod mass_cancels;
mod turn_options;
