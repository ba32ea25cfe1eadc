//! Followers of the market: the sink of its events, live or in a replay, and the checkpoint that makes their results
//! durable. This file does not know what followers make of the events.

use std::sync::Arc;

use exchange::{EventBatch, EventFollower, EventSink, Lag};
use history::SharedHistory;
use terms::{Entry, Event, Op, Sequence, Time};

/// A follower of a market's events.
pub struct Follower {
    pub events: EventSink,
    pub checkpoint: Checkpoint,
    /// The history, which is among the receivers of the events and answers for done orders.
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

/// Waits until the history durably holds everything that happened so far. Returns false when it cannot.
pub type Checkpoint = Arc<dyn Fn() -> bool + Send + Sync>;

/// The number of events at which they are handed over before the turn's end, as soon as a request ends.
pub const TOGETHER: usize = 1 << 12;

/// The number of events at which they are handed over before their request's end, between two of its commands: a
/// request may have 10,000 commands, each with 30,000 events and more. An ordinary request is never cut.
pub const REQUEST_EVENTS_MAX: usize = 1 << 17;

/// Gathers events to hand them over together.
pub(crate) struct Telling {
    sink: EventSink,
    batch: EventBatch,
    /// Sealed batches, to be handed over before anything else.
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

    /// Hands over the gathered events if they are many. `through` is the last command of a request.
    pub(crate) fn hand_over_many(&mut self, through: Sequence, time: Time) {
        if self.batch.len() >= TOGETHER {
            self.hand_over(through, time);
        }
    }

    /// Hands over the gathered events within a request, if they are very many. `next` comes behind `through`.
    #[inline]
    pub(crate) fn hand_over_part(&mut self, through: Sequence, time: Time, next: Option<&Op>) {
        if self.is_to_be_cut(next) {
            self.hand_over(through, time);
        }
    }

    /// Whether very many events of a request were gathered, and may be handed over before `next`.
    #[inline]
    pub(crate) fn is_to_be_cut(&self, next: Option<&Op>) -> bool {
        self.batch.len() >= REQUEST_EVENTS_MAX && next.is_none_or(|op| !op.depends_on_previous())
    }

    /// Hands over the gathered events: all events up to a command, which has this time. They go at once, however many
    /// they are: the loop begins no turn while the followers are too far behind.
    pub(crate) fn hand_over(&mut self, through: Sequence, time: Time) {
        self.seal(through, time);
        self.sealed.drain(..).for_each(|batch| self.sink.push(batch));
    }

    /// Seals the gathered events, for `hand_over_sealed`.
    pub(crate) fn seal(&mut self, through: Sequence, time: Time) {
        let mut batch = std::mem::replace(&mut self.batch, self.sink.batch());
        batch.seal(through, time);
        self.sealed.push(batch);
    }

    /// Hands over what is sealed, whenever the followers are not too far behind. What others wrote comes whatever the
    /// followers do, and so does what a start replays.
    pub(crate) fn hand_over_sealed(&mut self) {
        for batch in self.sealed.drain(..) {
            self.sink.wait();
            self.sink.push(batch);
        }
    }

    /// The lag of the followers.
    pub(crate) fn lag(&self) -> Lag {
        self.sink.lag()
    }
}

/// Gathers the events of a replay, which come command by command, and hands over those of one time together, unless
/// they are very many.
pub(crate) struct Replay {
    telling: Telling,
    last: Option<(Sequence, Time)>,
}

impl Replay {
    pub(crate) fn new(sink: EventSink) -> Replay {
        Replay { telling: Telling::new(sink), last: None }
    }

    /// Begins a command, before its events.
    pub(crate) fn begin(&mut self, entry: &Entry) {
        match self.last {
            Some((_, time)) if time != entry.time => self.hand_over(),
            Some((through, time)) if self.telling.is_to_be_cut(Some(&Op::Command(entry.command))) => {
                self.telling.seal(through, time);
                self.telling.hand_over_sealed();
            }
            Some(_) | None => {}
        }
        self.last = Some((entry.sequence, entry.time));
    }

    pub(crate) fn add(&mut self, sequence: Sequence, event: Event) {
        self.telling.add(sequence, event);
    }

    /// Hands over the rest.
    pub(crate) fn hand_over(&mut self) {
        if let Some((sequence, time)) = self.last.take() {
            self.telling.seal(sequence, time);
            self.telling.hand_over_sealed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    use exchange::EventQueue;
    use terms::{AccountId, AccountIndex, Bond, Command, Money, NewOrder, Place, Price, Shares, Side, Symbol};

    use super::*;

    /// A sink that notes each piece handed over, with its number of events and its last command, and counts the waits
    /// for followers.
    #[derive(Default)]
    struct Sink(Mutex<Vec<(usize, Sequence)>>, AtomicUsize);

    impl EventQueue for Sink {
        fn batch(&self) -> EventBatch {
            EventBatch::default()
        }

        fn push(&self, batch: EventBatch) {
            let piece = (batch.len(), batch.through.expect("it is sealed"));
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
        }

        fn wait(&self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A regression: a turn came as one list, and requests behind it waited until the followers had all of it.
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
        assert_eq!(sink.1.load(Ordering::Relaxed), 0, "no piece of a turn waits for followers");
    }

    /// A regression: a request of 10,000 orders with 10,000 executions each came as one list of gigabytes, and came so
    /// again at every start.
    #[test]
    fn a_request_that_does_very_much_is_handed_over_in_pieces_live_and_in_a_replay() {
        const COMMANDS: u64 = 60;
        const EVENTS: usize = 30_000;
        // Every other order is linked with the one before it: no follower sees one without the other.
        let (account, symbol) = (AccountId::parse(b"1").expect("a number"), Symbol::parse(b"S").expect("a name"));
        let (limit, shares) = (Price::from_units(5).expect("above zero"), Shares::from_units(9).expect("above zero"));
        let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
        let of = |sequence: u64| match sequence % 2 {
            0 => Command::Place(Place::order(account, order).bound(Bond::Linked)),
            _ => Command::Place(Place::order(account, order)),
        };
        let event = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
        let (live, replayed) = (Arc::new(Sink::default()), Arc::new(Sink::default()));
        let (mut telling, mut replay) = (Telling::new(live.clone()), Replay::new(replayed.clone()));
        for sequence in 1..=COMMANDS {
            replay.begin(&Entry { sequence: Sequence(sequence), time: Time(1), command: of(sequence) });
            for _ in 0..EVENTS {
                telling.add(Sequence(sequence), event);
                replay.add(Sequence(sequence), event);
            }
            let next = (sequence < COMMANDS).then(|| Op::Command(of(sequence + 1)));
            telling.hand_over_part(Sequence(sequence), Time(1), next.as_ref());
        }
        telling.hand_over(Sequence(COMMANDS), Time(1));
        replay.hand_over();
        for (sink, waits) in [(live, false), (replayed, true)] {
            let pieces = sink.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            assert!(pieces.iter().all(|(events, _)| *events < REQUEST_EVENTS_MAX + 2 * EVENTS), "{pieces:?}");
            assert!(pieces.iter().all(|(_, through)| through.0 % 2 == 0), "{pieces:?}");
            assert_eq!(pieces.iter().map(|(events, _)| *events).sum::<usize>(), EVENTS * COMMANDS as usize);
            assert_eq!(pieces.last().map(|(_, through)| *through), Some(Sequence(COMMANDS)));
            let waited = if waits { pieces.len() } else { 0 };
            assert_eq!(sink.1.load(Ordering::Relaxed), waited, "a replay waits for followers, a turn does not");
        }
    }
}
