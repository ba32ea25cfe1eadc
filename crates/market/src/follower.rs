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

/// Events of a turn that are handed over before its end, as soon as a request ends.
pub const TOGETHER: usize = 1 << 12;

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

    /// Hands over what was gathered, if that is much. `through` is the last command of a request.
    pub(crate) fn hand_over_many(&mut self, through: Sequence, time: Time) {
        if self.batch.len() >= TOGETHER {
            self.hand_over(through, time);
        }
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

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use engine::{AccountIndex, Money};
    use exchange::EventQueue;

    use super::*;

    /// The pieces that were handed over: how many events, and through which command.
    #[derive(Default)]
    struct Sink(Mutex<Vec<(usize, Sequence)>>);

    impl EventQueue for Sink {
        fn batch(&self) -> EventBatch {
            EventBatch::default()
        }

        fn push(&self, batch: EventBatch) {
            let piece = (batch.len(), batch.through.expect("it is sealed"));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
        }
    }

    /// A turn came as one list: whoever asked behind it waited until all of it was followed.
    #[test]
    fn a_large_turn_is_handed_over_in_pieces_that_end_with_requests() {
        const REQUESTS: u64 = 1000;
        const COMMANDS: u64 = 10;
        let sink = Arc::new(Sink::default());
        let mut telling = Telling::new(sink.clone());
        let mut last = 0;
        for _ in 0..REQUESTS {
            for _ in 0..COMMANDS {
                last += 1;
                let balance = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
                (0..3).for_each(|_| telling.add(Sequence(last), balance));
            }
            telling.hand_over_many(Sequence(last), Time(1));
        }
        telling.hand_over(Sequence(last), Time(1));
        let pieces = sink.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let of_request = 3 * COMMANDS as usize;
        assert!(pieces.iter().all(|(events, _)| *events < TOGETHER + of_request), "{pieces:?}");
        assert!(pieces.iter().all(|(_, through)| through.0 % COMMANDS == 0), "{pieces:?}");
        assert_eq!(pieces.iter().map(|(events, _)| *events as u64).sum::<u64>(), 3 * last);
        assert_eq!(pieces.last().map(|(_, through)| *through), Some(Sequence(last)));
    }
}
