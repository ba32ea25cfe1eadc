//! Subscriptions, found by topic and by connection. So leaving costs as much as joining did, however many others there
//! are.

use std::collections::{BTreeMap, HashMap, HashSet};

use terms::Sequence;

use crate::outbox::Outbox;
use crate::shared_text::{Remembered, SharedText};
use crate::topic::{Subject, Topic};

/// The subscribers of one topic.
#[derive(Default)]
struct Followers {
    outboxes: BTreeMap<u64, Outbox>,
    /// The last snapshot that was sent, and its command.
    snapshot: Option<(Sequence, Remembered)>,
}

/// All subscriptions.
#[derive(Default)]
pub(crate) struct Subscriptions {
    by_topic: HashMap<Topic, Followers>,
    by_connection: HashMap<u64, HashSet<Topic>>,
    /// The number of subscribed topics about each subject.
    about: HashMap<Subject, usize>,
}

/// The change that began or ended a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A change without an effect: it was so already.
    None,
    /// Other subscribers are there, too.
    OneOfMany,
    /// No other subscriber is there.
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

    /// Whether anything about this subject is subscribed to.
    pub(crate) fn has_about(&self, subject: Subject) -> bool {
        self.about.contains_key(&subject)
    }

    /// Lists the subscribers of a topic.
    pub(crate) fn of(&self, topic: Topic) -> impl Iterator<Item = &Outbox> {
        self.by_topic.get(&topic).into_iter().flat_map(|followers| followers.outboxes.values())
    }

    /// Lists all subscribers, each once for each of its topics.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Outbox> {
        self.by_topic.values().flat_map(|followers| followers.outboxes.values())
    }

    /// Returns connections that are to end, and are still subscribed.
    pub(crate) fn ended(&self) -> Vec<Outbox> {
        let ended = self.all().filter(|outbox| !outbox.is_open());
        ended.map(|outbox| (outbox.number(), outbox.clone())).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Returns the topics of a connection.
    pub(crate) fn topics(&self, outbox: &Outbox) -> Vec<Topic> {
        self.by_connection.get(&outbox.number()).into_iter().flatten().copied().collect()
    }

    /// Returns how many connections have a subscription.
    pub(crate) fn connections(&self) -> usize {
        self.by_connection.len()
    }

    /// Returns the snapshot of a topic as it is now, if it was sent and still waits for a client.
    pub(crate) fn snapshot(&self, topic: Topic, sequence: Sequence) -> Option<SharedText> {
        let (of, remembered) = self.by_topic.get(&topic)?.snapshot.as_ref()?;
        remembered.recall().filter(|_| *of == sequence)
    }

    /// Remembers a snapshot: later subscribers get the same one while nothing happens.
    pub(crate) fn remember(&mut self, topic: Topic, sequence: Sequence, snapshot: &SharedText) {
        if let Some(followers) = self.by_topic.get_mut(&topic) {
            followers.snapshot = Some((sequence, snapshot.remember()));
        }
    }
}
