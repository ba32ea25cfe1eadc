//! HTTP: health, REST, WebSocket and the live page, on one thread. docs/API.md is its interface.
//!
//! Requests read from the [`feed`]; commands go through the port, [`exchange`], as with any protocol. The crate knows
//! no engine, journal or database.
//!
//! Another interface over the same server is a [`Dialect`]. The public modules are what one is built of: the state and
//! the asker of a request, pages of history, answers in pieces, conversations and outboxes.

mod account_news;
mod account_turns;
pub mod app_state;
mod audit;
mod authorization;
mod body_deadline;
pub mod chunked_answer;
pub mod clock;
mod contained;
pub mod conversation;
mod cookie;
pub mod current_caller;
pub mod current_principal;
mod denied;
mod describe;
pub mod dialect;
mod drop_copy;
#[cfg(feature = "fuzz")]
pub mod fuzzing;
mod health;
pub mod history_pages;
pub mod history_port;
pub mod hub;
#[cfg(feature = "fuzz")]
mod in_memory;
pub mod input;
pub mod json;
pub mod listener;
mod live_count;
mod long_snapshots;
mod manual;
mod member_rounds;
mod member_shares;
pub mod member_turns;
pub mod members;
mod messages;
mod metrics;
pub mod open_orders;
mod origin_guard;
pub mod outbox;
mod outbox_budget;
mod page;
mod page_files;
mod past_events_room;
pub mod problem;
pub mod problem_code;
mod process;
mod protecting;
mod publish_cost;
mod read_barrier;
mod recency;
mod report_replay;
mod reserved_connections;
mod rest;
mod rewind_port;
pub mod route_needs;
mod sandbox;
mod schema_values;
mod server;
mod server_stats;
mod serving;
mod session;
mod shapes;
pub mod shared_text;
mod sql_history;
pub mod submitter;
mod subscriptions;
mod ticker;
mod timing;
pub mod topic;
mod topic_count;
pub mod upgrade;
mod waiting_list;
mod wire;
mod wrong_proofs;

pub use app_state::{About, AppState, HttpBackend};
pub use audit::{AUDIT_PAGE_MAX, AuditPage, AuditQuestion, AuditTrail, AuditedBy, AuditedCommand, NoAudit};
pub use dialect::Dialect;
pub use history_port::{HistoryAnswer, HistoryPort, NoAnswer, Page, Past, Question, Since, Stretch, TradesOfAccount};
pub use hub::Hub;
#[cfg(feature = "fuzz")]
pub use in_memory::InMemory;
pub use manual::files as manual_files;
pub use members::{Elsewhere, MarkLog, Marked, SIGNED_AHEAD_MAX};
pub use rewind_port::{NotShown, PastLook, PastMarket, PastMarkets, PastMoment, PastQuestion};
pub use route_needs::{AccountPlace, DialectPaths, Need, RouteNeeds};
pub use sandbox::{SANDBOX_RATE_MAX, Sandbox, SandboxAccount, SandboxPlan, SandboxStanding};
pub use server::{Settings, Web};
pub use server_stats::Counting;
