//! What others wrote talks to the server: clients from PyPI, a tester of descriptions, a browser.
//! Not quick: needs Python and a browser.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod clients;
mod descriptions;
mod page;
