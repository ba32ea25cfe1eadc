//! What the sequencer hands over: the events of one turn, which share their time.

use engine::{Event, Sequence, Time};

/// Events in the order in which they happened. Recycled.
#[derive(Debug, Default)]
pub struct EventBatch {
    pub(crate) time: Option<Time>,
    pub(crate) events: Vec<(Sequence, Event)>,
    pub(crate) through: Option<Sequence>,
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

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.time = None;
        self.through = None;
    }
}
