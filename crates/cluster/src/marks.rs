//! Marks: places between two messages of the log at which all nodes make a snapshot and state its hash in the log, so
//! that a node with another state than the others is found. The log alone decides where marks are, so all nodes have
//! the same.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use engine::Engine;
use market::snapshots::StateAt;
use terms::{NodeId, Sequence, Time};

/// The number of messages after which there is a mark, so that a start never has to read more of them.
const MESSAGES_MAX: u64 = 1 << 16;
/// The number of accounts and open orders up to which the loop hashes the state itself as well, in about a millisecond.
const HASHED_AT_ONCE_MAX: usize = 20_000;
/// The number of marks that are remembered for comparisons.
const REMEMBERED: usize = 64;
const STATEMENT_BYTES: usize = 16;

/// The statements of nodes about one mark.
#[derive(Debug, Default)]
struct Mark {
    /// The command behind which this node has the mark.
    sequence: Option<Sequence>,
    /// The hash of this node's memory there, if it was computed.
    in_memory: Option<u64>,
    /// The hash that this node has and does not state, because it only follows.
    unsaid: Option<u64>,
    stated: BTreeMap<NodeId, u64>,
}

/// The last marks.
#[derive(Debug)]
pub(crate) struct Marks {
    every: Duration,
    /// The marks by the position of the message behind them: a node with another state may count its commands
    /// otherwise.
    marks: BTreeMap<u64, Mark>,
}

/// A node's statement about a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub position: u64,
    pub hash: u64,
}

/// The comparison of nodes' states at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The message of the log behind the mark.
    pub position: u64,
    pub hash: u64,
    /// The number of nodes that stated this hash, this one included unless it only follows.
    pub same: usize,
    /// The number of nodes with the most frequent other hash, and that hash.
    pub others: Option<(usize, u64)>,
}

impl Comparison {
    /// Whether more nodes have another state than this one.
    pub(crate) fn is_outvoted(&self) -> bool {
        self.others.is_some_and(|(count, _)| count > self.same)
    }
}

impl Mark {
    /// Compares a hash with the statements about this mark.
    fn compare(&self, position: u64, hash: u64) -> Comparison {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        self.stated.values().for_each(|stated| *counts.entry(*stated).or_default() += 1);
        let same = counts.remove(&hash).unwrap_or(0);
        let others = counts.into_iter().map(|(other, count)| (count, other)).max();
        Comparison { position, hash, same, others }
    }
}

impl Marks {
    /// Makes an empty list, with a mark after this time when messages come.
    pub fn new(every: Duration) -> Marks {
        Marks { every, marks: BTreeMap::new() }
    }

    /// Whether there is a mark before a message at this position and time.
    pub fn is_due(&self, engine: &Engine, position: u64, time: Time) -> bool {
        let every = u64::try_from(self.every.as_micros()).unwrap_or(u64::MAX).max(1);
        let is_later = time.0 / every > engine.time().0 / every;
        let is_far = position / MESSAGES_MAX > engine.shared_log().position() / MESSAGES_MAX;
        engine.sequence() > Sequence::ZERO && (is_later || is_far)
    }

    /// Begins a mark at the engine's state, before the message at this position.
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

    /// The statement about a snapshot; none if it was not made at a mark. Errors: the hash of the state in memory
    /// there, which differs.
    pub fn statement(&self, made: StateAt) -> Result<Option<Statement>, u64> {
        let at = self.marks.iter().rev().find(|(_, mark)| mark.sequence == Some(made.sequence));
        let Some((position, mark)) = at else { return Ok(None) };
        match mark.in_memory {
            Some(hash) if hash != made.hash => Err(hash),
            Some(_) | None => Ok(Some(Statement { position: *position, hash: made.hash })),
        }
    }

    /// Notes the hash that this node has and does not state in the log, and compares it with the statements so far: the
    /// node has no vote, so one other node with another state outvotes it if none has the same.
    pub fn compare_unsaid(&mut self, has: Statement) -> Comparison {
        let mark = self.mark(has.position);
        mark.unsaid = Some(has.hash);
        mark.compare(has.position, has.hash)
    }

    /// Notes a node's statement. Returns the comparison with this node's state, where that is known.
    pub fn state(&mut self, by: NodeId, said: Statement, own: NodeId) -> Option<Comparison> {
        let Statement { position, hash } = said;
        let mark = self.mark(position);
        mark.stated.insert(by, hash);
        let hash = mark.unsaid.or(mark.stated.get(&own).copied())?;
        Some(mark.compare(position, hash))
    }
}

impl Statement {
    /// Encodes the statement for a message.
    pub fn to_bytes(self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(STATEMENT_BYTES);
        bytes.put_u64_le(self.position);
        bytes.put_u64_le(self.hash);
        bytes.freeze()
    }

    /// Reads a statement. Errors: the bytes are none.
    pub fn read(bytes: &[u8]) -> Result<Statement, String> {
        match bytes.as_chunks::<8>() {
            ([position, hash], []) => {
                Ok(Statement { position: u64::from_le_bytes(*position), hash: u64::from_le_bytes(*hash) })
            }
            _ => Err(format!("states what its node hashed to in {} bytes; {STATEMENT_BYTES}", bytes.len())),
        }
    }
}
