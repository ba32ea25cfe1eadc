//! A stream of NATS JetStream as a log. One thread talks to the servers; the loop's thread gets messages through a
//! channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State as Connection;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use engine::Engine;
use futures_util::StreamExt;
use market::inbox::Inbox;
use terms::{LogMessage, NodeId, Time};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::client::{Delivered, LogClient, LogError};
use crate::log_check::{self, CheckReport, LastGiven, check_taken, time_of};
use crate::log_url::LogUrl;
use crate::message_parts::WINDOW;
use crate::node_copy::CopySource;
use crate::node_copy::give;
use crate::node_status::NodeStatus;
use crate::retention::{self, AgreedMark};
use crate::servers::{BETWEEN_TRIES, connect, missing, stream_if_there};
use crate::side_streams;
use crate::status_poll::ask;
use crate::status_subject;
use crate::stream_config::{LogTerms, subject, weaknesses};
use crate::upgrade::WrittenVersion;

/// A message was sent, and for so long nothing came: perhaps the server that delivers is gone. Another one is asked,
/// and asked again when it has not answered for so long: the servers answer nobody while they choose a leader, also
/// later.
const SILENCE: Duration = Duration::from_millis(1500);
/// The most messages that wait for the loop. At that number no more are read.
const WAITING_MAX: usize = 256;

/// A log on the servers, to be opened.
pub struct FoundLog {
    client: Client,
    context: Context,
    stream: Stream,
    runtime: tokio::runtime::Runtime,
    subject: String,
    pub terms: LogTerms,
    url: LogUrl,
    first: u64,
    end: u64,
}

/// An open log.
pub struct JetStream {
    outgoing: UnboundedSender<Bytes>,
    delivered: Receiver<Result<Delivered, LogError>>,
    /// The last mark on which nodes agreed; none where messages are kept for ever.
    agreed: Option<watch::Sender<AgreedMark>>,
    /// Set while a sent message has not come back.
    is_waiting: Arc<AtomicBool>,
    /// The position of the last known message.
    end: Arc<AtomicU64>,
    message_bytes_max: usize,
    written_version: WrittenVersion,
}

/// Finds an existing log. Errors: it is missing, or its settings are weaker than it needs.
pub fn find(url: &LogUrl) -> Result<FoundLog, LogError> {
    find_if_there(url)?.ok_or_else(|| missing(url))
}

/// Finds a log, if there is one.
pub fn find_if_there(url: &LogUrl) -> Result<Option<FoundLog>, LogError> {
    let (runtime, client, context) = connect(url)?;
    let Some(stream) = runtime.block_on(stream_if_there(&context, url))? else { return Ok(None) };
    let (config, state) = (&stream.cached_info().config, &stream.cached_info().state);
    let (terms, weak) = (LogTerms::of(url, config)?, weaknesses(url, config));
    if !weak.is_empty() {
        return Err(LogError(format!("{url} does not keep a log as it has to be kept: {}", weak.join("; "))));
    }
    let (first, end, url) = (state.first_sequence, state.last_sequence, url.clone());
    Ok(Some(FoundLog { client, context, runtime, subject: subject(&url), terms, url, first, end, stream }))
}

impl FoundLog {
    /// Whether a node that took this message last finds all later ones in it.
    pub fn reaches_back_to(&self, last: Option<LogMessage>) -> bool {
        self.start(last) >= self.behind() && self.start(last).saturating_add(1) >= self.first
    }

    /// Whether it has or had a message.
    pub fn is_begun(&self) -> bool {
        self.end > self.behind()
    }

    /// Ends its creation, if that was interrupted at the end. Errors: no server answers, or they refuse.
    pub fn end_creation(&self) -> Result<(), LogError> {
        self.runtime.block_on(side_streams::end_creation(&self.context, &self.url))
    }

    /// The position before its first message.
    fn behind(&self) -> u64 {
        self.terms.behind.map_or(0, |last| last.position)
    }

