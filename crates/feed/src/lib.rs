//! The read model of the market for people: books, trades, candles, accounts and histories, made of the market's
//! events alone.
//!
//! ```text
//! sequencer ─► Feed: a thread of its own ─► View      what is open now, in memory
//!              events in, questions in      Watcher   sends changes to subscribers
//! ```
//! The past is in files of the history, which follows the same events on a thread of its own; the feed returns the
//! history's types. Events arrive before the replies that they belong to leave, and a question waits in the same queue
//! as events: so an answer is at least as new as the last reply that its asker got. It knows no socket, no JSON,
//! no disk and no engine: it begins with the state of a [`MarketState`](terms::MarketState).

mod accounts;
mod book;
mod candles;
mod feed;
mod followed;
mod holdings;
mod latest_seconds;
mod listeners;
mod market;
mod order_progress;
mod orders;
mod prefetch;
mod queue_position;
mod remembered;
mod reported_holdings;
mod sparse_column;
mod symbols;
mod terms_change;
mod view;
mod walk;

pub use accounts::Account;
pub use book::{Book, Level, LevelChange};
pub use candles::Seconds;
pub use exchange::Trade;
pub use feed::{Feed, FeedFailure, FeedHandle, GATHERED_MAX, ReadModel, Watcher};
pub use history::{
    Amended, AmendedTerms, Amendments, Canceled, Candle, Ending, History, HistoryAt, HistoryError, Interval,
    LOOKED_AT_MAX, Note, Noted, NotesLeft, OrderNotes, PageBounds, PastOrder, Relatives, Report, ReportKey,
    SharedHistory, Sweep, TradedThen,
};
pub use holdings::{Holding, Holdings};
pub use listeners::{Listener, Listeners};
pub use market::{FormerMarket, Listing, RECALLED, Traded};
pub use order_progress::{OrderProgress, amended_with_terms, progress_before};
pub use orders::Open;
pub use queue_position::{QueuePosition, QueueTotal};
pub use remembered::{CANDLES_BYTES_MAX, MINUTES_BYTES_MAX, RECENT_MAX, TRADES_BYTES_MAX};
pub use reported_holdings::ReportedHoldings;
pub use symbols::SymbolFollowers;
pub use terms_change::{AmendableTerms, TermsChange};
pub use view::{EndedOrder, InitialHistory, MarketClock, News, Transferred, View};
pub use walk::{Direction, Walk};
