//! The messages that this market took of a log that several nodes share. A node writes messages, each with commands;
//! every node reads all of them in the log's order and applies their commands. This state alone decides which messages
//! count, so all nodes decide the same: each message of a node counts once, in the order of their numbers, and messages
//! of an older epoch never count.

use std::collections::BTreeMap;

use terms::{LogMessage, NodeId, SymbolIndex, Time};

/// The last messages that were taken, by the nodes that wrote them, and when the phases of symbols were changed since
/// the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedLog {
    last: BTreeMap<NodeId, LogMessage>,
    phases: BTreeMap<SymbolIndex, Time>,
}

impl SharedLog {
    /// No message was taken.
    pub fn new() -> SharedLog {
        SharedLog::default()
    }

    /// The message that was taken last.
    pub fn last(&self) -> Option<LogMessage> {
        self.last.values().max_by_key(|message| message.position).copied()
    }

    /// The position of the last message; zero if none was taken.
    pub fn position(&self) -> u64 {
        self.last().map_or(0, |message| message.position)
    }

    /// The last message of a node.
    pub fn of(&self, node: NodeId) -> Option<LogMessage> {
        self.last.get(&node).copied()
    }

    /// Whether the market takes a message. If not, it was taken before, or an earlier one is missing, or its writer has
    /// begun anew since.
    pub fn accepts(&self, message: &LogMessage) -> bool {
        let (epoch, number) = self.of(message.node).map_or((0, 0), |last| (last.epoch, last.number));
        let is_next = match message.number {
            0 => epoch.checked_add(1) == Some(message.epoch),
            next => epoch == message.epoch && epoch > 0 && number.checked_add(1) == Some(next),
        };
        is_next && message.position > self.position()
    }

    /// Takes a message as the last one of its writer.
    pub(crate) fn take(&mut self, message: LogMessage) {
        self.last.insert(message.node, message);
    }

    /// The phase of a symbol was changed: it was due then, or asked for. One server alone needs not know that: nobody
    /// acts later than it.
    pub(crate) fn note_phase(&mut self, symbol: SymbolIndex, at: Time) {
        if !self.last.is_empty() {
            let noted = self.phases.entry(symbol).or_insert(at);
            *noted = at.max(*noted);
        }
    }

    /// Whether the phase of a symbol was changed at this time or later.
    pub fn has_phase_since(&self, symbol: SymbolIndex, time: Time) -> bool {
        self.phases.get(&symbol).is_some_and(|noted| *noted >= time)
    }

    /// The times at which the phases of symbols were last changed, by symbol.
    pub fn phases(&self) -> impl Iterator<Item = (SymbolIndex, Time)> {
        self.phases.iter().map(|(symbol, at)| (*symbol, *at))
    }

    /// The last messages, by node.
    pub fn all(&self) -> impl Iterator<Item = LogMessage> {
        self.last.values().copied()
    }
}
