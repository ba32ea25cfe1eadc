//! Messages of the log as bytes: the writer, the commands, and a checksum over everything.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version of this format |
//! | 8 | the cluster: messages of another one are never taken |
//! | 2, 4, 8 | node, its epoch, number in the epoch |
//! | 2, 2 | number of the part, number of parts |
//! | 8 | microseconds since 1970 when it was written, by the writer's guarded clock ([`market::timekeeper`]) |
//! | 4 | number of commands in all parts |
//! | 8, 4 | position and checksum of the last message that its writer had taken; 0 and 0 for none |
//! | 4 | bytes of callers before the commands in all parts |
//! | … | commands, encoded as in the journal, or a part; without any, the hash of the node's state ([`crate::marks`]) |
//! | 4 | CRC-32 of everything before it |
//!
//! Integers are little-endian.
//!
//! The version of a message also says by which rules its commands are applied, so all nodes apply them by the same
//! rules, whatever other rules they know. Nodes write messages of a version only when all of them know it
//! ([`crate::upgrade`]).

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use terms::{Command, NodeId, Time};

use crate::client::LogError;
use crate::versions::{NEWEST, OLDEST};

/// The offset of the last message that the writer had taken.
const BEHIND_AT: usize = 1 + 8 + 2 + 4 + 8 + 2 + 2 + 8 + 4;
const HEAD_BYTES: usize = BEHIND_AT + 8 + 4 + 4;
const CHECKSUM_BYTES: usize = 4;
/// The length of a message without its commands.
pub(crate) const OVERHEAD_BYTES: usize = HEAD_BYTES + CHECKSUM_BYTES;
/// Market time is ahead of the clock of who writes a message by no more than this, whatever the log's clock shows.
/// Clocks that are set by the network are nearer to each other, and a message that is sent again while the log chooses
/// a leader is not much older.
pub(crate) const AHEAD_MAX: Duration = Duration::from_secs(10);

/// A decoded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub version: u8,
    pub cluster: u64,
    pub node: NodeId,
    pub epoch: u32,
    pub number: u64,
    /// The number of the part, from 0.
    pub part: u16,
    pub parts: u16,
    pub written: Time,
    pub count: u32,
    pub behind: MessageId,
    /// The bytes of callers before the commands, in all parts.
    pub callers_bytes: u32,
    pub commands: Bytes,
}

/// The identity of a message that its writer had taken. The default value means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageId {
    pub position: u64,
    pub checksum: u32,
}

impl Message {
    pub fn to_bytes(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(OVERHEAD_BYTES + self.commands.len());
        bytes.put_u8(self.version);
        bytes.put_u64_le(self.cluster);
        bytes.put_u16_le(self.node.number());
        bytes.put_u32_le(self.epoch);
        bytes.put_u64_le(self.number);
        bytes.put_u16_le(self.part);
        bytes.put_u16_le(self.parts);
        bytes.put_u64_le(self.written.0);
        bytes.put_u32_le(self.count);
        bytes.put_u64_le(self.behind.position);
        bytes.put_u32_le(self.behind.checksum);
        bytes.put_u32_le(self.callers_bytes);
        bytes.put_slice(&self.commands);
        let checksum = crc32fast::hash(&bytes);
        bytes.put_u32_le(checksum);
        bytes.freeze()
    }

    /// Reads a message. Errors: the fault, in words that follow its position.
    pub fn read(bytes: &Bytes) -> Result<Message, LogError> {
        let wrong = |what: &str| Err(LogError(what.to_owned()));
        // Bytes that are no message at all have no version either.
        if bytes.len() < OVERHEAD_BYTES {
            return wrong("is cut short, or was written by a program that is no node");
        }
        let (all, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        if crc32fast::hash(all).to_le_bytes() != checksum {
            return wrong("fails its checksum: the log has changed it, or it was written by a program that is no node");
        }
        let version = all[0];
        if !(OLDEST..=NEWEST).contains(&version) {
            return wrong(&format!("is of version {version}, and this program reads {}", readable()));
        }
        let Some(node) = NodeId::new(u16::from_le_bytes(taken(all, 9))) else {
            return wrong("is of node 0, which there is not");
        };
        let message = Message {
            version,
            cluster: u64::from_le_bytes(taken(all, 1)),
            node,
            epoch: u32::from_le_bytes(taken(all, 11)),
            number: u64::from_le_bytes(taken(all, 15)),
            part: u16::from_le_bytes(taken(all, 23)),
            parts: u16::from_le_bytes(taken(all, 25)),
            written: Time(u64::from_le_bytes(taken(all, 27))),
            count: u32::from_le_bytes(taken(all, 35)),
            behind: MessageId {
                position: u64::from_le_bytes(taken(all, BEHIND_AT)),
                checksum: u32::from_le_bytes(taken(all, BEHIND_AT + 8)),
            },
            callers_bytes: u32::from_le_bytes(taken(all, BEHIND_AT + 8 + 4)),
            commands: bytes.slice(HEAD_BYTES..all.len()),
        };
        match message.part < message.parts {
            true => Ok(message),
            false => wrong("is a part that there is not"),
        }
    }
}

/// The versions that this program reads, in words.
pub(crate) fn readable() -> String {
    match OLDEST == NEWEST {
        true => format!("version {NEWEST} alone"),
        false => format!("versions {OLDEST} to {NEWEST}"),
    }
}

/// The time of a message that came to the log when its clock showed `arrived`: nobody guards that clock, and its
/// writer's is guarded.
pub(crate) fn market_time(arrived: Time, written: Time) -> Time {
    let bound = u64::try_from(AHEAD_MAX.as_micros()).unwrap_or(u64::MAX);
    arrived.min(Time(written.0.saturating_add(bound)))
}

/// Decodes the commands of a message. Errors: the fault in them.
pub(crate) fn decode(mut commands: &[u8], count: u32) -> Result<Vec<Command>, String> {
    let mut decoded = Vec::new();
    while !commands.is_empty() {
        let command = journal::decode(&mut commands);
        decoded.push(command.map_err(|error| format!("has a command that this program does not know: {error}"))?);
    }
    match decoded.len() == count as usize {
        true => Ok(decoded),
        false => Err(format!("has {} commands and says that it has {count}", decoded.len())),
    }
}

/// The checksum, by which a message is known.
pub(crate) fn checksum(message: &[u8]) -> u32 {
    message.last_chunk().map_or(0, |last| u32::from_le_bytes(*last))
}

/// The bytes at an offset that the caller has checked.
fn taken<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut some = [0; N];
    some.copy_from_slice(&bytes[at..at + N]);
    some
}
