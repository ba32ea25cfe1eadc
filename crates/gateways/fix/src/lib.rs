//! The FIX gateway: FIX 4.4 over TCP, for orders and their reports. docs/FIX.md describes the messages.
//!
//! ```text
//! socket ─► frame ─► message ─► session ─► orders ─► trader ─► exchange
//!                                                      ▲
//!                                     feed ─► report_queues ─► reports ─► session ─► socket
//! ```
//! Reports of an order come from the feed alone, in the order in which things happened; the exchange's answers only say
//! which orders were refused, and which amendments changed nothing. The gateway knows no other protocol, and nothing of
//! how the exchange works.

mod amending;
mod answers;
mod awaited_changes;
mod coming_accounts;
mod connection;
mod day_orders;
mod frame;
#[cfg(feature = "fuzz")]
mod in_memory;
mod market;
mod member_turns;
mod message;
mod open_orders;
mod order_fault;
mod order_fields;
mod orders;
mod past_reports;
mod reasons;
mod report_queues;
mod reports;
mod server;
mod session;
mod session_book;
mod session_file;
mod settings;
mod tags;
mod times;
mod trader;

#[cfg(feature = "fuzz")]
pub use in_memory::{framed, read, serve};
pub use market::FixBackend;
pub use server::Fix;
pub use settings::Settings;

#[cfg(test)]
mod tests {
    pub(crate) mod kept_requests;
    pub(crate) mod spy_market;
}
