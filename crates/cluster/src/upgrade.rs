//! Versions of a log's messages: the log's stream says which one nodes write, and one command raises it when all nodes
//! know a newer one. So nodes are upgraded one by one, and none meets a message that it cannot read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_nats::jetstream::stream::{Config, Stream};

use crate::client::LogError;
use crate::log_url::LogUrl;
use crate::servers::{connect, stream};
use crate::side_streams;
use crate::status_poll::{ClusterReport, of_stream};
use crate::stream_config::LogTerms;
use crate::versions::NEWEST;

/// The interval at which a node looks which version to write.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// The result of an upgrade.
#[derive(Debug, PartialEq, Eq)]
pub enum Upgraded {
    /// Nodes write this version from now on.
    To(u8),
    /// Nodes already wrote this version.
    Already(u8),
}

/// Has all nodes write messages of the newest version. Errors: not all of them know it, or a node that is not `gone`
/// does not answer.
pub fn upgrade(url: &LogUrl, gone: &[u16]) -> Result<Upgraded, LogError> {
    let (runtime, client, context) = connect(url)?;
    runtime.block_on(async {
        let stream = stream(&context, url).await?;
        let config = &stream.cached_info().config;
        let terms = LogTerms::of(url, config)?;
        let make_beside = || side_streams::make(&context, url, terms.cluster, config.num_replicas);
        if terms.messages_version >= NEWEST {
            make_beside().await?;
            return Ok(Upgraded::Already(terms.messages_version));
        }
        let survey = of_stream(&client, &stream, url).await?;
        hindrance(&survey, gone).map_or(Ok(()), |why| Err(LogError(why)))?;
        make_beside().await?;
        let metadata = LogTerms { messages_version: NEWEST, ..terms }.metadata();
        let config = Config { metadata, ..config.clone() };
        let updated = context.update_stream(config).await;
        updated.map_err(|error| {
            LogError(format!("{url} cannot be told to go on with messages of version {NEWEST}: {error}"))
        })?;
        Ok(Upgraded::To(NEWEST))
    })
}

/// The reason why nodes cannot write the newest version yet.
fn hindrance(survey: &ClusterReport, gone: &[u16]) -> Option<String> {
    let silent = survey.silent.iter().find(|(node, _)| !gone.contains(node));
    let older = survey.nodes.iter().find(|report| report.messages_version < NEWEST);
    match (silent, older) {
        _ if survey.nodes.is_empty() => Some("no node answers: start them with this program first".to_owned()),
        (Some((node, _)), _) => Some(format!(
            "node {node} does not answer, so it is not known whether it reads messages of version {NEWEST}: start it, or say --gone {node} \
             if it never comes back"
        )),
        (None, Some(report)) => Some(format!(
            "node {} runs version {} of the program, which does not read messages of version {NEWEST}: start it with this one first",
            report.node, report.version
        )),
        (None, None) => None,
    }
}

/// The version that a node writes. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct WrittenVersion(Arc<AtomicU8>);

impl WrittenVersion {
    pub fn new(version: u8) -> WrittenVersion {
        WrittenVersion(Arc::new(AtomicU8::new(version)))
    }

    pub fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// Follows the stream's version. The node never writes a version that this program does not know: it ends when such
    /// a message comes.
    pub async fn follow(self, url: LogUrl, stream: Stream) {
        loop {
            tokio::time::sleep(LOOK_AFTER).await;
            // Without an answer it asks again later.
            let Ok(info) = stream.get_info().await else { continue };
            if let Ok(terms) = LogTerms::of(&url, &info.config) {
                self.0.store(terms.messages_version.min(NEWEST), Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_status::NodeReport;
    use crate::status_poll::LogReport;

    #[test]
    fn an_upgrade_waits_for_nodes_that_do_not_answer_and_for_those_of_an_older_program() {
        let log = LogReport {
            cluster: "1".to_owned(),
            messages_version: NEWEST,
            first: 1,
            end: 9,
            bytes: 0,
            leader: None,
            followers: Vec::new(),
        };
        let node = |node, messages_version| NodeReport { node, messages_version, ..NodeReport::default() };
        let mut survey = ClusterReport { log, nodes: Vec::new(), silent: Vec::new() };
        assert!(hindrance(&survey, &[]).is_some_and(|why| why.starts_with("no node answers")));
        survey.nodes = vec![node(1, NEWEST), node(3, NEWEST)];
        assert_eq!(hindrance(&survey, &[]), None);
        survey.silent = vec![(2, 7)];
        assert!(hindrance(&survey, &[3]).is_some_and(|why| why.contains("node 2 does not answer")));
        assert_eq!(hindrance(&survey, &[2]), None);
        survey.nodes.push(node(4, NEWEST - 1));
        assert!(hindrance(&survey, &[2]).is_some_and(|why| why.starts_with("node 4 runs version ")));
    }
}
