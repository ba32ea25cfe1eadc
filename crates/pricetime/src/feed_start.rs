//! The feed's start: follows the market for its viewers (books, trades, candles and accounts), on a thread of its own.

use std::sync::Arc;

use engine::Engine;
use exchange::EventFollower;
use feed::{Feed, FeedHandle, HistoryError, InitialHistory, SharedHistory};
use http_gateway::Hub;

/// The running thread.
pub struct RunningFeed(Feed<Hub>);

impl RunningFeed {
    /// Follows from an engine's state, with a history that follows the same events and has got none yet.
    pub fn start(engine: &Engine, history: SharedHistory) -> Result<RunningFeed, HistoryError> {
        Feed::start(engine, Some(history), binance::hub()).map(RunningFeed)
    }

    /// Follows from an engine's state that was read from a database, which keeps the history.
    pub fn start_from(engine: &Engine, known: &InitialHistory) -> Result<RunningFeed, HistoryError> {
        Feed::start_from(engine, known, binance::hub()).map(RunningFeed)
    }

    pub fn asker(&self) -> FeedHandle<Hub> {
        self.0.asker()
    }

    /// The receiver of events.
    pub fn follower(&self) -> Arc<dyn EventFollower> {
        self.0.follower()
    }

    /// Follows the waiting events, and ends.
    pub fn stop(self) {
        drop(self.0.stop());
    }
}
