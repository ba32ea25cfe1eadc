//! Hostile clients: each attack runs on a server of its own, beside bystanders who must be answered as if nothing
//! happened, and within bounds of memory and time that stand at its head; the bystanders' waits are compared with those
//! at an idle server beside it. `proof/attacks` runs the same at length and judges strictly.
//! Not quick: it takes two minutes.
//!
//! A new attack has a sentence as the name of a test in the module of its target, `Scene::set` with a title and bounds,
//! the preparation of the market, `scene.attack()`, the attack itself with the attacker's answers, and `end`.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod attack;
mod bystanders;
mod peers;
mod verdict;
mod watchdog;

mod bounds;
mod candles;
mod connections;
mod executions;
mod floods;
mod followers;
mod http;
mod kills;
mod lookups;
mod market;
mod places;
mod proofs;
mod turns;
mod websocket;
mod xml;
