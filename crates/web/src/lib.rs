//! HTTP: health, REST, WebSocket and the live page, on one thread. docs/API.md is its interface.
//!
//! Requests read from the [`feed`]; commands go through the port, [`exchange`], as with any protocol. The crate knows
//! no journal and no database; of the engine it uses the types of the market.

mod account_news;
mod asking;
mod audit;
mod binance;
mod body;
mod calling;
mod certain;
mod clock;
mod contained;
mod conversation;
mod cookie;
mod denied;
mod describe;
mod drop_copy;
mod gate;
mod guard;
mod health;
mod hub;
#[cfg(feature = "fuzz")]
mod in_memory;
mod input;
mod json;
mod keys;
mod kline;
mod listen_keys;
mod listener;
mod live_count;
mod long_snapshots;
mod manual;
mod members;
mod messages;
mod metrics;
mod open_orders;
mod order_counts;
mod outbox;
mod page;
mod page_files;
mod past;
mod past_markets;
mod pieces;
mod policy;
mod problem;
mod process;
mod protecting;
mod publish_cost;
mod recency;
mod records;
mod replay;
mod reserve;
mod rest;
mod sandbox;
mod server;
mod session;
mod shapes;
mod site;
mod spool;
mod sql_history;
mod submitter;
mod subscriptions;
mod text;
mod ticker;
mod timing;
mod topic;
mod upgrade;
mod values;
mod vitals;
mod waiting_list;
mod wire;

pub use audit::{AUDIT_PAGE_MAX, AuditPage, AuditQuestion, AuditTrail, AuditedBy, AuditedCommand, NoAudit};
pub use hub::Hub;
#[cfg(feature = "fuzz")]
pub use in_memory::InMemory;
pub use keys::{Key, Keys};
pub use manual::files as manual_files;
pub use members::{Elsewhere, MarkLog, Marked, SIGNED_AHEAD_MAX};
pub use past_markets::{NotShown, PastLook, PastMarket, PastMarkets, PastMoment, PastQuestion};
pub use records::{NoAnswer, OfAccount, Page, Past, Question, Records, Since, Stretch, Told};
pub use sandbox::{SANDBOX_RATE_MAX, Sandbox, SandboxAccount, SandboxPlan, SandboxStanding};
pub use server::{Settings, Web};
pub use site::{About, Market};
pub use vitals::Counting;

/// Returns a hub without subscribers, with the streams of all interfaces.
pub fn hub() -> Hub {
    Hub::with(Box::new(binance::Streams::default()))
}
