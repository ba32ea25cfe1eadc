//! The feed's start: follows the market for its viewers (books, trades, candles and accounts), on a thread of its own.

use std::sync::Arc;

use engine::Engine;
use exchange::EventFollower;
use feed::{Feed, FeedFailure, FeedHandle, HistoryError, InitialHistory, SharedHistory};
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

/// The line of a start whose feed has ended.
pub fn warning(failure: &FeedFailure) -> String {
    format!(
        "  warning    the feed ended behind command {} by a fault of the server, which is in the log: XML goes on; the page, \
         REST, WebSocket and FIX are refused\n",
        failure.after
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange::containment::Part;
    use feed::{ReadModel, Watcher};
    use terms::{MarketState, OrderId, Sequence, StateItem, Time};

    use super::*;
    use crate::tests::runs_here;

    struct Nobody;

    impl Watcher for Nobody {
        fn look(_: &mut ReadModel<Nobody>) -> Duration {
            Duration::MAX
        }

        fn tell_now(_: &mut ReadModel<Nobody>) {}
    }

    /// A market whose state the feed cannot read.
    struct Unreadable;

    impl MarketState for Unreadable {
        fn sequence(&self) -> Sequence {
            Sequence(7)
        }

        fn time(&self) -> Time {
            Time(7)
        }

        fn next_order(&self) -> OrderId {
            OrderId(1)
        }

        fn export(&self, _: &mut dyn FnMut(StateItem)) {
            panic!("planted in the start")
        }
    }

    /// A feed that panicked in its start once ended the server at each start.
    #[test]
    fn a_start_whose_feed_fails_goes_on_and_says_so() {
        if !runs_here("feed_start::tests::a_start_whose_feed_fails_goes_on_and_says_so") {
            return;
        }
        let feed = Feed::start(&Unreadable, None, Nobody).expect("a feed that has failed");
        let said = feed.asker().failure().map(warning).expect("it has failed");
        assert!(said.contains("the feed ended behind command 7 by a fault of the server"), "{said}");
        feed.stop();
        assert_eq!(Part::Feed.panics(), 1, "it is counted");
    }
}
