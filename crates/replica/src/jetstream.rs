//! A stream of NATS JetStream as a log. One thread talks to the servers; the loop's thread gets messages through a channel.

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
use engine::{Engine, LogMessage, NodeId, Time};
use futures_util::StreamExt;
use market::inbox::Inbox;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{Delivered, LogClient, LogError};
use crate::copies::CopySource;
use crate::giving::give;
use crate::log_check::{self, LastGiven, Told, check_taken, time_of};
use crate::log_url::LogUrl;
use crate::parts::WINDOW;
use crate::retention::Retention;
use crate::servers::{BETWEEN_TRIES, connect, missing, stream_if_there};
use crate::standing::Standing;
use crate::status_subject;
use crate::stream_config::{LogTerms, subject, weaknesses};
use crate::survey::ask;
use crate::upgrade::Written;

/// A message was sent, and for so long nothing came: perhaps the server that delivers is gone. Another one is asked, and asked again when it
/// has not answered for so long: the servers answer nobody while they choose a leader, also later.
const SILENCE: Duration = Duration::from_millis(1500);
/// Messages that came and that the loop did not take yet. While there are so many no more are read.
const WAITING_MAX: usize = 256;

/// A log on the servers, to be opened.
pub struct Found {
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
    outgoing: UnboundedSender<Outgoing>,
    delivered: Receiver<Result<Delivered, LogError>>,
    /// None where messages are kept for ever.
    retention: Option<Retention>,
    /// Set while what was sent did not come back.
    is_waiting: Arc<AtomicBool>,
    /// The last message that is known of.
    end: Arc<AtomicU64>,
    message_bytes_max: usize,
    rules: Written,
}

/// What the servers are told.
enum Outgoing {
    Message(Bytes),
    /// Nobody needs what stands before this message.
    Forget(u64),
}

/// Finds a log that is there. Errors: it is not, or is kept with less care than it needs.
pub fn find(url: &LogUrl) -> Result<Found, LogError> {
    find_if_there(url)?.ok_or_else(|| missing(url))
}

/// The same, if there is one.
pub fn find_if_there(url: &LogUrl) -> Result<Option<Found>, LogError> {
    let (runtime, client, context) = connect(url)?;
    let Some(stream) = runtime.block_on(stream_if_there(&context, url))? else { return Ok(None) };
    let (config, state) = (&stream.cached_info().config, &stream.cached_info().state);
    let (terms, weak) = (LogTerms::of(url, config)?, weaknesses(url, config));
    if !weak.is_empty() {
        return Err(LogError(format!("{url} does not keep a log as it has to be kept: {}", weak.join("; "))));
    }
    let (first, end, url) = (state.first_sequence, state.last_sequence, url.clone());
    Ok(Some(Found { client, context, runtime, subject: subject(&url), terms, url, first, end, stream }))
}

impl Found {
    /// Whether a node that took this message last finds all that it needs in it.
    pub fn reaches_back_to(&self, last: Option<LogMessage>) -> bool {
        self.start(last) >= self.behind() && self.start(last).saturating_add(1) >= self.first
    }

    /// The place before its first message.
    fn behind(&self) -> u64 {
        self.terms.behind.map_or(0, |last| last.position)
    }

    /// Where a node begins to read that took this message last. What of it was not whole when a log got lost, which this one stands in for, counts
    /// nowhere.
    pub fn start(&self, last: Option<LogMessage>) -> u64 {
        let position = last.map_or(0, |last| last.position);
        position.saturating_sub(WINDOW).max(self.behind()).min(position)
    }

    /// Errors: a process answers already as the node of this number. One that writes finds that out by its epochs; one that only follows
    /// leaves no trace in the log by which another would notice it.
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

    /// Opens it for a node whose engine stands there. Errors: it is not the log that the node followed, or it has lost something.
    /// To other nodes it gives copies of its data folder.
    pub fn open(
        self,
        engine: &Engine,
        (node, inbox, standing, patience): (NodeId, Arc<Inbox>, Standing, Duration),
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
        let retention = self.terms.keep.map(Retention::new);
        let (start, end) = (self.start(last), Arc::new(AtomicU64::new(self.end)));
        let message_bytes_max = self.client.server_info().max_payload;
        let (outgoing, sent) = unbounded_channel();
        let (incoming, delivered) = sync_channel(WAITING_MAX);
        let is_waiting = Arc::new(AtomicBool::new(false));
        let waiting = is_waiting.clone();
        let rules = Written::new(self.terms.rules);
        let Found { context, stream, runtime, subject, client, url, .. } = self;
        let (name, written) = (url.name().to_owned(), rules.clone());
        let known_end = end.clone();
        let talk = move || {
            // Nobody sends any more when the market has ended.
            let give = give((client.clone(), name.clone(), node.number()), copies);
            let answer = status_subject::answer(client.clone(), name, standing.clone());
            let last = LastGiven::default();
            let told = Told { failed: incoming.clone(), inbox: inbox.clone(), standing, patience };
            let check = log_check::watch((client.clone(), stream.clone()), last.clone(), told);
            let follow_rules = written.follow(url, stream.clone());
            let publish = publish((client.clone(), context), (subject, stream.clone()), sent);
            let follow = follow((client, stream), start, (&incoming, &known_end, &last), &inbox, &waiting);
            runtime.block_on(async {
                tokio::spawn(answer);
                tokio::spawn(check);
                tokio::spawn(give);
                tokio::spawn(follow_rules);
                tokio::select! { () = follow => {}, () = publish => {} }
            });
        };
        let started = std::thread::Builder::new().name("log".to_owned()).spawn(talk);
        started.map_err(|error| LogError(format!("cannot start a thread: {error}")))?;
        Ok(JetStream { outgoing, delivered, retention, is_waiting, end, message_bytes_max, rules })
    }

    /// Errors: a message that was taken last of a node is not there any more, or another one stands in its place. Messages that were taken
    /// before name each other.
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

/// Hands in what is sent. Whether it came to the log is seen when it comes back.
async fn publish(
    (client, context): (Client, Context),
    (subject, stream): (String, Stream),
    mut sent: UnboundedReceiver<Outgoing>,
) {
    while let Some(outgoing) = sent.recv().await {
        let message = match outgoing {
            // It would only wait, and it is sent again.
            Outgoing::Message(_) if client.connection_state() != Connection::Connected => continue,
            Outgoing::Message(message) => message,
            Outgoing::Forget(before) => {
                tokio::spawn(forget(stream.clone(), before));
                continue;
            }
        };
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

async fn forget(stream: Stream, before: u64) {
    match stream.purge().sequence(before).await {
        Ok(purged) => tracing::info!(before, messages = purged.purged, "the log forgot what nodes have snapshots of"),
        Err(error) => tracing::warn!(%error, before, "the log does not forget what nodes have snapshots of"),
    }
}

/// Gives all messages behind `start`, in order. Asks anew, from where it stands, whenever a server that delivers is gone. Ends when nobody
/// listens any more.
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

/// The same from one server. Errors: it does not go on, and why. `Ok` when nobody listens any more.
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
        self.outgoing.send(Outgoing::Message(message)).map_err(|_| ended())
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
        if let Some(before) = self.retention.as_mut().and_then(|retention| retention.agree(position, time)) {
            // That the thread has ended is told to whoever reads.
            let _ = self.outgoing.send(Outgoing::Forget(before));
        }
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    fn rules(&self) -> u8 {
        self.rules.get()
    }
}

fn ended() -> LogError {
    LogError("the thread that talks to the log has ended".to_owned())
}
