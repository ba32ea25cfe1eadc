//! The look-ups of a worker: the connections that wait for theirs, and how many the history is working on. It knows
//! nothing of their contents.

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
    /// Queues a connection whose next reply needs the history.
    pub fn wait(&mut self, origin: Origin) {
        self.short.push_back(origin);
    }

    /// Queues a connection for a long look-up: its short one found too much.
    pub fn wait_for_long(&mut self, origin: Origin) {
        self.long.push_back(origin);
    }

    /// Takes the connection whose short look-up may be handed in now.
    pub fn next_short(&mut self) -> Option<Origin> {
        if self.short_out < SHORT_MAX { self.short.pop_front() } else { None }
    }

    /// Returns the connection whose long look-up may be handed in now; it goes on waiting.
    pub fn first_long(&self) -> Option<Origin> {
        if self.long_out { None } else { self.long.front().copied() }
    }

    /// Removes the first connection that waits for a long look-up.
    pub fn leave_first_long(&mut self) {
        self.long.pop_front();
    }

    /// Notes that a look-up was handed in.
    pub fn asked(&mut self, lookup: &Lookup) {
        match lookup.is_long() {
            true => self.long_out = true,
            false => self.short_out += 1,
        }
    }

    /// Notes that the history answered.
    pub fn answered(&mut self, lookup: &Lookup) {
        match lookup.is_long() {
            true => self.long_out = false,
            false => self.short_out -= 1,
        }
    }
}
