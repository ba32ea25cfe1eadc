//! How other threads reach a worker: letters behind a lock, and a wake-up only when the worker sleeps.

use std::mem;
use std::sync::{Mutex, PoisonError};

use exchange::{Batch, Lookup};
use mio::Waker;

use crate::connection::Origin;

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

/// What came since the worker last looked.
#[derive(Default)]
pub(crate) struct Letters {
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    pub batches: Vec<Box<Batch>>,
    /// With the connection whose next reply each is for.
    pub found: Vec<(Origin, Lookup)>,
    /// Something that the worker is told otherwise (to stop, to accept again) has changed.
    pub nudged: bool,
}

impl Letters {
    fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.found.is_empty() && !self.nudged
    }
}

impl Mailbox {
    /// An empty one; `waker` interrupts the worker's poll.
    pub fn new(waker: Waker) -> Mailbox {
        Mailbox { inner: Mutex::new(Inner { letters: Letters::default(), awake: true }), waker }
    }

    /// Adds a letter, and wakes the worker if it sleeps and nobody woke it yet.
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

    /// Has the worker look around.
    pub fn nudge(&self) {
        self.post(|letters| letters.nudged = true);
    }

    /// Swaps the letters for `empty` ones. From here on the worker is awake.
    pub fn take(&self, empty: &mut Letters) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.awake = true;
        mem::swap(&mut inner.letters, empty);
    }

    /// Whether the worker may sleep: there are no letters. Whoever posts from here on wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.awake = !inner.letters.is_empty();
        !inner.awake
    }
}
