//! Clients that wait for a long snapshot. Long snapshots are made one at a time, with pauses, so that other clients get
//! answers meanwhile. All clients that wait for the same one get the same one.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::outbox::{KeptBytes, Outbox};
use crate::shared_text::SharedText;
use crate::topic::Topic;

/// The rest after a snapshot, as a multiple of its time, which is left to others before the next one.
const REST: u32 = 127;

/// A client that waits for a snapshot.
pub(crate) struct WaitingClient {
    outbox: Outbox,
    /// The answer to its request, which is sent before the snapshot.
    answer: SharedText,
    /// The bytes of the answer, counted among those that wait for the connection.
    _kept: KeptBytes,
}

impl WaitingClient {
    /// Answers the client's request.
    pub(crate) fn answer(self) -> Outbox {
        self.outbox.send(self.answer);
        self.outbox
    }
}

/// All clients that wait.
pub(crate) struct WaitingList {
    line: VecDeque<Topic>,
    /// The clients by the numbers of their connections. A topic that they have left stays in line.
    by_topic: HashMap<Topic, BTreeMap<u64, WaitingClient>>,
    by_connection: HashMap<u64, HashSet<Topic>>,
    /// The time of the next snapshot.
    next: Instant,
}

impl WaitingList {
    pub(crate) fn new() -> WaitingList {
        let (line, by_topic, by_connection) = (VecDeque::new(), HashMap::new(), HashMap::new());
        WaitingList { line, by_topic, by_connection, next: Instant::now() }
    }

    /// Adds a connection, with its first message. Returns false if it waits already.
    pub(crate) fn add(&mut self, topic: Topic, outbox: &Outbox, answer: SharedText) -> bool {
        if !self.by_connection.entry(outbox.number()).or_default().insert(topic) {
            outbox.send(answer);
            return false;
        }
        let waiting = self.by_topic.entry(topic).or_insert_with(|| {
            self.line.push_back(topic);
            BTreeMap::new()
        });
        let _kept = outbox.keep(answer.cost(0));
        waiting.insert(outbox.number(), WaitingClient { outbox: outbox.clone(), answer, _kept });
        true
    }

    /// Removes a connection. Returns it with its first message, which was not sent; `None` if it was not there.
    pub(crate) fn remove(&mut self, topic: Topic, outbox: &Outbox) -> Option<WaitingClient> {
        self.forget(topic, outbox.number());
        self.by_topic.get_mut(&topic)?.remove(&outbox.number())
    }

    /// Removes a connection that has ended from the lists of all topics.
    pub(crate) fn leave(&mut self, outbox: &Outbox) {
        for topic in self.by_connection.remove(&outbox.number()).into_iter().flatten() {
            if let Some(waiting) = self.by_topic.get_mut(&topic) {
                waiting.remove(&outbox.number());
            }
        }
    }

    /// Takes the clients whose turn it is; `None` while it is no client's turn.
    pub(crate) fn take_due(&mut self) -> Option<(Topic, Vec<WaitingClient>)> {
        while self.next <= Instant::now() {
            let topic = self.line.pop_front()?;
            let waiting = self.by_topic.remove(&topic).unwrap_or_default();
            waiting.keys().for_each(|number| self.forget(topic, *number));
            let open: Vec<WaitingClient> = waiting.into_values().filter(|client| client.outbox.is_open()).collect();
            if !open.is_empty() {
                return Some((topic, open));
            }
        }
        None
    }

    /// Ends the connections of all that wait: no snapshot comes any more.
    pub(crate) fn end(&mut self) {
        self.line.clear();
        self.by_connection.clear();
        let waiting = self.by_topic.drain().flat_map(|(_, waiting)| waiting.into_values());
        waiting.for_each(|client| client.outbox.overflow());
    }

    fn forget(&mut self, topic: Topic, connection: u64) {
        if let Some(topics) = self.by_connection.get_mut(&connection) {
            topics.remove(&topic);
            if topics.is_empty() {
                self.by_connection.remove(&connection);
            }
        }
    }

    /// Notes how long a snapshot took.
    pub(crate) fn rest(&mut self, took: Duration) {
        self.next = Instant::now() + took.saturating_mul(REST);
    }

    /// Returns the time of the next turn; `None` while no client waits.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.line.is_empty()).then_some(self.next)
    }

    /// Whether nothing of anybody is kept.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_connection.is_empty() && self.by_topic.values().all(BTreeMap::is_empty)
    }
}
