//! The queue between the sequencer and a thread that follows the events. Questions wait in it between the events: first
//! come, first served. It has a bound, and whoever brings events beyond it waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::{EventBatch, EventFollower};

/// With so many events the thread does not wait for more.
const WAITING_MANY: usize = 1 << 14;
/// Events that the thread takes at once; a single batch may have more. In between it looks after what else it has to
/// do.
const TAKEN_AT_ONCE: usize = 1 << 12;
/// How long events wait for others before the thread wakes for them. A question wakes it at once.
const NAP: Duration = Duration::from_millis(1);

/// Events and questions of a kind.
pub struct EventQueue<Q> {
    /// Events that may wait to be followed, give or take a turn; past it the sequencer slows down.
    waiting_max: usize,
    waiting: Mutex<Waiting<Q>>,
    /// For the thread: there is something to do.
    arrived: Condvar,
    /// For the sequencer: there is room again.
    room: Condvar,
}

struct Waiting<Q> {
    items: VecDeque<Item<Q>>,
    events: usize,
    /// Whether something was left when the thread took items last.
    is_left: bool,
    rest: Idling,
    closed: bool,
}

/// What came through the line.
pub enum Item<Q> {
    Events(Arc<EventBatch>),
    Question(Q),
}

/// How the thread sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Idling {
    Awake,
    /// Only a question, or many events, wake it before its time.
    Nap,
    /// Anything wakes it.
    Sleep,
}

impl<Q> EventQueue<Q> {
    /// A line in which so many events may wait.
    pub fn new(waiting_max: usize) -> EventQueue<Q> {
        let waiting = Waiting { items: VecDeque::new(), events: 0, is_left: false, rest: Idling::Awake, closed: false };
        EventQueue { waiting_max, waiting: Mutex::new(waiting), arrived: Condvar::new(), room: Condvar::new() }
    }

    /// Leaves a question behind all events that came so far. It is dropped when the line is closed.
    pub fn ask(&self, question: Q) {
        let mut waiting = self.lock();
        if waiting.closed {
            return;
        }
        waiting.items.push_back(Item::Question(question));
        self.wake(waiting);
    }

    /// Nothing more is taken; what waits may still be followed.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        self.room.notify_all();
        self.wake(waiting);
    }

    /// As `close`; what waits is dropped, for the thread has ended.
    pub fn abandon(&self) {
        self.close();
        self.lock().items.clear();
    }

    /// How many events wait to be followed. It waits for nobody.
    pub fn waiting_events(&self) -> usize {
        self.lock().events
    }

    /// Whether all that came is followed and answered.
    pub fn is_done(&self) -> bool {
        let waiting = self.lock();
        waiting.items.is_empty() && waiting.rest != Idling::Awake
    }

    /// Moves what waits into `items`, which are empty; a part of it where many events wait. If the thread just worked,
    /// it naps first, so that more gathers. Waits for `patience` at most. False when the queue is closed and empty.
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
