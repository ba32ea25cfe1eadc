//! A batch of commands for readers of the journal: its place, and its commands. This file does not know what the
//! commands do.

use terms::{Entry, Sequence, Time};

use crate::codec::decode;
use crate::error::{JournalError, VisitError};
use crate::point::JournalPoint;
use crate::segment::RULES_VERSION;
use crate::varint::CodecError;

/// One batch of commands whose checksum holds.
#[derive(Clone, Copy, Debug)]
pub struct BatchView<'a> {
    /// The file.
    pub segment: &'a str,
    /// The version of the rules under which its commands were decided.
    pub rules: u32,
    /// The offset in the file at which it begins.
    pub offset: u64,
    /// The length with header and padding.
    pub bytes: u64,
    /// The sequence of its first command.
    pub first: Sequence,
    /// The number of commands.
    pub count: u32,
    /// The time of all its commands.
    pub time: Time,
    /// The callers of the commands, for a [`crate::CallerReader`]; empty if they are unknown.
    pub callers: &'a [u8],
    /// The commands, encoded one after another.
    pub payload: &'a [u8],
    /// The point behind it.
    pub point: JournalPoint,
}

impl BatchView<'_> {
    /// Decodes the commands one by one, to replay them. Errors: `EarlierRules`, before the first command.
    pub fn entries(&self, visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>) -> Result<(), JournalError> {
        if self.rules != RULES_VERSION {
            let (segment, rules) = (self.segment.to_owned(), self.rules);
            return Err(JournalError::EarlierRules { segment, first: self.first, rules });
        }
        self.entries_to_show(visit)
    }

    /// Decodes the commands one by one, whatever the rules are under which they were decided. A replay of them might
    /// decide otherwise.
    pub fn entries_to_show(&self, visit: &mut dyn FnMut(Entry) -> Result<(), VisitError>) -> Result<(), JournalError> {
        let mut rest = self.payload;
        let mut sequence = self.first;
        for _ in 0..self.count {
            let command = decode(&mut rest).map_err(|source| self.undecodable(sequence, source))?;
            visit(Entry { sequence, time: self.time, command }).map_err(JournalError::Visit)?;
            sequence = sequence.next();
        }
        if rest.is_empty() { Ok(()) } else { Err(self.undecodable(sequence, CodecError::TrailingBytes)) }
    }

    pub(crate) fn undecodable(&self, sequence: Sequence, source: CodecError) -> JournalError {
        JournalError::Undecodable { segment: self.segment.to_owned(), sequence, source }
    }
}
