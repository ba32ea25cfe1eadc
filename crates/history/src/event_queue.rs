//! The queue between the sequencer and a thread that follows the events. Questions wait in it between the events, first
//! come, first served.
//!
//! A turn that begins while few events wait brings all of its events at once, however many they are: the sequencer
//! waits for none of them to be followed. Then the thread is behind, and the market takes light requests alone. These
//! may add as many events as the thread may be behind, and lower the bound of all waiting events by as many as they
//! add. So one half of what the thread follows then is what they brought, and the other half was there before: it keeps
//! up again, whatever light requests bring. The queue has a hard bound besides, at which a producer waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::{EventBatch, EventFollower, Lag};
use terms::Time;

/// The number of events with which the thread does not wait for more.
const WAITING_MANY: usize = 1 << 14;
/// The number of events that the thread takes at once; a single batch may have more. In between it does its other work.
const TAKEN_AT_ONCE: usize = 1 << 12;
/// The time that events wait for others before the thread wakes for them. A question wakes it at once.
const NAP: Duration = Duration::from_millis(1);

/// A queue of events and questions of a kind.
pub struct EventQueue<Q> {
    /// The number of waiting events with which the thread is behind.
    behind_from: usize,
    /// The number of events that may wait, give or take a batch.
    waiting_max: usize,
    waiting: Mutex<Waiting<Q>>,
    /// The signal to the thread that there is work.
    arrived: Condvar,
    /// The signal to the sequencer that there is room again.
    room: Condvar,
}

struct Waiting<Q> {
    items: VecDeque<Item<Q>>,
    events: usize,
    /// The number of waiting events from which the thread is too far behind. At least `behind_from`.
    too_far_from: usize,
    /// The time of the last turn that brought events.
    turn: Option<Time>,
    /// Whether the thread was behind when that turn began to bring them.
    turn_began_behind: bool,
    /// Whether items were left when the thread took some last.
    is_left: bool,
    rest: Idling,
    closed: bool,
}

/// An item of the queue.
pub enum Item<Q> {
    Events(Arc<EventBatch>),
    Question(Q),
}

/// The sleep of the thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Idling {
    Awake,
    /// The sleep that only a question or many events end early.
    Nap,
    /// The sleep that any item ends.
    Sleep,
}

impl<Q> EventQueue<Q> {
    /// Makes a queue to a thread that is behind with `behind_from` events, and in which `waiting_max` events may wait.
    pub fn new(behind_from: usize, waiting_max: usize) -> EventQueue<Q> {
        let waiting = Waiting {
            items: VecDeque::new(),
            events: 0,
            too_far_from: behind_from,
            turn: None,
            turn_began_behind: false,
            is_left: false,
            rest: Idling::Awake,
            closed: false,
        };
        let waiting = Mutex::new(waiting);
        EventQueue { behind_from, waiting_max, waiting, arrived: Condvar::new(), room: Condvar::new() }
    }

    /// Adds a question behind all events so far. It is dropped when the queue is closed.
    pub fn ask(&self, question: Q) {
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        waiting.items.push_back(Item::Question(question));
        self.wake(waiting);
    }

