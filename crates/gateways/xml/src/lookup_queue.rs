//! The look-ups of a worker: which connections wait for theirs, and how many the history is working on. It does not know
//! what is looked up.

use std::collections::VecDeque;

use exchange::Lookup;

use crate::mailbox::Origin;

/// Short look-ups of a worker that the history has not answered, at most.
const SHORT_MAX: usize = 64;

/// Connections whose next reply needs the history.
#[derive(Default)]
pub(crate) struct LookupQueue {
    short: VecDeque<Origin>,
    long: VecDeque<Origin>,
    /// Short look-ups that the history has not answered.
    short_out: usize,
    /// Whether the history has a long look-up that it has not answered.
    long_out: bool,
}

impl LookupQueue {
    /// The next reply of a connection needs the history.
    pub fn wait(&mut self, origin: Origin) {
        self.short.push_back(origin);
    }

    /// A connection's short look-up found too much: it waits for a long one.
    pub fn wait_for_long(&mut self, origin: Origin) {
        self.long.push_back(origin);
    }

    /// The connection whose short look-up may be asked now; it waits no longer.
    pub fn next_short(&mut self) -> Option<Origin> {
        if self.short_out < SHORT_MAX { self.short.pop_front() } else { None }
    }

    /// The connection whose long look-up may be asked now; it goes on waiting.
    pub fn first_long(&self) -> Option<Origin> {
        if self.long_out { None } else { self.long.front().copied() }
    }

    /// The first of those that wait for a long look-up waits no longer.
    pub fn leave_first_long(&mut self) {
        self.long.pop_front();
    }

    /// The history was asked.
    pub fn asked(&mut self, lookup: &Lookup) {
        match lookup.is_long() {
            true => self.long_out = true,
            false => self.short_out += 1,
        }
    }

    /// The history answered.
    pub fn answered(&mut self, lookup: &Lookup) {
        match lookup.is_long() {
            true => self.long_out = false,
            false => self.short_out -= 1,
        }
    }
}
