//! The scenarios of crates/scenarios over REST and over the compatible interface, each on one server.

mod binance;
mod rest;
