//! Whether a log still has what a node took of it: asked when the node begins, and every few seconds while it follows.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use engine::{LogMessage, Time};

use crate::client::{Delivered, LogError};
use crate::message::{Message, checksum};
use crate::servers;

/// How often a node that follows asks.
const EVERY: Duration = Duration::from_secs(5);

/// Errors: this message, which a node has taken, is not there any more, or another one stands in its place, or it came later than what the
/// node knows, at this time.
pub(crate) async fn check_taken(stream: &Stream, taken: LogMessage, known_until: Time) -> Result<(), LogError> {
    let LogMessage { position, node, epoch, number } = taken;
    let found = servers::message(stream, position).await?;
    let read =
        Message::read(&found.payload).map_err(|error| LogError(format!("message {position} of the log {error}")))?;
    if (read.node, read.epoch, read.number) != (node, epoch, number) {
        return Err(LogError(format!(
            "message {position} of the log is number {} of node {} in its epoch {}, and this node took number {number} of node {node} in \
             its epoch {epoch} there: it is another log",
            read.number, read.node, read.epoch
        )));
    }
    match time_of(found.time.unix_timestamp_nanos()) > known_until {
        true => Err(LogError(format!(
            "message {position} of the log came to it after this node took it: the log has lost its end, and was sent it again"
        ))),
        false => Ok(()),
    }
}

/// In microseconds, as the log tells times in nanoseconds.
pub(crate) fn time_of(nanos: i128) -> Time {
    Time(u64::try_from(nanos / 1_000).unwrap_or(0))
}

/// The last message that was given to a node. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct LastGiven(Arc<Mutex<Option<Given>>>);

#[derive(Clone, Copy)]
struct Given {
    position: u64,
    checksum: u32,
    time: Time,
}

impl LastGiven {
    pub fn set(&self, delivered: &Delivered) {
        let Delivered { position, time, bytes } = delivered;
        let given = Given { position: *position, checksum: checksum(bytes), time: *time };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
    }

    fn get(&self) -> Option<Given> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the node when the log does not have the last message any more that was given to it. Ends then.
pub(crate) async fn watch(stream: Stream, last: LastGiven, failed: SyncSender<Result<Delivered, LogError>>) {
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(Given { position, checksum: known, time }) = last.get() else { continue };
        let is_there = match stream.get_raw_message(position).await {
            Ok(found) => checksum(&found.payload) == known && time_of(found.time.unix_timestamp_nanos()) == time,
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => false,
            // Nobody answers: it is asked again.
            Err(_) => true,
        };
        if !is_there {
            let lost = LogError(format!(
                "message {position} of the log, which this node took, is not there any more: the log has lost its end. Its commands are in \
                 this node's journal: keep its data folder, and see `pricetime cluster recover` (docs/CLUSTER.md)"
            ));
            // Nobody listens when the node has ended.
            return drop(failed.send(Err(lost)));
        }
    }
}
