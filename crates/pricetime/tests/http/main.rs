//! REST, the WebSocket and the compatible interface, over the real wire.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod access;
mod access_proof;
mod access_topics;
mod binance;
mod binance_amendments;
mod binance_calls;
mod binance_client_names;
mod binance_followers;
mod binance_icebergs;
mod binance_market;
mod binance_order_lists;
mod binance_parameters;
mod binance_past;
mod binance_pending;
mod binance_self_trade;
mod binance_streams;
mod binance_time_unit;
mod day_orders;
mod fees;
mod groups;
mod guard;
mod icebergs;
mod kills;
mod large_market;
mod member_kills;
mod members;
mod modes;
mod moving;
mod one_market;
mod order_kinds;
mod order_lists;
mod pending;
mod phases;
mod replace;
mod rest;
mod rules;
mod stops;
mod terms;
mod trailing;
mod websocket;
