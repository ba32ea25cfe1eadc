//! What people look at: books, trades, candles, accounts and histories, made of the engine's events and of nothing else.
//!
//! ```text
//! sequencer ─► Feed: a thread of its own ─► View      what is open now, in memory
//!              events in, questions in      History   what was, in files
//!                                           Watcher   what changed, told to whoever subscribed
//! ```
//! Events come before the replies that they belong to leave, and a question waits in the same line as events: so what is
//! read is at least as new as the last reply that its asker got. It knows no socket, no JSON and no engine, and of the journal only
//! what that asks of a disk.

mod accounts;
mod ahead;
mod book;
mod candle;
mod candles;
mod events;
mod feed;
mod history;
mod holdings;
mod market;
mod orders;
mod symbols;
mod trade;
mod view;

pub use accounts::Account;
pub use book::{Book, Level, LevelChange};
pub use candle::{Candle, Interval};
pub use events::EventBatch;
pub use feed::{Asker, EventSink, Feed, Intake, Scene, Watcher};
pub use history::{
    CHECKPOINT_NAME, Canceled, Ending, Found, HISTORY_FOLDER, History, HistoryError, PastOrder, Report, ReportKey,
    Sweep, TABLE_NAMES, verify as verify_history,
};
pub use holdings::{Holding, Holdings};
pub use market::{Day, Former, Listing, RECALLED, RECENT_MAX};
pub use orders::Open;
pub use trade::Trade;
pub use view::{Ended, Known, News, View};
