//! The log that a node shares with others, as the ledger needs it.

use std::time::Duration;

use bytes::Bytes;
use market::timekeeper;
use terms::Time;

use crate::versions::NEWEST;

/// A message of the log.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// The position: 1, 2, 3 …
    pub position: u64,
    /// The time at which the log got it, by the clock of its leader then.
    pub time: Time,
    pub bytes: Bytes,
}

/// The reason why a node cannot go on with its log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LogError(pub String);

/// A connection to the log.
pub trait LogClient {
    /// Sends a message. It may get lost, or reach the log late or twice: the sender sees it come back, or sends it
    /// again.
    fn publish(&mut self, message: Bytes) -> Result<(), LogError>;

    /// The next message of the log; none if none came within `patience`.
    fn next(&mut self, patience: Duration) -> Result<Option<Delivered>, LogError>;

    /// The position of the last known message: at least the last one when the connection was made.
    fn end(&self) -> u64;

    /// Notes that at least two nodes have the same snapshot before this message, so that earlier messages need not be
    /// kept for ever.
    fn agreed(&mut self, _position: u64, _time: Time) {}

    /// The most bytes of a message.
    fn message_bytes_max(&self) -> usize;

    /// The version of the messages to write.
    fn written_version(&self) -> u8 {
        NEWEST
    }

    /// The time that has passed since some moment, also while the machine slept. Nobody can set it.
    fn passed(&self) -> Duration {
        timekeeper::passed()
    }
}
