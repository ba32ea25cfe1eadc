//! The engine: its rules one by one, and random markets that it plays together with the naive model.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

#[path = "../common/mod.rs"]
mod common;

mod against_model;
mod amending;
mod auction_orders;
mod auctions;
mod bands;
mod bounds;
mod closing;
mod costs;
mod deadlines;
mod deposits;
mod groups;
mod icebergs;
mod keeping;
mod large;
mod limits;
mod linked;
mod mass_cancels;
mod moves;
mod moving;
mod passing_over;
mod pending;
mod reaching;
mod replacement;
mod rounds;
mod rules;
mod scenarios;
mod state;
mod trailing;
mod turn_bounds;
