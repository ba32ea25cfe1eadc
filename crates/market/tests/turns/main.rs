//! The loop, step by step, over a ledger in memory; and the frozen files of each version of formats and rules.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod auction_orders;
mod calendar;
mod client_ids;
mod disconnect;
mod fairness;
mod followers;
mod formats;
mod mass_cancels;
mod turn_options;
