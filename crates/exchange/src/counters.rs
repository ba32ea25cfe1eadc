//! A gateway's counts of its connections, as a value. This module does not know how they are counted.

/// The connections, requests and replies of a gateway so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Connections open now.
    pub connections_open: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections accepted by each worker.
    pub connections_accepted_by_worker: Vec<u64>,
    /// Connections closed because their clients did not read and memory ran short.
    pub connections_shed: u64,
    /// Bytes of answered requests whose replies are still to be made.
    pub held_bytes: u64,
    /// The number of times that accepting was put off because of too many connections or open files.
    pub accept_pauses: u64,
    /// Complete requests read, malformed ones included.
    pub requests: u64,
    /// Requests whose reply was made.
    pub requests_answered: u64,
    /// Bytes of replies that the kernel took.
    pub reply_bytes: u64,
}
