//! Events of a turn on their way to those who follow the market. The events of a turn share their time. It does not
//! know who follows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Event, Sequence, Time};

/// Where the events of the market go. A batch of events is pushed before the answers of its turn leave, so that whoever
/// has an answer can see all that it tells of.
pub trait EventQueue: Send + Sync {
    /// An empty batch to fill.
    fn batch(&self) -> EventBatch;
    /// Takes a sealed batch. Waits only when far too many events wait.
    fn push(&self, batch: EventBatch);
}

/// A shared handle.
pub type EventSink = Arc<dyn EventQueue>;

/// Someone who follows the market.
pub trait EventFollower: Send + Sync {
    /// Takes a sealed batch, which others follow, too. Waits only when far too many events wait.
    fn push(&self, batch: Arc<EventBatch>);
}

/// How many used batches are kept to look for one that can be filled again.
const USED_MAX: usize = 64;
/// A batch of more events is not kept: its memory is given back as soon as all have followed it.
const USED_EVENTS_MAX: usize = 1 << 14;

/// Gives each batch to all followers, in their order, and reuses it when all have dropped it.
pub struct EventFork {
    followers: Vec<Arc<dyn EventFollower>>,
    /// The oldest in front.
    used: Mutex<VecDeque<Arc<EventBatch>>>,
}

impl EventFork {
    /// A fork to these followers.
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

/// Events in the order in which they happened, to be used again.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// With the command that each is of.
    pub events: Vec<(Sequence, Event)>,
    /// When they happened; none until it is sealed.
    pub time: Option<Time>,
    /// All commands up to here are in it; none until it is sealed.
    pub through: Option<Sequence>,
}

impl EventBatch {
    /// Adds what a command did.
    pub fn add(&mut self, sequence: Sequence, event: Event) {
        self.events.push((sequence, event));
    }

    /// Says that all commands up to `sequence` are in it, and when they were.
    pub fn seal(&mut self, sequence: Sequence, time: Time) {
        self.through = Some(sequence);
        self.time = Some(time);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Empties it and keeps what it allocated.
    pub fn clear(&mut self) {
        self.events.clear();
        self.time = None;
        self.through = None;
    }
}
