//! The FIX gateway: FIX 4.4 over TCP, for orders and what becomes of them. What it speaks stands in docs/FIX.md.
//!
//! ```text
//! socket ─► frame ─► message ─► session ─► orders ─► trader ─► exchange
//!                                                      ▲
//!                                     feed ─► following ─► reports ─► session ─► socket
//! ```
//! What is told of an order comes from the feed alone, in the order in which it happened; the exchange's answers only tell what was
//! refused. It knows no other protocol, and nothing of how the exchange does what it is asked.

mod connection;
mod following;
mod frame;
#[cfg(feature = "fuzz")]
mod in_memory;
mod market;
mod message;
mod orders;
mod reports;
mod server;
mod session;
mod settings;
mod tags;
mod times;
mod trader;

#[cfg(feature = "fuzz")]
pub use in_memory::{framed, serve};
pub use market::Market;
pub use server::Fix;
pub use settings::Settings;
