//! Events of a turn on their way to the followers of the market. The events of a turn share their time. This module
//! does not know who follows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use terms::{Event, Sequence, Time};

/// The entrance for the market's events. The loop pushes a batch of events before the answers of its turn leave, so
/// that a client with an answer can see all its effects.
pub trait EventQueue: Send + Sync {
    /// An empty batch to fill.
    fn batch(&self) -> EventBatch;
    /// Takes a sealed batch. Waits only when far too many events wait.
    fn push(&self, batch: EventBatch);

    /// The lag of the follower that is furthest behind.
    fn lag(&self) -> Lag {
        Lag::None
    }

    /// Waits until no follower is too far behind.
    fn wait(&self) {}
}

/// A shared handle.
pub type EventSink = Arc<dyn EventQueue>;

/// A follower of the market.
pub trait EventFollower: Send + Sync {
    /// Takes a sealed batch, which other followers get, too. Waits only when far too many events wait: the events of a
    /// turn come at once.
    fn push(&self, batch: Arc<EventBatch>);

    /// Its lag. A follower that has ended has none, and keeps nobody waiting.
    fn lag(&self) -> Lag {
        Lag::None
    }

    /// Waits until it is not too far behind.
    fn wait(&self) {}
}

/// The lag of a follower behind the market, which says what the market may do next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lag {
    /// Keeps up: anything may come.
    #[default]
    None,
    /// Keeps up no more: only light requests may come.
    Behind,
    /// Stays further behind than light requests may take it: nothing may come.
    TooFar,
}

/// The number of used batches that the fork keeps to look for one that can be filled again.
const USED_MAX: usize = 64;
/// The most events of a batch that the fork keeps: a larger one frees its memory as soon as all have followed it.
const USED_EVENTS_MAX: usize = 1 << 14;

/// Gives each batch to all followers, in their order, and reuses it when all have dropped it.
pub struct EventFork {
    followers: Vec<Arc<dyn EventFollower>>,
    /// Used batches, the oldest in front.
    used: Mutex<VecDeque<Arc<EventBatch>>>,
}

impl EventFork {
    /// Makes a fork to these followers.
    pub fn to(followers: Vec<Arc<dyn EventFollower>>) -> EventSink {
        Arc::new(EventFork { followers, used: Mutex::default() })
    }
}

impl EventQueue for EventFork {
    fn batch(&self) -> EventBatch {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(oldest) = used.pop_front() else { return EventBatch::default() };
        match Arc::try_unwrap(oldest) {
            Ok(mut batch) => {
                batch.clear();
                batch
            }
            Err(followed) => {
                used.push_front(followed);
                EventBatch::default()
            }
        }
    }

    fn lag(&self) -> Lag {
        self.followers.iter().map(|follower| follower.lag()).max().unwrap_or_default()
    }

    fn wait(&self) {
        self.followers.iter().for_each(|follower| follower.wait());
    }

    fn push(&self, batch: EventBatch) {
        let batch = Arc::new(batch);
        self.followers.iter().for_each(|follower| follower.push(batch.clone()));
        if batch.len() > USED_EVENTS_MAX {
            return;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() < USED_MAX {
            used.push_back(batch);
        }
    }
}

/// Events in the order in which they happened; a batch is reused.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// The events, each with the number of its command.
    pub events: Vec<(Sequence, Event)>,
    /// The time of the events; `None` until the batch is sealed.
    pub time: Option<Time>,
    /// The last command whose events are complete in this batch; `None` until it is sealed.
    pub through: Option<Sequence>,
}

impl EventBatch {
    /// Adds an event of a command.
    pub fn add(&mut self, sequence: Sequence, event: Event) {
        self.events.push((sequence, event));
    }

    /// Seals the batch: all commands up to `sequence` are in it, and happened at `time`.
    pub fn seal(&mut self, sequence: Sequence, time: Time) {
        self.through = Some(sequence);
        self.time = Some(time);
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the batch has no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Empties the batch and keeps the memory that it allocated.
    pub fn clear(&mut self) {
        self.events.clear();
        self.time = None;
        self.through = None;
    }
}
