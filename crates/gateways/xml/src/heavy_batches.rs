//! Heavy requests of a connection. They go inward in batches of its own, so that those who ask little do not wait for
//! them: neither to be parsed, nor for their turn, nor for their replies.

use std::collections::VecDeque;

use exchange::Source;

/// The batches of one connection that are being made or away. While there are any, all that it asks goes by them: so
/// its requests keep their order.
pub(crate) struct HeavyBatches {
    pub source: Source,
    tickets: VecDeque<u64>,
}

impl HeavyBatches {
    pub fn new(source: Source) -> HeavyBatches {
        HeavyBatches { source, tickets: VecDeque::new() }
    }

    /// One was handed inward.
    pub fn left(&mut self, ticket: u64) {
        self.tickets.push_back(ticket);
    }

    /// One was answered.
    pub fn answered(&mut self, ticket: u64) {
        self.tickets.retain(|away| *away != ticket);
    }

    /// Whether this one is the oldest that is away.
    pub fn is_oldest(&self, ticket: u64) -> bool {
        self.tickets.front() == Some(&ticket)
    }

    /// Whether none is away.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }
}
