//! HTTP: health, REST, WebSocket and the live page, on one thread. docs/API.md is its interface.
//!
//! Requests read from the [`feed`]; commands go through the port, [`exchange`], as with any protocol. The crate knows
//! no engine, journal or database.

mod account_news;
mod app_state;
mod audit;
mod authorization;
mod binance;
mod body_deadline;
mod chunked_answer;
mod clock;
mod contained;
mod conversation;
mod cookie;
mod current_caller;
mod current_principal;
mod denied;
mod describe;
mod drop_copy;
mod health;
mod history_pages;
mod history_port;
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
mod origin_guard;
mod outbox;
mod outbox_budget;
mod page;
mod page_files;
mod problem;
mod process;
mod protecting;
mod publish_cost;
mod read_barrier;
mod recency;
mod report_replay;
mod reserved_connections;
mod rest;
mod rewind_port;
mod route_needs;
mod sandbox;
mod schema_values;
mod server;
mod server_stats;
mod session;
mod shapes;
mod shared_text;
mod sql_history;
mod submitter;
mod subscriptions;
mod ticker;
mod timing;
mod topic;
mod upgrade;
mod waiting_list;
mod wire;

pub use app_state::{About, HttpBackend};
pub use audit::{AUDIT_PAGE_MAX, AuditPage, AuditQuestion, AuditTrail, AuditedBy, AuditedCommand, NoAudit};
pub use history_port::{HistoryAnswer, HistoryPort, NoAnswer, Page, Past, Question, Since, Stretch, TradesOfAccount};
pub use hub::Hub;
#[cfg(feature = "fuzz")]
pub use in_memory::InMemory;
pub use keys::{Key, Keys};
pub use manual::files as manual_files;
pub use members::{Elsewhere, MarkLog, Marked, SIGNED_AHEAD_MAX};
pub use rewind_port::{NotShown, PastLook, PastMarket, PastMarkets, PastMoment, PastQuestion};
pub use sandbox::{SANDBOX_RATE_MAX, Sandbox, SandboxAccount, SandboxPlan, SandboxStanding};
pub use server::{Settings, Web};
pub use server_stats::Counting;

/// Returns a hub without subscribers, with the streams of all interfaces.
pub fn hub() -> Hub {
    Hub::with(Box::new(binance::Streams::default()))
}
