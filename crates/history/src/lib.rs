//! The history: every order and trade since it began, and the candles made of them, in files of records of one size. An
//! order's id gives the place of its record. Each account, symbol and order has a chain through its records, newest
//! first, so a page of history costs only what it shows, however long the history is. Old records are packed in sealed
//! parts, and the oldest of these may be removed. docs/HISTORY.md has the bytes.
//!
//! Only a checkpoint says what is durable: up to which command the files are complete. Records behind it are written
//! again, identical, when the journal is replayed, so the journal may forget only what a checkpoint covers.
//!
//! The history follows the events of a market and nothing else. [`Keeper`] is the thread that does it; a reader of a
//! [`SharedHistory`] waits until it has everything that was handed over before. It knows no protocol.

mod amendments;
mod as_of;
mod background_pace;
mod candle;
mod candle_pages;
mod carried;
mod chain_heads;
mod checkpoint;
mod codec;
mod columns;
mod done;
mod ending;
mod error;
mod event_queue;
mod file_names;
mod folder;
mod followed;
mod following;
#[cfg(feature = "fuzz")]
pub mod fuzzing;
mod history;
mod keeper;
mod leaps;
mod note;
mod notes;
mod pages;
mod parts;
mod past_terms;
mod prehistory;
mod record;
mod reports;
mod retention;
mod sealed;
mod sealing;
mod shared;
mod table;
mod uncross;
mod verify;
mod write_back;

pub use amendments::Amendments;
pub use as_of::TradedThen;
pub use candle::{Candle, Interval, KEPT};
pub use checkpoint::CHECKPOINT_NAME;
pub use done::{Done, Executions};
pub use ending::{Ending, Last};
pub use error::HistoryError;
pub use event_queue::{EventQueue, Item};
pub use file_names::{file_names, is_file_name, is_there, set_aside, through};
pub use folder::{HISTORY_FOLDER, SET_ASIDE};
pub use history::History;
pub use keeper::{Checkpoints, Keeper};
pub use leaps::LEAPS_NAME;
pub use note::{Note, Noted, Relatives};
pub use notes::{NotesLeft, OrderNotes};
pub use pages::{LOOKED_AT_MAX, Page, PageBounds};
pub use record::PastOrder;
pub use reports::{Amended, AmendedTerms, Canceled, Report, ReportKey, Sweep};
pub use retention::plan::Keep;
pub use shared::{HistoryAt, SharedHistory};
pub use table::Sizes;
pub use verify::{HistoryExtent, verify};
