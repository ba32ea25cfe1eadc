//! The text of a message: made once, shared by all clients that get it, and counted once as long as something holds it.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;

use crate::outbox_budget::CountedBytes;

/// Bytes of a message that are handed over at once, or a little more.
pub(crate) const PIECE: usize = 32 * 1024;

/// The text of one message. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedText(Arc<Made>);

#[derive(Debug)]
struct Made {
    content: Content,
    /// Set when the message first waits for a connection.
    counted: OnceLock<CountedBytes>,
}

#[derive(Debug)]
enum Content {
    Written(Bytes),
    ToWrite(Long),
}

/// Text that is written only when it is taken.
#[derive(Debug)]
pub struct Long {
    pub head: String,
    pub rows: Box<dyn Rows>,
    pub tail: String,
}

/// The many parts of a long message; there is one at least.
pub trait Rows: Debug + Send + Sync {
    fn count(&self) -> usize;

    /// Returns the bytes that a row counts for while it waits.
    fn bytes_each(&self) -> usize;

    /// Writes a row, with what parts it from the one before.
    fn write(&self, row: usize, into: &mut String);
}

/// A message that exists as long as something holds it.
#[derive(Debug)]
pub(crate) struct Remembered(Weak<Made>);

impl SharedText {
    /// Returns the bytes that it costs from a place on; from place zero all of it.
    pub(crate) fn cost(&self, from: usize) -> usize {
        match &self.0.content {
            Content::Written(bytes) => bytes.len() - from,
            Content::ToWrite(long) => (long.rows.count() - from) * long.rows.bytes_each(),
        }
    }

    /// Whether its pieces are written when they are taken.
    pub(crate) fn is_to_write(&self) -> bool {
        matches!(self.0.content, Content::ToWrite(_))
    }

    /// Returns the next piece from a place on, and the place behind it; `None` when that is the end.
    pub fn piece(&self, from: usize) -> (Bytes, Option<usize>) {
        match &self.0.content {
            Content::Written(bytes) => {
                let until = bytes.len().min(from + PIECE);
                (bytes.slice(from..until), Some(until).filter(|until| *until < bytes.len()))
            }
            Content::ToWrite(long) => long.piece(from),
        }
    }

    /// Counts the message with `count`, unless it is counted already.
    pub(crate) fn count(&self, count: impl FnOnce() -> CountedBytes) {
        self.0.counted.get_or_init(count);
    }

    /// Returns a reference that does not keep it.
    pub(crate) fn remember(&self) -> Remembered {
        Remembered(Arc::downgrade(&self.0))
    }

    fn of(content: Content) -> SharedText {
        SharedText(Arc::new(Made { content, counted: OnceLock::new() }))
    }
}

impl Long {
    fn piece(&self, from: usize) -> (Bytes, Option<usize>) {
        let mut text = String::with_capacity(PIECE + PIECE / 8);
        if from == 0 {
            text.push_str(&self.head);
        }
        let mut row = from;
        while row < self.rows.count() && text.len() < PIECE {
            self.rows.write(row, &mut text);
            row += 1;
        }
        if row < self.rows.count() {
            return (text.into(), Some(row));
        }
        text.push_str(&self.tail);
        (text.into(), None)
    }
}

impl Remembered {
    /// Returns the message, if something still holds it.
    pub(crate) fn recall(&self) -> Option<SharedText> {
        self.0.upgrade().map(SharedText)
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> SharedText {
        SharedText::of(Content::Written(text.into()))
    }
}

impl From<Long> for SharedText {
    fn from(long: Long) -> SharedText {
        SharedText::of(Content::ToWrite(long))
    }
}
