//! Heavy requests of a connection. They go to the exchange in batches of its own, so that light requests do not wait
//! for them: neither to be parsed, nor for their turn, nor for their replies.

use std::collections::VecDeque;

use exchange::Source;

/// The batches of one connection that are being made or away. While there are any, all its requests go in such batches
/// and so keep their order.
pub(crate) struct HeavyBatches {
    pub source: Source,
    tickets: VecDeque<u64>,
}

impl HeavyBatches {
    pub fn new(source: Source) -> HeavyBatches {
        HeavyBatches { source, tickets: VecDeque::new() }
    }

    /// Notes that a batch was handed in.
    pub fn left(&mut self, ticket: u64) {
        self.tickets.push_back(ticket);
    }

    /// Notes that a batch was answered.
    pub fn answered(&mut self, ticket: u64) {
        self.tickets.retain(|away| *away != ticket);
    }

    /// Whether this batch is the oldest that is away.
    pub fn is_oldest(&self, ticket: u64) -> bool {
        self.tickets.front() == Some(&ticket)
    }

    /// Whether no batch is away.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }
}
