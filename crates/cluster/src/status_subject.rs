//! A node's answers about its status, on the log's servers.

use async_nats::Client;
use futures_util::StreamExt;

use crate::node_status::NodeStatus;

/// The subject on which all nodes of a log with this name are asked.
pub(crate) fn subject(name: &str) -> String {
    format!("pricetime.{name}.status")
}

/// Answers requests as long as the connection lives.
pub(crate) async fn answer(client: Client, name: String, standing: NodeStatus) {
    let mut asked = match client.subscribe(subject(&name)).await {
        Ok(asked) => asked,
        Err(error) => return tracing::warn!(%error, "no program gets the status of this node"),
    };
    while let Some(message) = asked.next().await {
        let Some(reply) = message.reply else { continue };
        let report = serde_json::to_vec(&standing.report()).expect("invariant: a report has no maps but of numbers");
        if let Err(error) = client.publish(reply, report.into()).await {
            tracing::warn!(%error, "the program that asked for the status of this node gets no answer");
        }
    }
}
