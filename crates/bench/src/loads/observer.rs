//! Observers of a server in the thread that puts the load on it, so that one clock times both.

use std::io;
use std::time::Instant;

use mio::{Registry, Token};

/// A connection that is served between those of the load.
pub trait Observer: Send {
    /// Asks for an event of this token when there is something to read.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Reads everything: there is something to read.
    fn ready(&mut self);

    /// Reads what follows the load, which has ended.
    fn finish(&mut self);
}

/// An order that was accepted.
#[derive(Clone, Copy, Debug)]
pub struct OpenedOrder {
    pub order: u64,
    /// The time at which it was sent, or due in an open loop.
    pub sent: Instant,
    /// Whether it belongs to the measured part.
    pub measured: bool,
}
