//! Marks: places between two messages of the log at which all nodes make a snapshot and say in the log what it hashes to. So a node whose
//! state is not that of the others is found out. Where marks are follows from the log alone, and so all nodes have the same.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use engine::{Engine, NodeId, Sequence, Time};
use market::snapshots::StateAt;

/// There is a mark at least after so many messages, so that a start never has to read more of them.
const MESSAGES_MAX: u64 = 1 << 16;
/// Up to so many accounts and open orders the loop hashes the state itself as well: in about a millisecond.
const HASHED_AT_ONCE_MAX: usize = 20_000;
/// How many marks are remembered to compare what nodes say of them.
const REMEMBERED: usize = 64;
const STATEMENT_BYTES: usize = 16;

/// What nodes said of one mark.
#[derive(Debug, Default)]
struct Mark {
    /// The command behind which this node has it.
    sequence: Option<Sequence>,
    /// What this node's memory hashed to there, if that was looked at.
    in_memory: Option<u64>,
    /// What this node has and does not say, because it only follows.
    unsaid: Option<u64>,
    stated: BTreeMap<NodeId, u64>,
}

/// What is known of the last marks.
#[derive(Debug)]
pub(crate) struct Marks {
    every: Duration,
    /// By the place of the message before which they are: a node that has gone another way counts its commands otherwise.
    marks: BTreeMap<u64, Mark>,
}

/// What a node says of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub position: u64,
    pub hash: u64,
}

/// How the states of nodes compare at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The message of the log before which the mark is.
    pub position: u64,
    pub hash: u64,
    /// How many nodes said that they have this hash, this one included unless it only follows, …
    pub same: usize,
    /// … and how many have the most frequent other one, and which that is.
    pub others: Option<(usize, u64)>,
}

impl Comparison {
    /// Whether more nodes have another state than have this one.
    pub(crate) fn is_outvoted(&self) -> bool {
        self.others.is_some_and(|(count, _)| count > self.same)
    }
}

impl Mark {
    /// How a hash compares with what was said of this mark.
    fn compare(&self, position: u64, hash: u64) -> Comparison {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        self.stated.values().for_each(|stated| *counts.entry(*stated).or_default() += 1);
        let same = counts.remove(&hash).unwrap_or(0);
        let others = counts.into_iter().map(|(other, count)| (count, other)).max();
        Comparison { position, hash, same, others }
    }
}

impl Marks {
    /// A mark after so long, when messages come.
    pub fn new(every: Duration) -> Marks {
        Marks { every, marks: BTreeMap::new() }
    }

    /// Whether there is a mark before a message that is taken at this place and time.
    pub fn is_due(&self, engine: &Engine, position: u64, time: Time) -> bool {
        let every = u64::try_from(self.every.as_micros()).unwrap_or(u64::MAX).max(1);
        let is_later = time.0 / every > engine.time().0 / every;
        let is_far = position / MESSAGES_MAX > engine.shared_log().position() / MESSAGES_MAX;
        engine.sequence() > Sequence::ZERO && (is_later || is_far)
    }

    /// There is a mark where the engine stands, before the message at this place.
    pub fn begin(&mut self, engine: &Engine, position: u64) {
        let is_small = engine.account_count().saturating_add(engine.open_order_count()) <= HASHED_AT_ONCE_MAX;
        let in_memory = is_small.then(|| engine.state_hash());
        let mark = self.mark(position);
        (mark.sequence, mark.in_memory) = (Some(engine.sequence()), in_memory);
    }

    /// Remembers a mark, and forgets the oldest.
    fn mark(&mut self, position: u64) -> &mut Mark {
        while self.marks.len() >= REMEMBERED {
            self.marks.pop_first();
        }
        self.marks.entry(position).or_default()
    }

    /// What there is to say of a snapshot; nothing if it was not made at a mark. Errors: what the state in memory hashed to there, which
    /// is something else.
    pub fn statement(&self, made: StateAt) -> Result<Option<Statement>, u64> {
        let at = self.marks.iter().rev().find(|(_, mark)| mark.sequence == Some(made.sequence));
        let Some((position, mark)) = at else { return Ok(None) };
        match mark.in_memory {
            Some(hash) if hash != made.hash => Err(hash),
            Some(_) | None => Ok(Some(Statement { position: *position, hash: made.hash })),
        }
    }

    /// What this node has and does not say in the log. How that compares with what was said by now: it has no voice, so one other node with
    /// another state outvotes it where none has the same.
    pub fn compare_unsaid(&mut self, has: Statement) -> Comparison {
        let mark = self.mark(has.position);
        mark.unsaid = Some(has.hash);
        mark.compare(has.position, has.hash)
    }

    /// What a node says. How this node's state compares, where that is known.
    pub fn state(&mut self, by: NodeId, said: Statement, own: NodeId) -> Option<Comparison> {
        let Statement { position, hash } = said;
        let mark = self.mark(position);
        mark.stated.insert(by, hash);
        let hash = mark.unsaid.or(mark.stated.get(&own).copied())?;
        Some(mark.compare(position, hash))
    }
}

impl Statement {
    /// As a message carries it.
    pub fn to_bytes(self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(STATEMENT_BYTES);
        bytes.put_u64_le(self.position);
        bytes.put_u64_le(self.hash);
        bytes.freeze()
    }

    /// Errors: it is none.
    pub fn read(bytes: &[u8]) -> Result<Statement, String> {
        match bytes.as_chunks::<8>() {
            ([position, hash], []) => {
                Ok(Statement { position: u64::from_le_bytes(*position), hash: u64::from_le_bytes(*hash) })
            }
            _ => Err(format!("states what its node hashed to in {} bytes; {STATEMENT_BYTES}", bytes.len())),
        }
    }
}