    /// The position behind which a node begins to read that took this message last. Batches that were incomplete when a
    /// log got lost, which this one replaces, count nowhere.
    pub fn start(&self, last: Option<LogMessage>) -> u64 {
        let position = last.map_or(0, |last| last.position);
        position.saturating_sub(WINDOW).max(self.behind()).min(position)
    }

    /// Checks that no process answers as the node of this number. A process that writes would be found by its epochs;
    /// one that only follows leaves no trace in the log. Errors: one answers.
    pub fn check_nobody_is(&self, node: NodeId) -> Result<(), LogError> {
        let asked = self.runtime.block_on(ask(&self.client, self.url.name()));
        let nodes = asked.map_err(|error| LogError(format!("the nodes of {} cannot be asked: {error}", self.url)))?;
        match nodes.iter().any(|report| report.node == node.number()) {
            true => Err(LogError(format!(
                "another process answers as node {node}: give each process a node number of its own"
            ))),
            false => Ok(()),
        }
    }

    /// Opens the log for a node with this engine, and gives other nodes copies of its data folder. Errors: it is not
    /// the log that the node followed, or it has lost messages.
    pub fn open(
        self,
        engine: &Engine,
        (node, inbox, standing, patience): (NodeId, Arc<Inbox>, NodeStatus, Duration),
        copies: Arc<dyn CopySource>,
    ) -> Result<JetStream, LogError> {
        let last = engine.shared_log().last();
        if !self.reaches_back_to(last) {
            return Err(LogError(format!(
                "the log begins at message {}, and this node took message {} last: start it with an empty folder, and it gets a copy of \
                 another node's (docs/CLUSTER.md)",
                self.first,
                last.map_or(0, |last| last.position)
            )));
        }
        self.check(engine)?;
        let (agreed, forget) = match self.terms.keep {
            Some(keep) => {
                let (agreed, marks) = watch::channel(AgreedMark { position: 0, time: Time::ZERO });
                (Some(agreed), Some(retention::forget(self.stream.clone(), keep, marks)))
            }
            None => (None, None),
        };
        let (start, end) = (self.start(last), Arc::new(AtomicU64::new(self.end)));
        let message_bytes_max = self.client.server_info().max_payload;
        let (outgoing, sent) = unbounded_channel();
        let (incoming, delivered) = sync_channel(WAITING_MAX);
        let is_waiting = Arc::new(AtomicBool::new(false));
        let waiting = is_waiting.clone();
        let written_version = WrittenVersion::new(self.terms.messages_version);
        let FoundLog { context, stream, runtime, subject, client, url, .. } = self;
        let (name, written) = (url.name().to_owned(), written_version.clone());
        let known_end = end.clone();
        let talk = move || {
            // A dropped sender means that the market has ended.
            let give = give((client.clone(), name.clone(), node.number()), copies);
            let answer = status_subject::answer(client.clone(), name, standing.clone());
            let last = LastGiven::default();
            let told = CheckReport { failed: incoming.clone(), inbox: inbox.clone(), standing, patience };
            let check = log_check::watch((client.clone(), stream.clone()), last.clone(), told);
            let follow_version = written.follow(url, stream.clone());
            let publish = publish((client.clone(), context), subject, sent);
            let follow = follow((client, stream), start, (&incoming, &known_end, &last), &inbox, &waiting);
            runtime.block_on(async {
                tokio::spawn(answer);
                tokio::spawn(check);
                tokio::spawn(give);
                tokio::spawn(follow_version);
                forget.map(tokio::spawn);
                tokio::select! { () = follow => {}, () = publish => {} }
            });
        };
        let started = std::thread::Builder::new().name("log".to_owned()).spawn(talk);
        started.map_err(|error| LogError(format!("cannot start a thread: {error}")))?;
        Ok(JetStream { outgoing, delivered, agreed, is_waiting, end, message_bytes_max, written_version })
    }

