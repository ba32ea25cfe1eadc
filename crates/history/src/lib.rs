//! What was: every order and trade since the history began, and the candles made of them, in files of records of one
//! size. An order's id says where its record is. Each account, symbol and order has a chain through its records, newest
//! first, so that a page of history costs what it shows, however long the history is. Old records are packed in sealed
//! parts, and the oldest of these may go. docs/HISTORY.md has the bytes.
//!
//! Only a checkpoint says what is durable: up to which command the files are complete. What was written behind it is
//! written again, the same, when the journal is replayed: so the journal may forget only what a checkpoint covers.
//!
//! It follows the events of a market and of nothing else. [`Keeper`] is the thread that does; whoever reads a [`SharedHistory`]
//! waits until all is in it that was handed over before. It knows no protocol.

mod amendments;
mod before;
mod candle;
mod candle_pages;
mod carried;
mod changes;
mod checkpoint;
mod codec;
mod columns;
mod done;
mod ending;
mod error;
mod event_queue;
mod folder;
mod followed;
mod following;
mod former;
#[cfg(feature = "fuzz")]
pub mod fuzzing;
mod heads;
mod history;
mod keeper;
mod leisure;
mod names;
mod note;
mod notes;
mod packed_id;
mod pages;
mod parts;
mod record;
mod reports;
mod sealed;
mod sealing;
mod shared;
mod shrinking;
mod table;
mod tending;
mod then;
mod trade;
mod uncross;
mod upkeep;
mod verify;

pub use candle::{Candle, Interval, KEPT};
pub use checkpoint::CHECKPOINT_NAME;
pub use done::{Done, Executions};
pub use ending::{Ending, Last};
pub use error::HistoryError;
pub use event_queue::{EventQueue, Item};
pub use folder::{HISTORY_FOLDER, SET_ASIDE};
pub use history::History;
pub use keeper::{Checkpoints, Keeper};
pub use names::{file_names, is_there, through};
pub use note::{Note, Noted, Relatives};
pub use pages::Page;
pub use record::PastOrder;
pub use reports::{Amended, Canceled, Report, ReportKey, Sweep};
pub use shared::{HistoryAt, SharedHistory};
pub use table::Sizes;
pub use then::TradedThen;
pub use trade::Trade;
pub use upkeep::Keep;
pub use verify::{Found, verify};
