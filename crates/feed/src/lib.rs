//! What people look at: books, trades, candles, accounts and histories, made of the engine's events and of nothing else.
//!
//! ```text
//! sequencer ─► Feed: a thread of its own ─► View      what is open now, in memory
//!              events in, questions in      History   what was, in files
//!                                           Watcher   what changed, told to whoever subscribed
//! ```
//! The history is a crate of its own; its words are the feed's, too.
//! Events come before the replies that they belong to leave, and a question waits in the same line as events: so what is
//! read is at least as new as the last reply that its asker got. It knows no socket, no JSON, no engine and no disk.

mod accounts;
mod ahead;
mod book;
mod candles;
mod events;
mod feed;
mod holdings;
mod leisure;
mod market;
mod orders;
mod symbols;
mod view;

pub use accounts::Account;
pub use book::{Book, Level, LevelChange};
pub use events::EventBatch;
pub use feed::{Asker, EventSink, Feed, Intake, Scene, Watcher};
pub use history::{
    Canceled, Candle, Ending, History, HistoryError, Interval, PastOrder, Report, ReportKey, Sweep, Trade,
};
pub use holdings::{Holding, Holdings};
pub use market::{Day, Former, Listing, RECALLED, RECENT_MAX};
pub use orders::Open;
pub use view::{Ended, Known, News, View};
