//! Reports of a cluster's nodes about themselves, and of the log's servers. Nodes are asked over the log's servers,
//! beside the log: nothing of it is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;

use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::node_status::NodeReport;
use crate::servers::{connect, stream};
use crate::status_subject::subject;
use crate::stream_config::LogTerms;

/// The time that nodes have to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most nodes in a survey, so that an impostor with many answers does not fill the memory.
const NODES_MAX: usize = 1_000;

/// The state of a log and its nodes.
#[derive(Debug)]
pub struct ClusterReport {
    pub log: LogReport,
    /// The nodes that answered, by number.
    pub nodes: Vec<NodeReport>,
    /// The nodes that did not answer, whose messages others have taken, with the last one.
    pub silent: Vec<(u16, u64)>,
}

/// The servers' report about the log.
#[derive(Debug)]
pub struct LogReport {
    pub cluster: String,
    /// The version of messages that its nodes write.
    pub messages_version: u8,
    pub first: u64,
    pub end: u64,
    pub bytes: u64,
    /// The server that leads.
    pub leader: Option<String>,
    /// The other servers that keep it, and whether they have all of it.
    pub followers: Vec<(String, bool)>,
}

/// Asks all nodes. Errors: the log's servers do not answer, or have no such log.
pub fn survey(url: &LogUrl) -> Result<ClusterReport, LogError> {
    let (runtime, client, context) = connect(url)?;
    runtime.block_on(async {
        let stream = stream(&context, url).await?;
        of_stream(&client, &stream, url).await
    })
}

/// Asks the nodes of a stream that was found.
pub(crate) async fn of_stream(client: &Client, stream: &Stream, url: &LogUrl) -> Result<ClusterReport, LogError> {
    let LogTerms { cluster, messages_version, .. } = LogTerms::of(url, &stream.cached_info().config)?;
    let info = stream.cached_info();
    let servers = info.cluster.clone().unwrap_or_default();
    let followers = servers.replicas.into_iter().map(|peer| (peer.name, peer.current && !peer.offline));
    let log = LogReport {
        cluster: format!("{cluster:016x}"),
        messages_version,
        first: info.state.first_sequence,
        end: info.state.last_sequence,
        bytes: info.state.bytes,
        leader: servers.leader,
        followers: followers.collect(),
    };
    let failed = |error: &dyn std::fmt::Display| LogError(format!("the nodes of {url} cannot be asked: {error}"));
    let nodes = ask(client, url.name()).await.map_err(|error| failed(&error))?;
    let mut silent = BTreeMap::new();
    for (node, position) in nodes.iter().flat_map(|report| &report.nodes) {
        let last: &mut u64 = silent.entry(*node).or_default();
        *last = (*last).max(*position);
    }
    silent.retain(|node, _| nodes.iter().all(|report| report.node != *node));
    Ok(ClusterReport { log, nodes, silent: silent.into_iter().collect() })
}

/// Gathers the reports of all nodes that answer.
pub(crate) async fn ask(client: &Client, name: &str) -> Result<Vec<NodeReport>, async_nats::Error> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await?;
    client.publish_with_reply(subject(name), inbox, "".into()).await?;
    let mut nodes = BTreeMap::new();
    let collect = async {
        while let Some(answer) = answers.next().await {
            if let Ok(report) = serde_json::from_slice::<NodeReport>(&answer.payload)
                && nodes.len() < NODES_MAX
                && report.is_plain()
            {
                nodes.insert(report.node, report);
            }
        }
    };
    // The end of the time limit ends the gathering.
    let _ = tokio::time::timeout(PATIENCE, collect).await;
    Ok(nodes.into_values().collect())
}
