//! Who is subscribed to what, found from the topic and from the connection. So leaving costs as much as joining did,
//! however many others there are.

use std::collections::{BTreeMap, HashMap, HashSet};

use engine::Sequence;

use crate::outbox::Outbox;
use crate::text::{Remembered, Text};
use crate::topic::{Subject, Topic};

/// Those who are told of one topic.
#[derive(Default)]
struct Followers {
    outboxes: BTreeMap<u64, Outbox>,
    /// The snapshot that was told last, and what it is of.
    snapshot: Option<(Sequence, Remembered)>,
}

/// All subscriptions.
#[derive(Default)]
pub(crate) struct Subscriptions {
    by_topic: HashMap<Topic, Followers>,
    by_connection: HashMap<u64, HashSet<Topic>>,
    /// Topics about each that somebody is subscribed to.
    about: HashMap<Subject, usize>,
}

/// What changed when a subscription began or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: it was so already.
    None,
    /// Others are subscribed, too.
    OneOfMany,
    /// Nobody else is.
    OnlyOne,
}

impl Subscriptions {
    pub(crate) fn add(&mut self, topic: Topic, outbox: &Outbox) -> Change {
        if !self.by_connection.entry(outbox.number()).or_default().insert(topic) {
            return Change::None;
        }
        let outboxes = &mut self.by_topic.entry(topic).or_default().outboxes;
        outboxes.insert(outbox.number(), outbox.clone());
        if outboxes.len() > 1 {
            return Change::OneOfMany;
        }
        if let Some(subject) = topic.subject() {
            *self.about.entry(subject).or_default() += 1;
        }
        Change::OnlyOne
    }

    pub(crate) fn remove(&mut self, topic: Topic, outbox: &Outbox) -> Change {
        let Some(topics) = self.by_connection.get_mut(&outbox.number()) else { return Change::None };
        if !topics.remove(&topic) {
            return Change::None;
        }
        if topics.is_empty() {
            self.by_connection.remove(&outbox.number());
        }
        if let Some(followers) = self.by_topic.get_mut(&topic) {
            followers.outboxes.remove(&outbox.number());
            if !followers.outboxes.is_empty() {
                return Change::OneOfMany;
            }
        }
        self.by_topic.remove(&topic);
        if let Some(subject) = topic.subject()
            && let Some(topics) = self.about.get_mut(&subject)
        {
            *topics -= 1;
            if *topics == 0 {
                self.about.remove(&subject);
            }
        }
        Change::OnlyOne
    }

    pub(crate) fn has(&self, topic: Topic) -> bool {
        self.by_topic.contains_key(&topic)
    }

    pub(crate) fn is(&self, topic: Topic, outbox: &Outbox) -> bool {
        self.by_connection.get(&outbox.number()).is_some_and(|topics| topics.contains(&topic))
    }

    /// Whether anybody is subscribed to anything about this.
    pub(crate) fn has_about(&self, subject: Subject) -> bool {
        self.about.contains_key(&subject)
    }

    /// Those who are subscribed to a topic.
    pub(crate) fn of(&self, topic: Topic) -> impl Iterator<Item = &Outbox> {
        self.by_topic.get(&topic).into_iter().flat_map(|followers| followers.outboxes.values())
    }

    /// All who are told of anything, each once for each of its topics.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Outbox> {
        self.by_topic.values().flat_map(|followers| followers.outboxes.values())
    }

    /// Connections that are to end, and are subscribed still.
    pub(crate) fn ended(&self) -> Vec<Outbox> {
        let ended = self.all().filter(|outbox| !outbox.is_open());
        ended.map(|outbox| (outbox.number(), outbox.clone())).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// What a connection is subscribed to.
    pub(crate) fn topics(&self, outbox: &Outbox) -> Vec<Topic> {
        self.by_connection.get(&outbox.number()).into_iter().flatten().copied().collect()
    }

    /// Connections that are subscribed to anything.
    pub(crate) fn connections(&self) -> usize {
        self.by_connection.len()
    }

    /// The snapshot of a topic as it is now, if it was told and waits for somebody still.
    pub(crate) fn snapshot(&self, topic: Topic, sequence: Sequence) -> Option<Text> {
        let (of, remembered) = self.by_topic.get(&topic)?.snapshot.as_ref()?;
        remembered.recall().filter(|_| *of == sequence)
    }

    /// Whoever subscribes while nothing happens is told the same one.
    pub(crate) fn remember(&mut self, topic: Topic, sequence: Sequence, snapshot: &Text) {
        if let Some(followers) = self.by_topic.get_mut(&topic) {
            followers.snapshot = Some((sequence, snapshot.remember()));
        }
    }
}
