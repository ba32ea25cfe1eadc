//! What a node needs of a log that it shares with others.

use std::time::Duration;

use bytes::Bytes;
use engine::Time;
use market::timekeeper;

use crate::versions::NEWEST;

/// A message as the log gives it.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// Its place: 1, 2, 3 …
    pub position: u64,
    /// When the log got it, by the clock of whoever kept the log then.
    pub time: Time,
    pub bytes: Bytes,
}

/// Why a node cannot go on with its log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LogError(pub String);

/// A connection to the log.
pub trait LogClient {
    /// Sends a message. It may get lost, come to the log late, or twice: whoever sent it sees it come back, or sends it again.
    fn publish(&mut self, message: Bytes) -> Result<(), LogError>;

    /// The next message of the log; none if none came for so long.
    fn next(&mut self, patience: Duration) -> Result<Option<Delivered>, LogError>;

    /// Where the last message stands that is known of: at least the last one when the connection was made.
    fn end(&self) -> u64;

    /// At least two nodes have the same snapshot before this message: what stands before it is not needed for ever.
    fn agreed(&mut self, _position: u64, _time: Time) {}

    /// The most bytes that a message may have.
    fn message_bytes_max(&self) -> usize;

    /// The version of the messages that are written.
    fn rules(&self) -> u8 {
        NEWEST
    }

    /// How much time has passed since some moment, also while the machine slept. Nobody can set it.
    fn passed(&self) -> Duration {
        timekeeper::passed()
    }
}
