//! Those who follow the market: where its events go, live or in a replay, and who makes durable what was made of them.
//! It does not know what they make of the events.

use std::sync::Arc;

use engine::{Entry, Event, Sequence, Time};
use exchange::{EventBatch, EventFollower, EventSink};
use history::SharedHistory;

/// Someone who follows the events of a market.
pub struct Follower {
    pub events: EventSink,
    pub checkpoint: Checkpoint,
    /// The history is among those that get the events, and it answers for done orders.
    pub history: SharedHistory,
}

/// A history that follows in the thread that hands over the events. If it cannot follow, its next checkpoint fails.
pub struct Here(pub SharedHistory);

impl EventFollower for Here {
    fn push(&self, batch: Arc<EventBatch>) {
        if let Err(error) = self.0.follow(&batch) {
            tracing::error!(%error, "the history cannot follow");
        }
    }
}

/// Waits until the history durably holds all that happened so far. False when it cannot.
pub type Checkpoint = Arc<dyn Fn() -> bool + Send + Sync>;

/// Gathers events until they are handed over together.
pub(crate) struct Telling {
    sink: EventSink,
    batch: EventBatch,
    /// Sealed, and to be handed over before anything else.
    sealed: Vec<EventBatch>,
}

impl Telling {
    pub(crate) fn new(sink: EventSink) -> Telling {
        Telling { batch: sink.batch(), sealed: Vec::new(), sink }
    }

    #[inline]
    pub(crate) fn add(&mut self, sequence: Sequence, event: Event) {
        self.batch.add(sequence, event);
    }

    /// Hands over what was gathered: all events up to a command, which has this time.
    pub(crate) fn hand_over(&mut self, through: Sequence, time: Time) {
        self.seal(through, time);
        self.hand_over_sealed();
    }

    /// The same later, when `hand_over_sealed` is called.
    pub(crate) fn seal(&mut self, through: Sequence, time: Time) {
        let mut batch = std::mem::replace(&mut self.batch, self.sink.batch());
        batch.seal(through, time);
        self.sealed.push(batch);
    }

    pub(crate) fn hand_over_sealed(&mut self) {
        self.sealed.drain(..).for_each(|batch| self.sink.push(batch));
    }
}

/// Gathers the events of a replay, which come command by command, and hands over those of one time together.
pub(crate) struct Replay {
    telling: Telling,
    last: Option<(Sequence, Time)>,
}

impl Replay {
    pub(crate) fn new(sink: EventSink) -> Replay {
        Replay { telling: Telling::new(sink), last: None }
    }

    /// Call it before a command's events.
    pub(crate) fn begin(&mut self, entry: &Entry) {
        if self.last.is_some_and(|(_, time)| time != entry.time) {
            self.hand_over();
        }
        self.last = Some((entry.sequence, entry.time));
    }

    pub(crate) fn add(&mut self, sequence: Sequence, event: Event) {
        self.telling.add(sequence, event);
    }

    /// Hands over what is left.
    pub(crate) fn hand_over(&mut self) {
        if let Some((sequence, time)) = self.last.take() {
            self.telling.hand_over(sequence, time);
        }
    }
}
