//! Checks that a log still has the messages that a node took, when the node begins and every few seconds while it
//! follows.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::connection::State as Connection;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use exchange::State;
use market::inbox::Inbox;
use terms::{LogMessage, Time};

use crate::client::{Delivered, LogError};
use crate::message::{Message, checksum, market_time};
use crate::node_status::NodeStatus;
use crate::servers;

/// The interval of the checks of a node that follows.
const EVERY: Duration = Duration::from_millis(500);
/// The time that an answer may take before the next try.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// A log is away that gave no answer for the node's patience, and never sooner than this: its servers may choose a
/// leader, or be busy.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// A log counts as lost when the servers have not had it for this long.
const LOST_AFTER: Duration = Duration::from_secs(3);

/// Checks a message that a node has taken. Errors: it is missing, or another one stands in its place, or its time is
/// later than `known_until`, the last time that the node knows.
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
    match market_time(time_of(found.time.unix_timestamp_nanos()), read.written) > known_until {
        true => Err(LogError(format!(
            "message {position} of the log came to it after this node took it: the log has lost its end, and was sent it again"
        ))),
        false => Ok(()),
    }
}

/// Converts the log's nanoseconds to microseconds.
pub(crate) fn time_of(nanos: i128) -> Time {
    Time(u64::try_from(nanos / 1_000).unwrap_or(0))
}

/// The last message given to a node. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LastGiven(Arc<Mutex<Option<LastDelivery>>>);

#[derive(Clone, Copy)]
struct LastDelivery {
    position: u64,
    checksum: u32,
    time: Time,
}

impl LastGiven {
    pub fn set(&self, delivered: &Delivered) {
        let Delivered { position, time, bytes } = delivered;
        let given = LastDelivery { position: *position, checksum: checksum(bytes), time: *time };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(given);
    }

    fn get(&self) -> Option<LastDelivery> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The servers' answer about a message that a node took.
enum Has {
    It,
    /// Another message is in its place, or none.
    NotIt,
    /// The servers have no such log.
    NoLog,
    /// The servers do not answer, or none of them leads.
    NoAnswer,
}

async fn ask(stream: &Stream, LastDelivery { position, checksum: known, time }: LastDelivery) -> Has {
    let found = match tokio::time::timeout(ANSWER_PATIENCE, stream.get_raw_message(position)).await {
        Ok(found) => found,
        Err(_) => return Has::NoAnswer,
    };
    match found {
        Ok(found) => {
            let is_it = checksum(&found.payload) == known && time_of(found.time.unix_timestamp_nanos()) == time;
            if is_it { Has::It } else { Has::NotIt }
        }
        Err(error) => match error.kind() {
            RawMessageErrorKind::NoMessageFound => Has::NotIt,
            RawMessageErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => Has::NoLog,
            RawMessageErrorKind::JetStream(_) | RawMessageErrorKind::InvalidSubject | RawMessageErrorKind::Other => {
                Has::NoAnswer
            }
        },
    }
}

/// A node that is told the state of its log.
pub(crate) struct CheckReport {
    pub failed: SyncSender<Result<Delivered, LogError>>,
    pub inbox: Arc<Inbox>,
    pub standing: NodeStatus,
    /// After this time without an answer the log is away.
    pub patience: Duration,
}

/// Tells the node whether its log is away, also when it has nothing for it; and when the log does not have the last
/// message any more that was given to the node, or is not there at all. Ends then.
pub(crate) async fn watch((client, stream): (Client, Stream), last: LastGiven, told: CheckReport) {
    let patience = told.patience.max(ANSWERED_WITHIN);
    let (mut answered, mut missing, mut was_away) = (Instant::now(), None, false);
    loop {
        tokio::time::sleep(EVERY).await;
        let is_reached = client.connection_state() == Connection::Connected;
        let Some(given) = last.get() else { continue };
        let has = if is_reached { ask(&stream, given).await } else { Has::NoAnswer };
        let since: Option<Instant> = match has {
            Has::It => None,
            Has::NotIt | Has::NoLog => Some(missing.unwrap_or_else(Instant::now)),
            Has::NoAnswer => missing,
        };
        missing = since;
        let is_lost = match has {
            Has::It | Has::NoAnswer => false,
            Has::NotIt => true,
            Has::NoLog => since.is_some_and(|since| since.elapsed() >= LOST_AFTER),
        };
        if is_lost {
            // The receiver is gone when the node has ended.
            let _ = told.failed.send(Err(lost(given.position, &has)));
            return told.inbox.nudge();
        }
        if matches!(has, Has::It) {
            answered = Instant::now();
        }
        let is_away = answered.elapsed() >= patience;
        match (was_away, is_away) {
            (_, true) => told.standing.status().replace(&State::Ready, State::StoreAway),
            (true, false) => told.standing.log_answers(),
            (false, false) => {}
        }
        was_away = is_away;
    }
}

fn lost(position: u64, has: &Has) -> LogError {
    let what = match has {
        Has::NoLog => "the log is not there any more: it is lost".to_owned(),
        Has::It | Has::NotIt | Has::NoAnswer => format!(
            "message {position} of the log, which this node took, is not there any more: the log has lost its end"
        ),
    };
    LogError(format!(
        "{what}. Its commands are in this node's journal: keep its data folder, and see `pricetime cluster recover` (docs/CLUSTER.md)"
    ))
}
