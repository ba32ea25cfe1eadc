//! HTTP: health, REST, WebSocket and the live page, on one thread. docs/API.md is its interface.
//!
//! What is asked for is read from the [`feed`]; what is to be done goes through the port, [`exchange`], as with any protocol. It
//! knows no engine, no journal and no database.

mod binance;
mod body;
mod certain;
mod conversation;
mod describe;
mod guard;
mod health;
mod hub;
mod input;
mod json;
mod listener;
mod live_count;
mod long_snapshots;
mod messages;
mod metrics;
mod open_orders;
mod outbox;
mod page;
mod past;
mod pieces;
mod problem;
mod replay;
mod reserve;
mod rest;
mod server;
mod session;
mod shapes;
mod site;
mod spool;
mod submitter;
mod subscriptions;
mod telling;
mod text;
mod ticker;
mod upgrade;
mod vitals;
mod waiting_list;

pub use binance::{Key, Keys};
pub use hub::Hub;
pub use past::{Away, OfAccount, Page, Past, Question, Records, Since, Stretch, Told};
pub use server::{Settings, Web};
pub use site::{About, Counting, Market};
