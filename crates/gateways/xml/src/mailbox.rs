//! A worker's mailbox: other threads leave letters behind a lock, and wake the worker only if it sleeps.

use std::mem;
use std::sync::{Mutex, PoisonError};

use exchange::{Batch, Lookup};
use mio::Waker;

/// A connection of a worker, as a request remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The connection's slot.
    pub slot: u32,
    /// The number of this connection among those that had this slot.
    pub generation: u32,
}

/// A worker's mailbox.
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    waker: Waker,
}

struct Inner {
    letters: Letters,
    /// Whether the worker will look here without being woken.
    awake: bool,
}

/// The letters that came since the worker last looked.
#[derive(Default)]
pub(crate) struct Letters {
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    pub batches: Vec<Box<Batch>>,
    /// Look-ups that came back, each with the connection whose next reply needs it.
    pub found: Vec<(Origin, Lookup)>,
    /// Connections whose places go to others.
    pub give_way: Vec<Origin>,
    /// Connections whose handshakes give way.
    pub handshakes_give_way: Vec<Origin>,
    /// Whether something else changed that the worker should check: it is to stop, or may accept again.
    pub nudged: bool,
}

impl Letters {
    fn is_empty(&self) -> bool {
        self.batches.is_empty()
            && self.found.is_empty()
            && self.give_way.is_empty()
            && self.handshakes_give_way.is_empty()
            && !self.nudged
    }
}

impl Mailbox {
    /// Returns an empty mailbox; `waker` interrupts the worker's poll.
    pub fn new(waker: Waker) -> Mailbox {
        Mailbox { inner: Mutex::new(Inner { letters: Letters::default(), awake: true }), waker }
    }

    /// Adds a letter, and wakes the worker if it sleeps and has not been woken yet.
    pub fn post(&self, add: impl FnOnce(&mut Letters)) {
        let awake = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            add(&mut inner.letters);
            mem::replace(&mut inner.awake, true)
        };
        if !awake {
            self.waker.wake().expect("invariant: an event counter can be written");
        }
    }

    /// Wakes the worker to check what has changed.
    pub fn nudge(&self) {
        self.post(|letters| letters.nudged = true);
    }

    /// Swaps the letters for `empty` ones. From here on the worker is awake.
    pub fn take(&self, empty: &mut Letters) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.awake = true;
        mem::swap(&mut inner.letters, empty);
    }

    /// Whether the worker may sleep: there are no letters. Letters that are posted from here on wake it.
    pub fn may_sleep(&self) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.awake = !inner.letters.is_empty();
        !inner.awake
    }
}
