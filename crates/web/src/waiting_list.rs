//! Who waits for a long snapshot. They are made one at a time, with rests, so that others are answered meanwhile; and whoever
//! waits for the same one is told the same one.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::hub::Topic;
use crate::outbox::Outbox;
use crate::text::Text;

/// For the time that one takes, so many times of it are left to others before the next.
const REST: u32 = 127;

/// Everybody who waits.
pub(crate) struct WaitingList {
    line: VecDeque<Topic>,
    by_topic: HashMap<Topic, Vec<(Outbox, Text)>>,
    /// When the next may be made.
    next: Instant,
}

impl WaitingList {
    pub(crate) fn new() -> WaitingList {
        WaitingList { line: VecDeque::new(), by_topic: HashMap::new(), next: Instant::now() }
    }

    /// Puts a connection into the line, with what it is told first. False if it is there already.
    pub(crate) fn add(&mut self, topic: Topic, outbox: &Outbox, answer: Text) -> bool {
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

    /// False if it was not there.
    pub(crate) fn remove(&mut self, topic: Topic, outbox: &Outbox) -> bool {
        let Some(waiting) = self.by_topic.get_mut(&topic) else { return false };
        let before = waiting.len();
        waiting.retain(|(other, _)| other != outbox);
        waiting.len() < before
    }

    /// Those whose turn it is; none when it is nobody's yet.
    pub(crate) fn take_due(&mut self) -> Option<(Topic, Vec<(Outbox, Text)>)> {
        while self.next <= Instant::now() {
            let topic = self.line.pop_front()?;
            let mut waiting = self.by_topic.remove(&topic).unwrap_or_default();
            // Whose connection has ended is in no other list.
            waiting.retain(|(outbox, _)| outbox.is_open());
            if !waiting.is_empty() {
                return Some((topic, waiting));
            }
        }
        None
    }

    /// One took so long.
    pub(crate) fn rest(&mut self, took: Duration) {
        self.next = Instant::now() + took.saturating_mul(REST);
    }

    /// When it is somebody's turn; none while nobody waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.line.is_empty()).then_some(self.next)
    }
}
