//! The last messages that a node has taken, by which it notices that the log has become another one: each message names
//! the last one that its writer had taken.

use std::collections::VecDeque;

use crate::message::MessageId;

/// The number of messages remembered.
const REMEMBERED: usize = 1 << 16;

/// The checksums of the last messages, up to the one that was taken last.
#[derive(Debug)]
pub(crate) struct RecentMessages {
    last: u64,
    checksums: VecDeque<u32>,
}

impl RecentMessages {
    /// Makes the trail of a node that begins to read behind this message.
    pub fn behind(position: u64) -> RecentMessages {
        RecentMessages { last: position, checksums: VecDeque::new() }
    }

    /// Adds a message behind the one before it.
    pub fn take(&mut self, position: u64, checksum: u32) {
        if self.checksums.len() == REMEMBERED {
            self.checksums.pop_front();
        }
        self.last = position;
        self.checksums.push_back(checksum);
    }

    /// The last message; none before the first.
    pub fn last(&self) -> MessageId {
        let known = self.checksums.back().map(|checksum| MessageId { position: self.last, checksum: *checksum });
        known.unwrap_or_default()
    }

    /// The position of the last message.
    pub fn position(&self) -> u64 {
        self.last
    }

    /// Whether this message may be one of them: false if another one stood there.
    pub fn may_hold(&self, message: MessageId) -> bool {
        let MessageId { position, checksum } = message;
        let back = usize::try_from(self.last.saturating_sub(position)).unwrap_or(usize::MAX);
        let known = self.checksums.len().checked_sub(back.saturating_add(1)).and_then(|at| self.checksums.get(at));
        known.is_none_or(|known| *known == checksum)
    }

    /// Checks the message that the next one names against the log. Errors: the contradiction.
    pub fn check(&self, named: MessageId) -> Result<(), String> {
        let position = named.position;
        if position > self.last {
            return Err(format!(
                "was written by a node that had taken message {position}: the log has lost what stood between"
            ));
        }
        match self.may_hold(named) {
            true => Ok(()),
            false => Err(format!(
                "was written by a node that had taken another message {position} than this one has: the log has become another one"
            )),
        }
    }
}
