//! The look-ups of a worker: the connections that wait for theirs, and how many the history is working on. It knows
//! nothing of their contents.

use std::collections::{HashMap, VecDeque};

use exchange::{Lookup, Source};

use crate::mailbox::Origin;

/// Short look-ups of a worker that the history has not answered, at most.
const SHORT_MAX: usize = 64;

/// Connections whose next reply needs the history.
#[derive(Default)]
pub(crate) struct LookupQueue {
    short: VecDeque<Origin>,
    /// Connections of each client that wait for a place for a long reply. No line is empty.
    long: HashMap<Source, VecDeque<Origin>>,
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

    /// Queues a client's connection for a long look-up: its short one found too much.
    pub fn wait_for_long(&mut self, client: Source, origin: Origin) {
        self.long.entry(client).or_default().push_back(origin);
    }

    /// Takes the connection whose short look-up may be handed in now.
    pub fn next_short(&mut self) -> Option<Origin> {
        if self.short_out < SHORT_MAX { self.short.pop_front() } else { None }
    }

    /// Whether a connection waits for a long look-up, and none is out.
    pub fn may_ask_long(&self) -> bool {
        !self.long_out && !self.long.is_empty()
    }

    /// Returns the client's first connection that waits for a long look-up; it goes on waiting.
    pub fn first_long(&self, client: Source) -> Option<Origin> {
        self.long.get(&client)?.front().copied()
    }

    /// Removes the client's first connection that waits for a long look-up.
    pub fn leave_first_long(&mut self, client: Source) {
        if let Some(line) = self.long.get_mut(&client) {
            line.pop_front();
            if line.is_empty() {
                self.long.remove(&client);
            }
        }
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
