//! Clients that wait for a long snapshot. Long snapshots are made one at a time, with pauses, so that other clients get
//! answers meanwhile. All clients that wait for the same one get the same one.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::outbox::Outbox;
use crate::shared_text::SharedText;
use crate::topic::Topic;

/// The rest after a snapshot, as a multiple of its time, which is left to others before the next one.
const REST: u32 = 127;

/// All clients that wait.
pub(crate) struct WaitingList {
    line: VecDeque<Topic>,
    by_topic: HashMap<Topic, Vec<(Outbox, SharedText)>>,
    /// The time of the next snapshot.
    next: Instant,
}

impl WaitingList {
    pub(crate) fn new() -> WaitingList {
        WaitingList { line: VecDeque::new(), by_topic: HashMap::new(), next: Instant::now() }
    }

    /// Adds a connection, with its first message. Returns false if it waits already.
    pub(crate) fn add(&mut self, topic: Topic, outbox: &Outbox, answer: SharedText) -> bool {
        let waiting = self.by_topic.entry(topic).or_insert_with(|| {
            self.line.push_back(topic);
            Vec::new()
        });
        let is_new = !waiting.iter().any(|(other, _)| other == outbox);
        match is_new {
            true => waiting.push((outbox.clone(), answer)),
            false => outbox.send(answer),
        }
        is_new
    }

    /// Removes a connection. Returns its first message, which was not sent; `None` if it was not there.
    pub(crate) fn remove(&mut self, topic: Topic, outbox: &Outbox) -> Option<SharedText> {
        let waiting = self.by_topic.get_mut(&topic)?;
        let place = waiting.iter().position(|(other, _)| other == outbox)?;
        Some(waiting.remove(place).1)
    }

    /// Takes the clients whose turn it is; `None` while it is no client's turn.
    pub(crate) fn take_due(&mut self) -> Option<(Topic, Vec<(Outbox, SharedText)>)> {
        while self.next <= Instant::now() {
            let topic = self.line.pop_front()?;
            let mut waiting = self.by_topic.remove(&topic).unwrap_or_default();
            // Connections that have ended are in no other list.
            waiting.retain(|(outbox, _)| outbox.is_open());
            if !waiting.is_empty() {
                return Some((topic, waiting));
            }
        }
        None
    }

    /// Notes how long a snapshot took.
    pub(crate) fn rest(&mut self, took: Duration) {
        self.next = Instant::now() + took.saturating_mul(REST);
    }

    /// Returns the time of the next turn; `None` while no client waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.line.is_empty()).then_some(self.next)
    }
}
