//! A stream of NATS JetStream as a log. One thread talks to the servers; the loop's thread gets messages through a channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use engine::{LogMessage, Time};
use futures_util::StreamExt;
use market::inbox::Inbox;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{Delivered, LogClient, LogError};
use crate::log_url::LogUrl;
use crate::message::Message;
use crate::parts::WINDOW;
use crate::standing::Standing;
use crate::status_subject;

/// How long an answer of the servers may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before the next try where the servers do not answer.
const BETWEEN_TRIES: Duration = Duration::from_millis(250);
/// A message was sent, and for so long nothing came: perhaps the server that delivers is gone. Another one is asked.
const SILENCE: Duration = Duration::from_millis(1500);
/// Messages that came and that the loop did not take yet. While there are so many no more are read.
const WAITING_MAX: usize = 256;
/// Where a stream says which cluster's log it is.
const CLUSTER: &str = "pricetime-cluster";
/// Where it says after how many seconds its nodes compare their states, and how many these are where it does not.
const MARKS: &str = "pricetime-marks-seconds";
const MARKS_SECONDS: u64 = 300;

/// A log on the servers, to be opened.
pub struct Found {
    client: Client,
    context: Context,
    stream: Stream,
    runtime: tokio::runtime::Runtime,
    subject: String,
    /// The cluster whose log it is.
    pub cluster: u64,
    /// After so long its nodes compare their states.
    pub marks_every: Duration,
    name: String,
    first: u64,
    end: u64,
}

/// An open log.
pub struct JetStream {
    outgoing: UnboundedSender<Bytes>,
    delivered: Receiver<Delivered>,
    /// Set while what was sent did not come back.
    is_waiting: Arc<AtomicBool>,
    /// The last message that is known of.
    end: Arc<AtomicU64>,
    message_bytes_max: usize,
}

/// Makes a log, for a cluster that has none. Errors: there is one, or the servers refuse it.
pub fn create(url: &LogUrl, replicas: usize, cluster: u64, marks_every: Duration) -> Result<(), LogError> {
    let (runtime, _, context) = connect(url)?;
    let marks = marks_every.as_secs().max(1);
    let metadata = [(CLUSTER.to_owned(), format!("{cluster:016x}")), (MARKS.to_owned(), marks.to_string())];
    let config = Config { metadata: metadata.into(), ..needed(url, replicas) };
    runtime.block_on(async {
        if context.get_stream(url.name()).await.is_ok() {
            return Err(LogError(format!("{url} is there already, and is left as it is")));
        }
        let made = context.create_stream(config).await;
        made.map(drop).map_err(|error| LogError(format!("{url} cannot be made: {error}")))
    })
}

/// What a log's stream has to be.
fn needed(url: &LogUrl, replicas: usize) -> Config {
    Config {
        name: url.name().to_owned(),
        subjects: vec![subject(url)],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: replicas,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_age: Duration::ZERO,
        deny_delete: true,
        ..Config::default()
    }
}

fn subject(url: &LogUrl) -> String {
    format!("pricetime.{}.log", url.name())
}

pub(crate) fn connect(url: &LogUrl) -> Result<(tokio::runtime::Runtime, Client, Context), LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| LogError(format!("cannot talk to {url}: {error}")))?;
    let options =
        ConnectOptions::new().connection_timeout(PATIENCE).ping_interval(Duration::from_secs(2)).name("pricetime");
    let client = runtime.block_on(options.connect(url.servers()));
    let client = client.map_err(|error| LogError(format!("{url} cannot be reached: {error}")))?;
    let mut context = runtime.block_on(async { jetstream::new(client.clone()) });
    context.set_timeout(PATIENCE);
    Ok((runtime, client, context))
}

/// A log that is there, and its cluster. Errors: it is not.
pub(crate) async fn get(context: &Context, url: &LogUrl) -> Result<(Stream, u64), LogError> {
    let stream = context.get_stream(url.name()).await.map_err(|error| {
        LogError(format!(
            "{url} is not there ({error}): a new cluster makes it with `pricetime cluster create`; if it was there, it is lost \
             (docs/CLUSTER.md)"
        ))
    })?;
    let named = stream.cached_info().config.metadata.get(CLUSTER);
    match named.and_then(|text| u64::from_str_radix(text, 16).ok()) {
        Some(cluster) => Ok((stream, cluster)),
        None => Err(LogError(format!("{url} is a stream of something else: it names no cluster"))),
    }
}

