//! TLS on every address of the real server, over the real wire: versions, certificates of both sides and their
//! reloading, ends and truncations, members with certificates, floods of handshakes, and clients of others.
//! Not quick: needs openssl, curl and Python.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod certificates;
mod ends;
mod files;
mod fix;
mod floods;
mod members;
mod peer;
mod pki;
mod reload;
mod stock;
mod versions;
mod web;
