//! The two streams beside a log: one has the members that its nodes have in common, the other one the signed requests
//! that they took.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};

use crate::client::LogError;
use crate::log_url::LogUrl;

/// Where a stream says which cluster it is of.
pub(crate) const CLUSTER: &str = "pricetime-cluster";
/// Editions of the members that are kept. The last one counts; the others tell who changed what.
const EDITIONS_KEPT: i64 = 64;
/// A signed request is remembered for so long: longer than one may be old (62 s), also where the nodes' clocks are two
/// minutes apart.
const SIGNED_KEPT: Duration = Duration::from_secs(180);
/// So many are remembered, in memory. Further ones are refused until some are forgotten.
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

/// Makes both, as far as they are not there. Errors: the servers refuse it, or there are such streams of something
/// else.
pub(crate) async fn make(context: &Context, url: &LogUrl, cluster: u64, replicas: usize) -> Result<(), LogError> {
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
    // The servers know a message again by its id for as long.
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
    for config in [members, signed] {
        let name = config.name.clone();
        let made = context.create_stream(config).await;
        made.map_err(|error| LogError(format!("the stream {name} cannot be made beside {url}: {error}")))?;
    }
    Ok(())
}