/// Finds a log that is there. Errors: it is not, or is kept with less care than it needs.
pub fn find(url: &LogUrl) -> Result<Found, LogError> {
    let (runtime, client, context) = connect(url)?;
    let (stream, cluster) = runtime.block_on(get(&context, url))?;
    let (config, state) = (&stream.cached_info().config, &stream.cached_info().state);
    let weak = weaknesses(config, &needed(url, config.num_replicas));
    if !weak.is_empty() {
        return Err(LogError(format!("{url} does not keep a log as it has to be kept: {}", weak.join("; "))));
    }
    let marks = config.metadata.get(MARKS).and_then(|text| text.parse().ok()).unwrap_or(MARKS_SECONDS);
    let (marks_every, name) = (Duration::from_secs(marks.max(1)), url.name().to_owned());
    let (first, end) = (state.first_sequence, state.last_sequence);
    Ok(Found { client, context, runtime, subject: subject(url), cluster, marks_every, name, first, end, stream })
}

/// Settings with which a stream could lose messages.
fn weaknesses(config: &Config, needed: &Config) -> Vec<String> {
    let mut weak = Vec::new();
    let mut check = |is_fit: bool, what: &str| {
        if !is_fit {
            weak.push(what.to_owned());
        }
    };
    check(config.storage == needed.storage, "its storage is not file");
    check(config.retention == needed.retention, "its retention is not limits");
    check(config.discard == needed.discard, "it discards old messages when it is full: discard has to be new");
    check(config.max_age.is_zero(), "its messages have a maximal age");
    check(config.max_messages <= 0, "it has a maximal number of messages");
    check(config.max_messages_per_subject <= 0, "it has a maximal number of messages per subject");
    check(config.deny_delete, "its messages may be deleted: deny_delete has to be set");
    check(config.subjects == needed.subjects, "its subjects are not the log's");
    check(config.sources.is_none() && config.mirror.is_none(), "it gets messages from other streams");
    weak
}

impl Found {
    /// Where a node begins to read that took this message last.
    pub fn start(&self, last: Option<LogMessage>) -> u64 {
        let position = last.map_or(0, |last| last.position);
        position.saturating_sub(WINDOW).max(self.first.saturating_sub(1)).min(position)
    }

    /// Opens it for a node that took this message last. Errors: it is not the log that the node followed, or it has lost something.
    pub fn open(self, last: Option<LogMessage>, inbox: Arc<Inbox>, standing: Standing) -> Result<JetStream, LogError> {
        if let Some(last) = last {
            self.check(last)?;
        } else if self.first > 1 {
            return Err(LogError(format!(
                "the log begins at message {}: a new node begins with a copy of another one's data folder",
                self.first
            )));
        }
        let (start, end) = (self.start(last), Arc::new(AtomicU64::new(self.end)));
        let message_bytes_max = self.client.server_info().max_payload;
        let (outgoing, sent) = unbounded_channel();
        let (incoming, delivered) = sync_channel(WAITING_MAX);
        let is_waiting = Arc::new(AtomicBool::new(false));
        let waiting = is_waiting.clone();
        let Found { context, stream, runtime, subject, client, name, .. } = self;
        let known_end = end.clone();
        let talk = move || {
            // Nobody sends any more when the market has ended.
            let answer = status_subject::answer(client.clone(), name, standing);
            let follow = follow((client, stream), start, (&incoming, &known_end), &inbox, &waiting);
            runtime.block_on(async {
                tokio::spawn(answer);
                tokio::select! { () = follow => {}, () = publish(context, subject, sent) => {} }
            });
        };
        let started = std::thread::Builder::new().name("log".to_owned()).spawn(talk);
        started.map_err(|error| LogError(format!("cannot start a thread: {error}")))?;
        Ok(JetStream { outgoing, delivered, is_waiting, end, message_bytes_max })
    }

