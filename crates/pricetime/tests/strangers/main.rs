//! Software of others uses the server: clients written for Binance, a tester of descriptions, a browser.
//! Not quick: needs Python, Go and a browser.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod clients;
mod descriptions;
mod first_bot;
mod page;
