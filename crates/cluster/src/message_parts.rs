//! Parts of batches that are longer than a message may be. The log alone decides when a batch is complete, so a node
//! that begins in the middle decides like all others: a part counts together with those less than [`WINDOW`] messages
//! before it, and a node begins to read that many messages before the last one that it took.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use terms::NodeId;

use crate::message::Message;

/// The number of messages of the log within which all parts of a batch stand.
pub const WINDOW: u64 = 10_000;

/// The parts of incomplete batches, of one batch for each node, because a node has one on its way at a time.
#[derive(Default)]
pub(crate) struct MessageParts {
    of: HashMap<NodeId, Partial>,
}

struct Partial {
    epoch: u32,
    number: u64,
    /// The position of each part, and its commands.
    there: Vec<Option<(u64, Bytes)>>,
}

impl MessageParts {
    /// All commands of the batch, if this message at `position` completes it.
    pub fn add(&mut self, message: &Message, position: u64) -> Option<Bytes> {
        if message.parts == 1 {
            return Some(message.commands.clone());
        }
        let begin =
            || Partial { epoch: message.epoch, number: message.number, there: vec![None; message.parts.into()] };
        let partial = self.of.entry(message.node).or_insert_with(begin);
        let is_of_it = (partial.epoch, partial.number) == (message.epoch, message.number)
            && partial.there.len() == usize::from(message.parts);
        if !is_of_it {
            *partial = begin();
        }
        let is_too_old = |part: &(u64, Bytes)| position.saturating_sub(part.0) >= WINDOW;
        partial.there.iter_mut().for_each(|part| drop(part.take_if(|part| is_too_old(part))));
        partial.there[usize::from(message.part)] = Some((position, message.commands.clone()));
        if partial.there.iter().any(Option::is_none) {
            return None;
        }
        let whole = self.of.remove(&message.node)?;
        let mut all = BytesMut::new();
        whole.there.into_iter().flatten().for_each(|(_, part)| all.extend_from_slice(&part));
        Some(all.freeze())
    }
}

#[cfg(test)]
mod tests {
    use terms::Time;

    use super::*;
    use crate::message::MessageId;
    use crate::versions::NEWEST;

    /// A part of a batch with two parts.
    fn part(part: u16) -> Message {
        Message {
            version: NEWEST,
            cluster: 1,
            node: NodeId::new(1).expect("above zero"),
            epoch: 1,
            number: 1,
            part,
            parts: 2,
            written: Time(1),
            count: 1,
            behind: MessageId::default(),
            callers_bytes: 0,
            commands: Bytes::from(vec![u8::try_from(part).expect("it is small")]),
        }
    }

    /// A node that begins in the middle of the log does not have parts that are older, and has to decide as those that
    /// do.
    #[test]
    fn a_part_counts_with_those_that_are_near_and_with_none_that_is_older() {
        let mut parts = MessageParts::default();
        assert_eq!(parts.add(&part(0), 5), None);
        assert_eq!(parts.add(&part(1), 5 + WINDOW), None, "it is too far behind the first");
        assert_eq!(parts.add(&part(0), 4 + 2 * WINDOW).as_deref(), Some(&[0, 1][..]), "it is as near as it may be");
        assert_eq!(parts.add(&part(1), 9 + 2 * WINDOW), None, "what was whole is done");
    }
}