    /// Errors: the message that was taken last is not there any more, or another one stands in its place.
    fn check(&self, last: LogMessage) -> Result<(), LogError> {
        let LogMessage { position, node, epoch, number } = last;
        if self.end < position {
            return Err(LogError(format!(
                "the log ends at message {}, and this node took message {position} of it: the log has lost its end. Its commands are in \
                 this node's journal: keep its data folder, and restore the log (docs/CLUSTER.md)",
                self.end
            )));
        }
        if position < self.first {
            return Err(LogError(format!(
                "the log begins at message {}, and this node took message {position} last: begin with a copy of another node's data \
                 folder",
                self.first
            )));
        }
        let found = self.runtime.block_on(self.stream.get_raw_message(position));
        let found =
            found.map_err(|error| LogError(format!("message {position} of the log cannot be read: {error}")))?;
        let read = Message::read(&found.payload)
            .map_err(|error| LogError(format!("message {position} of the log {error}")))?;
        match (read.node, read.epoch, read.number) == (node, epoch, number) {
            true => Ok(()),
            false => Err(LogError(format!(
                "message {position} of the log is number {} of node {} in its epoch {}, and this node took number {number} of node {node} \
                 in its epoch {epoch} there: it is another log",
                read.number, read.node, read.epoch
            ))),
        }
    }
}

/// Hands in what is sent. Whether it came to the log is seen when it comes back.
async fn publish(context: Context, subject: String, mut sent: UnboundedReceiver<Bytes>) {
    while let Some(message) = sent.recv().await {
        match context.publish(subject.clone(), message).await {
            Ok(acknowledgement) => {
                tokio::spawn(async move {
                    if let Err(error) = acknowledgement.await {
                        tracing::warn!(%error, "a message to the log was not acknowledged; it is sent again");
                    }
                });
            }
            Err(error) => tracing::warn!(%error, "a message cannot be sent to the log; it is sent again"),
        }
    }
}

/// Gives all messages behind `start`, in order. Asks anew, from where it stands, whenever a server that delivers is gone. Ends when nobody
/// listens any more.
async fn follow(
    (client, stream): (Client, Stream),
    start: u64,
    (incoming, end): (&SyncSender<Delivered>, &AtomicU64),
    inbox: &Inbox,
    is_waiting: &AtomicBool,
) {
    let mut seen = start;
    while let Err(error) = deliver((&client, &stream), &mut seen, (incoming, end), inbox, is_waiting).await {
        tracing::warn!(error, "the log is asked for its messages again");
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
}

/// The same from one server. Errors: it does not go on, and why. `Ok` when nobody listens any more.
async fn deliver(
    (client, stream): (&Client, &Stream),
    seen: &mut u64,
    (incoming, end): (&SyncSender<Delivered>, &AtomicU64),
    inbox: &Inbox,
    is_waiting: &AtomicBool,
) -> Result<(), String> {
    let config = push::OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: seen.saturating_add(1) },
        ..push::OrderedConfig::default()
    };
    let consumer = stream.create_consumer(config).await.map_err(|error| error.to_string())?;
    let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
    loop {
        let message = match tokio::time::timeout(SILENCE, messages.next()).await {
            Ok(Some(message)) => message.map_err(|error| error.to_string())?,
            Ok(None) => return Err("the server ended".to_owned()),
            Err(_) if is_waiting.load(Ordering::Relaxed) => return Err("nothing comes".to_owned()),
            Err(_) => continue,
        };
        let info = message.info().map_err(|error| error.to_string())?;
        let (position, published) = (info.stream_sequence, info.published.unix_timestamp_nanos() / 1_000);
        if position <= *seen {
            continue;
        }
        *seen = position;
        end.fetch_max(position.saturating_add(info.pending), Ordering::Relaxed);
        let time = Time(u64::try_from(published).unwrap_or(0));
        let delivered = Delivered { position, time, bytes: message.message.payload };
        if incoming.send(delivered).is_err() {
            return Ok(());
        }
        inbox.nudge();
    }
}

impl LogClient for JetStream {
    fn publish(&mut self, message: Bytes) -> Result<(), LogError> {
        self.is_waiting.store(true, Ordering::Relaxed);
        self.outgoing.send(message).map_err(|_| ended())
    }

    fn next(&mut self, patience: Duration) -> Result<Option<Delivered>, LogError> {
        let next = match patience.is_zero() {
            true => self.delivered.try_recv().map_err(|error| error == TryRecvError::Disconnected),
            false => self.delivered.recv_timeout(patience).map_err(|error| error == RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(delivered) => {
                self.is_waiting.store(false, Ordering::Relaxed);
                Ok(Some(delivered))
            }
            Err(false) => Ok(None),
            Err(true) => Err(ended()),
        }
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }
}

fn ended() -> LogError {
    LogError("the thread that talks to the log has ended".to_owned())
}
