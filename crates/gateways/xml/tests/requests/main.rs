//! Requests as text: their commands and their answers.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

#[path = "../common/mod.rs"]
mod common;

mod account_limits;
mod bad_xml;
mod create;
mod display;
mod fees;
mod frames;
mod groups;
mod kills;
mod linked;
mod mass_cancel;
mod moving;
mod pending;
mod properties;
mod replies;
mod rules;
mod terms;
mod trailing;
mod transactions;
