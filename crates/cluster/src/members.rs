//! The data that the nodes of a cluster share beside the market: their members, and the signed requests that they took.
//! This file knows neither the content of an edition of the members, which is sealed, nor what was signed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::connection::State as Connection;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use exchange::{Gauge, Metrics};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::servers::{BETWEEN_TRIES, CHOOSING, connect, is_missing, stream};
use crate::side_streams::{self, members_stream, members_subject, signed_subject};
use crate::stream_config::LogTerms;

/// The most time for an answer of the servers.
const PATIENCE: Duration = Duration::from_secs(3);
/// The time without members in the log after which they count as lost.
const LOST_AFTER: Duration = Duration::from_secs(3);
/// The most signed requests that wait for the servers or for their answers; further ones are refused.
const WAITING_MAX: usize = 1 << 12;

/// The mark by which a signed request is known.
pub type Mark = [u8; 16];

/// The outcome of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// No node had announced it before.
    First,
    /// Some node had announced it, maybe this one.
    Again,
    /// The servers cannot be reached, or take no more marks.
    Away,
    /// Too many marks wait.
    Full,
}

/// The callback with the outcome of a mark.
pub type Tell = Box<dyn FnOnce(Marked) + Send>;

/// The reason why an edition was not put into the log.
#[derive(Debug)]
pub enum NotPut {
    /// The servers have another edition meanwhile.
    Outdated,
    /// No edition was put, for this reason.
    Away(LogError),
    /// The servers did not say whether the edition was put.
    InDoubt,
    /// The edition is longer than a message may be.
    TooLong { bytes: usize, most: usize },
}

/// The shared members of a log's nodes, and the requests that they took. The thread that talks to the servers ends when
/// it is dropped.
pub struct CommonLog {
    url: LogUrl,
    cluster: u64,
    handle: Handle,
    client: Client,
    context: Context,
    /// The time since when the servers say that there are no members any more.
    missing: Mutex<Option<Instant>>,
    /// The time when the stream of members that was seen last was made, in nanoseconds since 1970.
    made: Mutex<Option<i128>>,
    signed: Sender<(Mark, Tell)>,
    metrics: Metrics,
}

