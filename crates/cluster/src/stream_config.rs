//! The configuration of a log's stream, and the terms that it holds.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use terms::{LogMessage, NodeId};

use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::message;
use crate::servers::{connect, stream_if_there};
use crate::side_streams::{self, CLUSTER};
use crate::versions::{NEWEST, OLDEST};

/// The key of the interval at which its nodes compare their states, and the interval where it is missing.
const MARKS: &str = "pricetime-marks-seconds";
const MARKS_SECONDS: u64 = 300;
/// The key of the age in seconds from which messages are forgotten that nodes have in snapshots. Without it, they are
/// kept for ever.
const KEEP: &str = "pricetime-keep-seconds";
/// The key of the version of the nodes' messages.
const MESSAGES: &str = "pricetime-messages";
/// The key that builds before release 0.1.0 used for it. No release reads their messages.
const UNRELEASED: &str = "pricetime-rules";
/// The key, in a log that replaces a lost one, of the message behind which it goes on: position, node, epoch and
/// number.
const BEHIND: &str = "pricetime-behind";

/// The terms of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogTerms {
    /// The cluster's number, which the messages of all its nodes carry.
    pub cluster: u64,
    /// The interval at which its nodes compare their states.
    pub marks_every: Duration,
    /// The age from which messages are forgotten that two nodes have in snapshots; none where they are kept for ever.
    pub keep: Option<Duration>,
    /// The version of messages that its nodes write.
    pub messages_version: u8,
    /// The last message of the lost log, behind which this one goes on.
    pub behind: Option<LogMessage>,
}

impl LogTerms {
    /// Reads the terms of a stream.
    pub(crate) fn of(url: &LogUrl, config: &Config) -> Result<LogTerms, LogError> {
        let named = |name: &str| config.metadata.get(name);
        let seconds = |name: &str| named(name).and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let Some(cluster) = named(CLUSTER).and_then(|text| u64::from_str_radix(text, 16).ok()) else {
            return Err(LogError(format!("{url} is a stream of something else: it names no cluster")));
        };
        let behind = named(BEHIND).map(|text| {
            read_message(text)
                .ok_or_else(|| LogError(format!("{url} does not say which message it goes on behind: {text}")))
        });
        let marks_every = seconds(MARKS).unwrap_or(Duration::from_secs(MARKS_SECONDS)).max(Duration::from_secs(1));
        if named(UNRELEASED).is_some() {
            return Err(LogError(format!(
                "{url} was made by a build before 0.1.0, the first release, and no release reads its messages; nothing is changed: keep it \
                 for the build that made it, and make a log under another name for a new market"
            )));
        }
        let said = named(MESSAGES).map_or("", String::as_str);
        let Ok(messages_version) = said.parse() else {
            let said = if said.is_empty() { "the entry is missing" } else { said };
            return Err(LogError(format!("{url} does not say in which version its messages are written: {said}")));
        };
        readable(url, messages_version)?;
        Ok(LogTerms { cluster, marks_every, keep: seconds(KEEP), messages_version, behind: behind.transpose()? })
    }

    pub(crate) fn metadata(&self) -> HashMap<String, String> {
        let LogTerms { cluster, marks_every, keep, messages_version, behind } = self;
        let seconds = |name: &str, time: &Duration| (name.to_owned(), time.as_secs().max(1).to_string());
        let version = (MESSAGES.to_owned(), messages_version.to_string());
        let marks = [(CLUSTER.to_owned(), format!("{cluster:016x}")), seconds(MARKS, marks_every), version];
        let behind = behind.as_ref().map(|message| (BEHIND.to_owned(), write_message(message)));
        marks.into_iter().chain(keep.as_ref().map(|keep| seconds(KEEP, keep))).chain(behind).collect()
    }
}

/// Errors: the log has messages of a version that this program does not read.
fn readable(url: &LogUrl, version: u8) -> Result<(), LogError> {
    let help = match version {
        OLDEST..=NEWEST => return Ok(()),
        0..OLDEST => {
            "make a log under another name with `pricetime cluster recover` and the folder of a stopped node, and begin the other nodes with \
             empty folders (docs/CLUSTER.md)"
        }
        _ => "start the program that knows them",
    };
    let reads = message::readable();
    Err(LogError(format!("{url} has messages of version {version}, and this program reads {reads}: {help}")))
}

fn write_message(message: &LogMessage) -> String {
    let LogMessage { position, node, epoch, number } = message;
    format!("{position} {} {epoch} {number}", node.number())
}

fn read_message(text: &str) -> Option<LogMessage> {
    let mut words = text.split(' ');
    let position = words.next()?.parse().ok()?;
    let node = NodeId::new(words.next()?.parse().ok()?)?;
    Some(LogMessage { position, node, epoch: words.next()?.parse().ok()?, number: words.next()?.parse().ok()? })
}

/// Makes a log where there is none. Returns the number of its cluster: that of the terms, or the one with which an
/// interrupted creation has begun. Errors: there is one, or the servers refuse.
pub fn create(url: &LogUrl, replicas: usize, terms: &LogTerms) -> Result<u64, LogError> {
    let (runtime, _, context) = connect(url)?;
    runtime.block_on(async {
        if stream_if_there(&context, url).await?.is_some() {
            side_streams::end_creation(&context, url).await?;
            return Err(LogError(format!("{url} is there already, and is left as it is")));
        }
        let made = make(&context, url, replicas, terms).await;
        // Somebody else may make it at the same time: then this goes on with the number that the other one drew.
        let is_there = async || Ok::<_, LogError>(stream_if_there(&context, url).await?.is_some());
        let made = if made.is_err() && !is_there().await? { make(&context, url, replicas, terms).await } else { made };
        if made.is_ok() || !is_there().await? {
            return made;
        }
        side_streams::end_creation(&context, url).await?;
        Err(LogError(format!("{url} is there already, and is left as it is")))
    })
}

/// Makes the streams of a log. Returns the number of its cluster. Errors: the servers refuse.
async fn make(context: &Context, url: &LogUrl, replicas: usize, terms: &LogTerms) -> Result<u64, LogError> {
    let cluster = side_streams::left_behind(context, url).await?.unwrap_or(terms.cluster);
    side_streams::begin_creation(context, url, cluster, replicas).await?;
    let first_sequence = terms.behind.map(|last| last.position.saturating_add(1));
    let metadata = LogTerms { cluster, ..*terms }.metadata();
    let made = context.create_stream(Config { metadata, first_sequence, ..needed(url, replicas) }).await;
    made.map_err(|error| LogError(format!("{url} cannot be made: {error}")))?;
    side_streams::end_creation(context, url).await?;
    Ok(cluster)
}

/// The configuration that a log's stream needs.
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

/// The subject of its messages.
pub(crate) fn subject(url: &LogUrl) -> String {
    format!("pricetime.{}.log", url.name())
}

/// The settings with which a stream could lose messages.
pub(crate) fn weaknesses(url: &LogUrl, config: &Config) -> Vec<String> {
    let needed = needed(url, config.num_replicas);
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