    /// Checks that the last message taken of each node is still in its place; each message names an earlier one, so
    /// these prove the others. Errors: one is missing, or another stands in its place.
    fn check(&self, engine: &Engine) -> Result<(), LogError> {
        let position = engine.shared_log().position();
        if self.end < position {
            return Err(LogError(format!(
                "the log ends at message {}, and this node took message {position} of it: the log has lost its end. Its commands are in \
                 this node's journal: keep its data folder, and see `pricetime cluster recover` (docs/CLUSTER.md)",
                self.end
            )));
        }
        let of_nodes = engine.shared_log().all().filter(|taken| taken.position >= self.first.max(1));
        let checked = of_nodes.map(|taken| self.runtime.block_on(check_taken(&self.stream, taken, engine.time())));
        checked.collect()
    }
}

/// Sends messages. They have reached the log when they come back.
async fn publish((client, context): (Client, Context), subject: String, mut sent: UnboundedReceiver<Bytes>) {
    while let Some(message) = sent.recv().await {
        if client.connection_state() != Connection::Connected {
            // The message would only wait for a connection, and is sent again later.
            continue;
        }
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

/// Passes on all messages behind `start`, in order. It asks again, from its position, whenever a server that delivers
/// is gone. Ends when the receiver is gone.
async fn follow(
    (client, stream): (Client, Stream),
    start: u64,
    (incoming, end, last): (&SyncSender<Result<Delivered, LogError>>, &AtomicU64, &LastGiven),
    inbox: &Inbox,
    is_waiting: &AtomicBool,
) {
    let mut seen = start;
    while let Err(error) = deliver((&client, &stream), &mut seen, (incoming, end, last), inbox, is_waiting).await {
        tracing::warn!(error, "the log is asked for its messages again");
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
}

/// Passes on the messages of one server. Errors: the reason why it stopped. `Ok` when the receiver is gone.
async fn deliver(
    (client, stream): (&Client, &Stream),
    seen: &mut u64,
    (incoming, end, last): (&SyncSender<Result<Delivered, LogError>>, &AtomicU64, &LastGiven),
    inbox: &Inbox,
    is_waiting: &AtomicBool,
) -> Result<(), String> {
    let config = push::OrderedConfig {
        deliver_subject: client.new_inbox(),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: seen.saturating_add(1) },
        ..push::OrderedConfig::default()
    };
    let asked = tokio::time::timeout(SILENCE, stream.create_consumer(config)).await;
    let consumer = asked.map_err(|_| "no server answers".to_owned())?.map_err(|error| error.to_string())?;
    let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
    loop {
        let message = match tokio::time::timeout(SILENCE, messages.next()).await {
            Ok(Some(message)) => message.map_err(|error| error.to_string())?,
            Ok(None) => return Err("the server ended".to_owned()),
            Err(_) if is_waiting.load(Ordering::Relaxed) => return Err("nothing comes".to_owned()),
            Err(_) => continue,
        };
        let info = message.info().map_err(|error| error.to_string())?;
        let (position, time) = (info.stream_sequence, time_of(info.published.unix_timestamp_nanos()));
        if position <= *seen {
            continue;
        }
        *seen = position;
        end.fetch_max(position.saturating_add(info.pending), Ordering::Relaxed);
        let delivered = Delivered { position, time, bytes: message.message.payload };
        last.set(&delivered);
        if incoming.send(Ok(delivered)).is_err() {
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
                delivered.map(Some)
            }
            Err(false) => Ok(None),
            Err(true) => Err(ended()),
        }
    }

    fn agreed(&mut self, position: u64, time: Time) {
        if let Some(agreed) = &self.agreed {
            agreed.send_replace(AgreedMark { position, time });
        }
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    fn written_version(&self) -> u8 {
        self.written_version.get()
    }
}

fn ended() -> LogError {
    LogError("the thread that talks to the log has ended".to_owned())
}