impl CommonLog {
    /// A signed request is refused when the servers have not said for `patience` whether it is new. Errors: there is no
    /// such log, its servers do not answer, or one of the streams beside it is not kept as it has to be.
    pub fn open(url: &LogUrl, patience: Duration, metrics: Metrics) -> Result<CommonLog, LogError> {
        let (runtime, client, mut context) = connect(url)?;
        let stream = runtime.block_on(stream(&context, url))?;
        let terms = LogTerms::of(url, &stream.cached_info().config)?;
        context.set_timeout(PATIENCE);
        runtime.block_on(side_streams::check(&context, url, terms.cluster))?;
        let (signed, waiting) = channel(WAITING_MAX);
        let handle = runtime.handle().clone();
        let servers =
            Servers { client: client.clone(), context: context.clone(), subject: signed_subject(url), patience };
        let tell_all = tell_all(servers, waiting);
        let thread = std::thread::Builder::new().name("members".to_owned()).spawn(move || runtime.block_on(tell_all));
        thread.map_err(|error| LogError(format!("cannot start a thread: {error}")))?;
        let log = CommonLog {
            url: url.clone(),
            cluster: terms.cluster,
            handle,
            client,
            context,
            missing: Mutex::default(),
            made: Mutex::default(),
            signed,
            metrics,
        };
        let begun = Instant::now();
        while let Err(error) = log.last() {
            if begun.elapsed() >= CHOOSING {
                return Err(error);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        Ok(log)
    }

    /// The number of the cluster.
    pub fn cluster(&self) -> u64 {
        self.cluster
    }

    /// The number of the last edition of the members: 0 before the first, and none where the log's version keeps none.
    /// Errors: the servers do not answer, or lost the members.
    pub fn last(&self) -> Result<Option<u64>, LogError> {
        let stream = self.handle.block_on(self.stream());
        self.metrics.set(Gauge::MembersAway, u64::from(!matches!(stream, Ok(Some(_)))));
        let stream = stream?;
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing = stream.is_none().then(|| missing.unwrap_or_else(Instant::now));
        drop(missing);
        match stream {
            Some(stream) => {
                self.same(stream.cached_info().created.unix_timestamp_nanos())?;
                Ok(Some(stream.cached_info().state.last_sequence))
            }
            None => Err(LogError(format!(
                "{} has no members beside it any more: `pricetime cluster upgrade` makes them anew, of what a node's file has",
                self.url
            ))),
        }
    }

    /// Errors, once: another stream has replaced the one that was seen. It may have as many editions, so an operator
    /// must look at them.
    fn same(&self, made: i128) -> Result<(), LogError> {
        let before = self.made.lock().unwrap_or_else(PoisonError::into_inner).replace(made);
        match before.is_some_and(|before| before != made) {
            false => Ok(()),
            true => Err(LogError(format!("{} has another stream of members than a moment ago", self.url))),
        }
    }

    /// Whether the members that the log kept are gone, and not only for a moment.
    pub fn is_lost(&self) -> bool {
        let missing = *self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.is_some_and(|since| since.elapsed() >= LOST_AFTER)
    }

    async fn stream(&self) -> Result<Option<Stream>, LogError> {
        let found = self.context.get_stream(members_stream(&self.url)).await;
        match found {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(LogError(format!("{} cannot be asked for its members: {error}", self.url))),
        }
    }

    /// Reads an edition of the members. Errors: there is no longer one with this number, or the servers do not answer.
    pub fn read(&self, edition: u64) -> Result<Bytes, LogError> {
        let unread = |why: &dyn std::fmt::Display| LogError(format!("it cannot be read: {why}"));
        self.handle.block_on(async {
            let stream = self.stream().await?.ok_or_else(|| unread(&"it is not there"))?;
            let found = stream.get_raw_message(edition).await;
            found.map(|message| message.payload).map_err(|error| unread(&error))
        })
    }

    /// Puts an edition behind `last`, which must be the last one. Returns its number.
    pub fn put(&self, edition: Bytes, last: u64) -> Result<u64, NotPut> {
        let away = |why: &dyn std::fmt::Display| LogError(format!("the log cannot be reached: {why}"));
        if self.client.connection_state() != Connection::Connected {
            // The client would send it later, when nobody waits for it any more.
            return Err(NotPut::Away(away(&"there is no connection to its servers")));
        }
        let (bytes, most) = (edition.len(), self.client.server_info().max_payload);
        let message = PublishMessage::build().payload(edition).expected_last_subject_sequence(last);
        let refused = |error: &PublishError| match error.kind() {
            PublishErrorKind::WrongLastSequence => NotPut::Outdated,
            PublishErrorKind::MaxPayloadExceeded => NotPut::TooLong { bytes, most },
            PublishErrorKind::StreamNotFound => NotPut::Away(away(error)),
            PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::Other => NotPut::InDoubt,
        };
        self.handle.block_on(async {
            let sent = self.context.send_publish(members_subject(&self.url), message).await;
            let acknowledged = sent.map_err(|error| refused(&error))?.await;
            acknowledged.map(|acknowledged| acknowledged.sequence).map_err(|error| refused(&error))
        })
    }

    /// Announces to all nodes that this one takes a signed request. `tell` gets whether it is the first to announce it.
    pub fn mark(&self, mark: Mark, tell: Tell) {
        match self.signed.try_send((mark, tell)) {
            Ok(()) => {}
            Err(TrySendError::Full((_, tell))) => tell(Marked::Full),
            Err(TrySendError::Closed((_, tell))) => tell(Marked::Away),
        }
    }
}

/// The servers to which marks are sent.
#[derive(Clone)]
struct Servers {
    client: Client,
    context: Context,
    subject: String,
    patience: Duration,
}

/// Sends marks until the sender is gone.
async fn tell_all(servers: Servers, mut waiting: Receiver<(Mark, Tell)>) {
    let (refused, places) = (Refused::default(), Arc::new(Semaphore::new(WAITING_MAX)));
    while let Some((mark, tell)) = waiting.recv().await {
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tell(Marked::Full);
            continue;
        };
        let (servers, refused) = (servers.clone(), refused.clone());
        // This mark is sent before the next one, so that marks arrive in order if the servers are there.
        let first = servers.hand_in(mark).await;
        tokio::spawn(async move {
            tell(servers.settle(mark, first, &refused).await);
            drop(place);
        });
    }
}

impl Servers {
    /// Sends a mark, which is a message without text. The servers recognize it by its id.
    async fn hand_in(&self, mark: Mark) -> Result<PublishAckFuture, NotMarked> {
        if self.client.connection_state() != Connection::Connected {
            return Err(NotMarked::ForNow("there is no connection to the servers".to_owned()));
        }
        let id: String = mark.iter().map(|byte| format!("{byte:02x}")).collect();
        let sent = self.context.send_publish(self.subject.clone(), PublishMessage::build().message_id(id)).await;
        sent.map_err(|error| NotMarked::of(&error))
    }

    /// Waits for the servers' answer to a mark. While they choose a leader none of them has it, and it is sent again.
    async fn settle(&self, mark: Mark, first: Result<PublishAckFuture, NotMarked>, refused: &Refused) -> Marked {
        let (begun, mut handed_in) = (Instant::now(), first);
        loop {
            let said = match handed_in {
                Ok(acknowledgement) => acknowledgement.await.map_err(|error| NotMarked::of(&error)),
                Err(why) => Err(why),
            };
            match said {
                Ok(acknowledged) if acknowledged.duplicate => return Marked::Again,
                Ok(_) => return Marked::First,
                Err(NotMarked::ForNow(_)) if begun.elapsed() < self.patience => {}
                Err(NotMarked::ForNow(why) | NotMarked::InDoubt(why)) => return refused.away(&why),
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
            handed_in = self.hand_in(mark).await;
        }
    }
}

/// Why the servers did not say whether a mark is new.
enum NotMarked {
    /// No server has it, so it can be sent again.
    ForNow(String),
    /// The servers may have it, and then would say that it came before.
    InDoubt(String),
}

impl NotMarked {
    fn of(error: &PublishError) -> NotMarked {
        match error.kind() {
            // Nobody listens on its subject.
            PublishErrorKind::StreamNotFound => NotMarked::ForNow(error.to_string()),
            PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::MaxPayloadExceeded
            | PublishErrorKind::Other => NotMarked::InDoubt(error.to_string()),
        }
    }
}

/// The marks whose outcome the servers did not tell: their number since the last line in the log, and the time of that
/// line.
#[derive(Clone, Default)]
struct Refused(Arc<Mutex<(u64, Option<Instant>)>>);

impl Refused {
    /// Logs at most one line a second.
    fn away(&self, error: &dyn std::fmt::Display) -> Marked {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.0 += 1;
        if refused.1.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            let count = refused.0;
            tracing::warn!(%error, count, "the log's servers did not say whether signed requests are new");
            *refused = (0, Some(Instant::now()));
        }
        Marked::Away
    }
}
