//! A message as it goes over a WebSocket: written once, shared by all who get it, and counted once while anybody holds it.

use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;

use crate::spool::Counted;

/// What one message says. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Text(Arc<Written>);

#[derive(Debug)]
struct Written {
    bytes: Bytes,
    /// Set when it first waits for somebody.
    counted: OnceLock<Counted>,
}

/// A message that is there as long as somebody holds it.
#[derive(Debug)]
pub(crate) struct Remembered(Weak<Written>);

impl Text {
    pub(crate) fn len(&self) -> usize {
        self.0.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// Has it counted by `count`, unless it is already.
    pub(crate) fn count(&self, count: impl FnOnce() -> Counted) {
        self.0.counted.get_or_init(count);
    }

    /// Does not keep it.
    pub(crate) fn remember(&self) -> Remembered {
        Remembered(Arc::downgrade(&self.0))
    }
}

impl Remembered {
    /// The message, if somebody holds it still.
    pub(crate) fn recall(&self) -> Option<Text> {
        self.0.upgrade().map(Text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Arc::new(Written { bytes: text.into(), counted: OnceLock::new() }))
    }
}
