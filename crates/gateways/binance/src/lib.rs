//! A subset of Binance's spot interface, so that clients written for that exchange trade here unmodified: REST,
//! streams, and the WebSocket API. It is only a translation: it reads and submits the same as `/api/v1`.
//! docs/BINANCE.md describes it.

mod account;
mod all_tickers;
mod amend;
mod cancel;
mod cancel_restriction;
mod client_names;
mod dialect;
mod empty_lists;
mod events;
mod fees;
mod find_order;
#[cfg(feature = "fuzz")]
pub mod fuzzing;
mod history;
mod keys;
mod kline;
mod klines;
mod list_events;
mod listen_keys;
mod market;
mod names;
mod numbers;
mod oco;
mod order;
mod order_counts;
mod order_lists;
mod order_refusal;
mod order_test;
mod orders;
mod oto;
mod pairs;
mod parameters;
mod place;
mod placed_orders;
mod prefix;
mod refusal;
mod replace;
mod reports;
mod rolling;
mod route_needs;
mod self_trade;
mod signer;
mod socket;
mod socket_api;
mod state;
mod stream;
mod streams;
mod tickers;
mod time_unit;
mod topic;
mod trailing;
mod used_weight;
mod wallet;
mod window;
mod wording;
mod ws_call;
mod ws_methods;
mod zoned;

pub use dialect::{Binance, hub};
pub use keys::{Key, Keys};
