//! The queue between the sequencer and a thread that follows the events. Questions wait in it between the events, first
//! come, first served. It has a bound, and a producer that exceeds it waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::{EventBatch, EventFollower};

/// The number of events with which the thread does not wait for more.
const WAITING_MANY: usize = 1 << 14;
/// The number of events that the thread takes at once; a single batch may have more. In between it does its other work.
const TAKEN_AT_ONCE: usize = 1 << 12;
/// The time that events wait for others before the thread wakes for them. A question wakes it at once.
const NAP: Duration = Duration::from_millis(1);

/// A queue of events and questions of a kind.
pub struct EventQueue<Q> {
    /// The number of events that may wait, give or take a turn; beyond it the sequencer slows down.
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
    /// Makes a queue in which this many events may wait.
    pub fn new(waiting_max: usize) -> EventQueue<Q> {
        let waiting = Waiting { items: VecDeque::new(), events: 0, is_left: false, rest: Idling::Awake, closed: false };
        EventQueue { waiting_max, waiting: Mutex::new(waiting), arrived: Condvar::new(), room: Condvar::new() }
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
        if before >= self.waiting_max && waiting.events < self.waiting_max {
            drop(waiting);
            self.room.notify_all();
        }
        more
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
        waiting.events += batch.len();
        waiting.items.push_back(Item::Events(batch));
        if waiting.rest == Idling::Sleep || waiting.events >= WAITING_MANY {
            self.wake(waiting);
        }
    }
}
