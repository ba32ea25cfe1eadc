//! Followers of the market on a data folder: the keeper of its history, and the feed.

use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use exchange::{EventFork, EventSink, Gauge, Metrics};
use history::{History, HistoryError, Keep, Keeper};
use journal::{Damages, Disk, Durability};
use market::Failed;
use market::follower::{Checkpoint, Follower};
use market::timekeeper::Clock;
use terms::Sequence;

use crate::feed_start::RunningFeed;

/// The time after which a waiting thread gives up a checkpoint.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(60);

/// The running followers.
pub struct Followers {
    keeper: Keeper,
    /// The feed; none where the settings turn it off.
    feed: Option<RunningFeed>,
    /// The commands that the history had and the journal lacks, in words.
    lost: Option<String>,
}

impl Followers {
    /// Follows from an engine's state, with a history in the data folder and its bounds. `clock` tells leaps of market
    /// time from time that passes. Damage to the history is counted in `metrics`. `failed` is called when the history
    /// cannot go on.
    pub fn start(
        engine: &Engine,
        data: &Disk,
        (keep, durability, with_feed): (Keep, Durability, bool),
        clock: &Clock,
        metrics: &Metrics,
        failed: &Failed,
    ) -> Result<Followers, HistoryError> {
        let (counted, failed) = (metrics.clone(), failed.clone());
        metrics.set(Gauge::DamagedInHistory, 0);
        let damages = Damages::new(move |records| counted.set(Gauge::DamagedInHistory, records));
        let clock = clock.clone();
        let history = History::open(data, engine)?.listing(damages).keeping(keep);
        let mut history = history.noting_leaps(move || clock.passed());
        if durability == Durability::Written {
            let data = data.clone();
            history = history.syncing_journal(move || journal::sync_newest(&data));
        }
        let followed = metrics.clone();
        let followed = move |through: Sequence| followed.set(Gauge::HistoryCommands, through.0);
        let keeper = Keeper::start(history, followed, move |cause| failed(cause))?;
        let feed = with_feed.then(|| RunningFeed::start(engine, keeper.history())).transpose()?;
        Ok(Followers { keeper, feed, lost: None })
    }

    /// The sink of events. The history gets them first, because readers of the feed may ask for the past.
    pub fn events(&self) -> EventSink {
        let looked_at = self.feed.as_ref().map(RunningFeed::follower);
        EventFork::to([self.keeper.follower()].into_iter().chain(looked_at).collect())
    }

    /// Fits the history to a replay that ended at `engine`: if the history has commands that the journal lacks, the
    /// machine lost unsynced bytes, and a new history begins at the engine's state.
    pub fn fit(self, engine: &Engine) -> Result<Followers, HistoryError> {
        let Followers { keeper, mut feed, .. } = self;
        let through = keeper.history().read().through();
        if keeper.history().fit(engine)? {
            return Ok(Followers { keeper, feed, lost: None });
        }
        if let Some(former) = feed.take() {
            former.stop();
            feed = Some(RunningFeed::start(engine, keeper.history())?);
        }
        let (first, aside) = (engine.sequence().next(), history::SET_ASIDE);
        let lost = format!(
            "warning    the journal ends before command {first}, and the history had those up to {through}: they are lost, \
             and it is kept as {aside}{through}"
        );
        Ok(Followers { keeper, feed, lost: Some(lost) })
    }

    /// The feed; none where there is none.
    pub fn feed(&self) -> Option<&RunningFeed> {
        self.feed.as_ref()
    }

    /// Notes for the operator.
    pub fn notes(&self) -> Vec<String> {
        let shared = self.keeper.history();
        let history = shared.read();
        let (begins, first) = ("warning    the history begins with order", history.first_order());
        let note = (!history.is_whole()).then(|| format!("{begins} {first}: not all that was before is kept"));
        self.lost
            .clone()
            .into_iter()
            .chain(note)
            .chain(history.damaged_leaps().map(|error| format!("warning    {error}")))
            .collect()
    }

    /// The follower, for the market.
    pub fn follower(&self) -> Follower {
        let checkpoints = self.keeper.checkpoints();
        let checkpoint: Checkpoint = Arc::new(move || checkpoints.make(CHECKPOINT_PATIENCE));
        Follower { events: self.events(), checkpoint, history: self.keeper.history() }
    }

    /// Follows the waiting events, makes the history durable and ends.
    pub fn stop(self) -> Result<(), HistoryError> {
        let kept = self.keeper.stop();
        if let Some(feed) = self.feed {
            feed.stop();
        }
        kept
    }
}
