//! The two streams beside a log: one has the shared members of its nodes, the other one the signed requests that they
//! took.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};

use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::servers::named_stream_if_there;

/// The key under which a stream has the number of its cluster.
pub(crate) const CLUSTER: &str = "pricetime-cluster";
/// The key that the streams have while their log is made. Streams without it are beside a log that was there once.
const BEING_MADE: &str = "pricetime-being-made";
/// The number of editions of the members that are kept. The last one counts; the others show who changed what.
const EDITIONS_KEPT: i64 = 64;
/// The time for which a signed request is remembered: longer than one may be old (62 s), even if the nodes' clocks are
/// two minutes apart.
const SIGNED_KEPT: Duration = Duration::from_secs(180);
/// The most signed requests that are remembered, in memory. Further ones are refused until some are forgotten.
const SIGNED_MAX: i64 = 1 << 20;

/// The stream of the members.
pub(crate) fn members_stream(url: &LogUrl) -> String {
    format!("{}-members", url.name())
}

pub(crate) fn members_subject(url: &LogUrl) -> String {
    format!("pricetime.{}.members", url.name())
}

fn signed_stream(url: &LogUrl) -> String {
    format!("{}-signed", url.name())
}

pub(crate) fn signed_subject(url: &LogUrl) -> String {
    format!("pricetime.{}.signed", url.name())
}

/// The configurations that both streams need.
fn needed(url: &LogUrl, cluster: u64, replicas: usize) -> [Config; 2] {
    let common = Config {
        retention: RetentionPolicy::Limits,
        num_replicas: replicas,
        deny_delete: true,
        metadata: HashMap::from([(CLUSTER.to_owned(), format!("{cluster:016x}"))]),
        ..Config::default()
    };
    let members = Config {
        name: members_stream(url),
        subjects: vec![members_subject(url)],
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        max_messages: EDITIONS_KEPT,
        ..common.clone()
    };
    // The servers recognize a message by its id for as long.
    let signed = Config {
        name: signed_stream(url),
        subjects: vec![signed_subject(url)],
        storage: StorageType::Memory,
        discard: DiscardPolicy::New,
        max_messages: SIGNED_MAX,
        max_age: SIGNED_KEPT,
        duplicate_window: SIGNED_KEPT,
        ..common
    };
    [members, signed]
}

/// Makes both streams of a log that is made next, where an interrupted creation has not made them. Errors: those of
/// `make`.
pub(crate) async fn begin_creation(
    context: &Context,
    url: &LogUrl,
    cluster: u64,
    replicas: usize,
) -> Result<(), LogError> {
    let being_made = |mut config: Config| {
        config.metadata.insert(BEING_MADE.to_owned(), "yes".to_owned());
        config
    };
    make_all(context, url, needed(url, cluster, replicas).map(being_made)).await
}

/// Says in both streams, where they do not say so yet, that their log is there. Errors: no server answers, or they
/// refuse.
pub(crate) async fn end_creation(context: &Context, url: &LogUrl) -> Result<(), LogError> {
    for name in [members_stream(url), signed_stream(url)] {
        let Some(found) = named_stream_if_there(context, url, &name).await? else { continue };
        let mut config = found.cached_info().config.clone();
        if config.metadata.remove(BEING_MADE).is_none() {
            continue;
        }
        let ended = context.update_stream(&config).await;
        ended.map_err(|error| {
            LogError(format!(
                "the stream {name} cannot be told that {url} is made: {error}. The log is there; give `pricetime cluster create --if-missing` \
                 before you use it"
            ))
        })?;
    }
    Ok(())
}

/// Makes both streams of a log that is there, where they are missing. Errors: the servers refuse, or there are such
/// streams with another content.
pub(crate) async fn make(context: &Context, url: &LogUrl, cluster: u64, replicas: usize) -> Result<(), LogError> {
    end_creation(context, url).await?;
    make_all(context, url, needed(url, cluster, replicas)).await
}