    /// Takes no more items; waiting ones may still be followed.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        self.room.notify_all();
        self.wake(waiting);
    }

    /// Closes the queue and drops its items, because the thread has ended.
    pub fn abandon(&self) {
        self.close();
        self.lock().items.clear();
    }

    /// The number of waiting events. It does not wait.
    pub fn waiting_events(&self) -> usize {
        self.lock().events
    }

    /// Whether all items so far are followed and answered.
    pub fn is_done(&self) -> bool {
        let waiting = self.lock();
        waiting.items.is_empty() && waiting.rest != Idling::Awake
    }

    /// Moves waiting items into `items`, which are empty; a part of them where many events wait. If the thread just
    /// worked, it naps first, so that more gather. Waits for `patience` at most. Returns false when the queue is closed
    /// and empty.
    pub fn take(&self, items: &mut VecDeque<Item<Q>>, nap: bool, patience: Duration) -> bool {
        let mut waiting = self.lock();
        let nap = nap && !waiting.is_left;
        for (rest, patience) in [(Idling::Nap, NAP), (Idling::Sleep, patience)] {
            let over = |waiting: &Waiting<Q>| match rest {
                Idling::Nap => waiting.events >= WAITING_MANY || waiting.items.iter().any(Item::is_question),
                Idling::Sleep | Idling::Awake => !waiting.items.is_empty(),
            };
            if rest == Idling::Nap && !nap {
                continue;
            }
            let until = Instant::now() + patience;
            while !over(&waiting) && !waiting.closed {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                waiting.rest = rest;
                waiting = self.arrived.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        waiting.rest = Idling::Awake;
        let before = waiting.events;
        waiting.take_some(items);
        let more = !waiting.closed || !items.is_empty();
        if before >= self.behind_from && waiting.events < before {
            drop(waiting);
            self.room.notify_all();
        }
        more
    }

    fn lag_of(&self, waiting: &Waiting<Q>) -> Lag {
        match waiting.events {
            _ if waiting.closed => Lag::None,
            few if few < self.behind_from => Lag::None,
            many if many < waiting.too_far_from.min(self.waiting_max) => Lag::Behind,
            _ => Lag::TooFar,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<Q>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut waiting: MutexGuard<'_, Waiting<Q>>) {
        if waiting.rest != Idling::Awake {
            waiting.rest = Idling::Awake;
            drop(waiting);
            self.arrived.notify_one();
        }
    }
}

impl<Q> Waiting<Q> {
    /// Counts the events of a batch, and sets how many may wait from now on.
    fn bring(&mut self, batch: &EventBatch, behind_from: usize) {
        if batch.time.is_none() || batch.time != self.turn {
            self.turn = batch.time;
            self.turn_began_behind = self.events >= behind_from;
        }
        self.events += batch.len();
        self.too_far_from = match self.turn_began_behind {
            true => self.too_far_from.saturating_sub(batch.len()).max(behind_from),
            false => self.events.saturating_add(behind_from),
        };
    }

    fn take_some(&mut self, items: &mut VecDeque<Item<Q>>) {
        let mut taken = 0;
        if self.events <= TAKEN_AT_ONCE {
            std::mem::swap(&mut self.items, items);
            taken = self.events;
        } else {
            while taken < TAKEN_AT_ONCE
                && let Some(item) = self.items.pop_front()
            {
                taken += item.events();
                items.push_back(item);
            }
        }
        self.events -= taken;
        self.is_left = !self.items.is_empty();
    }
}

impl<Q> Item<Q> {
    fn events(&self) -> usize {
        match self {
            Item::Events(batch) => batch.len(),
            Item::Question(_) => 0,
        }
    }

    fn is_question(&self) -> bool {
        match self {
            Item::Events(_) => false,
            Item::Question(_) => true,
        }
    }
}

impl<Q: Send> EventFollower for EventQueue<Q> {
    fn push(&self, batch: Arc<EventBatch>) {
        let mut waiting = self.lock();
        while waiting.events >= self.waiting_max && !waiting.closed {
            waiting = self.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.closed {
            return;
        }
        waiting.bring(&batch, self.behind_from);
        waiting.items.push_back(Item::Events(batch));
        if waiting.rest == Idling::Sleep || waiting.events >= WAITING_MANY {
            self.wake(waiting);
        }
    }

    fn lag(&self) -> Lag {
        self.lag_of(&self.lock())
    }

    fn wait(&self) {
        let mut waiting = self.lock();
        while self.lag_of(&waiting) == Lag::TooFar {
            waiting = self.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use terms::{AccountIndex, Event, Money, Sequence};

    use super::*;

    const BEHIND_FROM: usize = 10_000;

    fn queue() -> EventQueue<()> {
        EventQueue::new(BEHIND_FROM, 50 * BEHIND_FROM)
    }

    /// Brings this many events of a turn, in one batch.
    fn bring(queue: &EventQueue<()>, turn: u64, events: usize) {
        let mut batch = EventBatch::default();
        let changed = Event::BalanceChanged { account: AccountIndex(0), balance: Money::ZERO };
        (0..events).for_each(|_| batch.add(Sequence(turn), changed));
        batch.seal(Sequence(turn), Time(turn));
        queue.push(Arc::new(batch));
    }

    /// Takes some items. Returns the number of their events.
    fn take(queue: &EventQueue<()>) -> usize {
        let mut items = VecDeque::new();
        queue.take(&mut items, false, Duration::ZERO);
        items.iter().map(Item::events).sum()
    }

    #[test]
    fn a_turn_that_begins_while_few_events_wait_brings_all_of_its_own() {
        let queue = queue();
        bring(&queue, 1, BEHIND_FROM - 1);
        assert_eq!(queue.lag(), Lag::None);
        // The thread takes nothing, and nobody waits for it.
        (0..30).for_each(|_| bring(&queue, 2, BEHIND_FROM));
        assert_eq!((queue.waiting_events(), queue.lag()), (31 * BEHIND_FROM - 1, Lag::Behind));
        queue.close();
        assert_eq!(queue.lag(), Lag::None);
    }

    /// Light requests could keep a thread behind for ever, and heavy ones from their turns, if they might bring as many
    /// events as are followed.
    #[test]
    fn a_thread_that_is_behind_keeps_up_again_whatever_turns_come() {
        let queue = queue();
        let before = 20 * BEHIND_FROM;
        (0..200).for_each(|_| bring(&queue, 1, before / 200));
        let (mut turn, mut brought, mut most) = (1, 0, 0);
        while queue.lag() != Lag::None {
            if queue.lag() == Lag::Behind {
                turn += 1;
                bring(&queue, turn, 100);
                brought += 100;
                assert!(brought <= before + BEHIND_FROM, "as many as were there before, and their leeway: {brought}");
            } else {
                take(&queue);
            }
            most = most.max(queue.waiting_events());
        }
        assert!(most <= before + BEHIND_FROM, "{most} events waited");
        assert!(brought >= BEHIND_FROM / 2, "they waited for nothing at first: {brought}");
    }

    #[test]
    fn a_turn_that_begins_with_too_many_events_waits_until_some_are_taken() {
        let queue = queue();
        bring(&queue, 1, BEHIND_FROM);
        bring(&queue, 2, BEHIND_FROM);
        assert_eq!(queue.lag(), Lag::TooFar);
        std::thread::scope(|scope| {
            scope.spawn(|| queue.wait());
            while queue.lag() == Lag::TooFar {
                take(&queue);
            }
        });
    }
}
