//! Those who follow the market: where its events go, live or in a replay, and who makes durable what was made of them.
//! It does not know what they make of the events.

use std::sync::Arc;

use engine::{Command, Entry, Event, Op, Sequence, Time};
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

/// Events that are handed over before the end of their request, between two commands of it: a request may have 10,000
/// commands, of which each makes 30,000 events and more. An ordinary request is never cut.
pub const REQUEST_EVENTS_MAX: usize = 1 << 17;

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

    /// Hands over what was gathered in the middle of a request, if that is very much. `next` comes behind `through`.
    #[inline]
    pub(crate) fn hand_over_part(&mut self, through: Sequence, time: Time, next: Option<&Op>) {
        if self.is_to_be_cut(next) {
            self.hand_over(through, time);
        }
    }

    /// Whether very much was gathered of a request, and may be handed over before `next`.
    #[inline]
    pub(crate) fn is_to_be_cut(&self, next: Option<&Op>) -> bool {
        self.batch.len() >= REQUEST_EVENTS_MAX && next.is_none_or(may_be_apart)
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

/// Whether those who follow may see the market just before this op. An order that belongs to the command before it
/// comes with that one.
fn may_be_apart(op: &Op) -> bool {
    match op {
        Op::Command(Command::PlaceLinked { .. } | Command::PlacePending { .. }) => false,
        Op::Command(command) => command.unconditional().is_none(),
        Op::Query(_) => true,
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

    /// Call it before a command's events.
    pub(crate) fn begin(&mut self, entry: &Entry) {
        match self.last {
            Some((_, time)) if time != entry.time => self.hand_over(),
            Some((through, time)) => self.telling.hand_over_part(through, time, Some(&Op::Command(entry.command))),
            None => {}
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

    use engine::{AccountId, AccountIndex, Money, NewOrder, Price, Shares, Side, Symbol};
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

    /// A request of 10,000 orders that each executed 10,000 times came as one list, of gigabytes, and came so again at
    /// every start.
    #[test]
    fn a_request_that_does_very_much_is_handed_over_in_pieces_live_and_in_a_replay() {
        const COMMANDS: u64 = 60;
        const EVENTS: usize = 30_000;
        // Every other order is linked with the one before it: nobody sees the one without the other.
        let (account, symbol) = (AccountId::parse(b"1").expect("a number"), Symbol::parse(b"S").expect("a name"));
        let (limit, shares) = (Price::from_units(5).expect("above zero"), Shares::from_units(9).expect("above zero"));
        let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
        let of = |sequence: u64| match sequence % 2 {
            0 => Command::PlaceLinked { account, order, client_id: None, until: None },
            _ => Command::PlaceOrder { account, order, client_id: None, until: None },
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
        for sink in [live, replayed] {
            let pieces = sink.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            assert!(pieces.iter().all(|(events, _)| *events < REQUEST_EVENTS_MAX + 2 * EVENTS), "{pieces:?}");
            assert!(pieces.iter().all(|(_, through)| through.0 % 2 == 0), "{pieces:?}");
            assert_eq!(pieces.iter().map(|(events, _)| *events).sum::<usize>(), EVENTS * COMMANDS as usize);
            assert_eq!(pieces.last().map(|(_, through)| *through), Some(Sequence(COMMANDS)));
        }
    }
}
