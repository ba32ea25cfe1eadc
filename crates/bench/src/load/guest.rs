//! Whoever looks at a server from the thread that puts the load on it, so that one clock sees both.

use std::io;
use std::time::Instant;

use mio::{Registry, Token};

/// A connection that is served between those of the load.
pub trait Guest: Send {
    /// Asks for an event of this token when there is something to read.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// There is something to read: all of it is to be read.
    fn ready(&mut self);

    /// The load has ended: what follows from it is still to be read.
    fn finish(&mut self);
}

/// An order that was accepted.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    pub order: u64,
    /// When it was sent, or due in an open loop.
    pub sent: Instant,
    /// Belongs to the measured part.
    pub measured: bool,
}