async fn make_all(context: &Context, url: &LogUrl, streams: [Config; 2]) -> Result<(), LogError> {
    for config in streams {
        let name = config.name.clone();
        let made = context.create_stream(config).await;
        made.map_err(|error| {
            LogError(format!(
                "the stream {name} cannot be made beside {url}: {error}. If it is there with other settings, and nobody needs \
                 it, remove it first (nats stream rm {name})"
            ))
        })?;
    }
    Ok(())
}

/// The number of the cluster of which an interrupted creation has made streams, where there is no log yet; none where
/// there are no such streams either. Errors: one of them is of something else, or may be beside a log that is lost; or
/// no server answers.
pub(crate) async fn left_behind(context: &Context, url: &LogUrl) -> Result<Option<u64>, LogError> {
    let mut left = None;
    for name in [members_stream(url), signed_stream(url)] {
        let Some(found) = named_stream_if_there(context, url, &name).await? else { continue };
        let info = found.cached_info();
        let is_being_made = info.config.metadata.contains_key(BEING_MADE);
        let named = info.config.metadata.get(CLUSTER).and_then(|text| u64::from_str_radix(text, 16).ok());
        let fault = match named {
            None => "is of something else: it names no cluster",
            Some(_) if info.state.last_sequence > 0 => {
                "has had messages, so its log may be lost (then see `pricetime cluster recover`)"
            }
            Some(_) if !is_being_made => {
                "no creation was interrupted, so its log may be lost (then see `pricetime cluster recover`)"
            }
            Some(cluster) if left.is_some_and(|other| other != cluster) => "is of another cluster than the other one",
            Some(cluster) => {
                left = Some(cluster);
                continue;
            }
        };
        return Err(LogError(format!(
            "the stream {name} is there without {url}, and {fault}: make the log under another name, or remove the stream \
             first if nobody needs it (nats stream rm {name})"
        )));
    }
    Ok(left)
}

/// Errors: one of the streams, where it is there and can be asked for, is kept with other settings than it has to be,
/// and with which ones.
pub(crate) async fn check(context: &Context, url: &LogUrl, cluster: u64) -> Result<(), LogError> {
    for needed in needed(url, cluster, 1) {
        let Ok(found) = context.get_stream(&needed.name).await else { continue };
        let weak = weaknesses(&needed, &found.cached_info().config);
        if !weak.is_empty() {
            let (name, weak) = (&needed.name, weak.join("; "));
            return Err(LogError(format!(
                "the stream {name} beside {url} is not kept as it has to be: {weak}. Set it as `pricetime cluster create` does, or remove it \
                 and run `pricetime cluster upgrade` (docs/CLUSTER.md)"
            )));
        }
    }
    Ok(())
}

/// Settings with which members could get lost, or a signed request could be taken twice.
fn weaknesses(needed: &Config, found: &Config) -> Vec<&'static str> {
    let is_of_cluster = found.metadata.get(CLUSTER) == needed.metadata.get(CLUSTER);
    let checks = [
        (is_of_cluster, "it is of another cluster"),
        (!found.metadata.contains_key(BEING_MADE), "its creation has not ended: `create --if-missing` ends it"),
        (found.storage == needed.storage || found.storage == StorageType::File, "its storage is not file"),
        (found.retention == needed.retention, "its retention is not limits"),
        (found.discard == needed.discard, "its discard is another one"),
        (found.deny_delete, "its messages may be deleted: deny_delete has to be set"),
        (found.subjects == needed.subjects, "its subjects are other ones"),
        (found.max_messages >= needed.max_messages || found.max_messages <= 0, "it keeps too few messages"),
        (
            found.max_age.is_zero() || found.max_age >= needed.max_age && !needed.max_age.is_zero(),
            "its messages are forgotten too soon",
        ),
        (found.duplicate_window >= needed.duplicate_window, "its duplicate window is too short"),
        (found.sources.is_none() && found.mirror.is_none(), "it gets messages from other streams"),
    ];
    checks.into_iter().filter(|(is_fit, _)| !is_fit).map(|(_, what)| what).collect()
}
