//! Where a node answers how it is, on the log's servers; and whether it reaches them.

use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State as Connection;
use exchange::State;
use futures_util::StreamExt;

use crate::standing::Standing;

/// Where all nodes of a log of this name are asked.
pub(crate) fn subject(name: &str) -> String {
    format!("pricetime.{name}.status")
}

/// Answers whoever asks, for as long as the connection lives.
pub(crate) async fn answer(client: Client, name: String, standing: Standing) {
    let mut asked = match client.subscribe(subject(&name)).await {
        Ok(asked) => asked,
        Err(error) => return tracing::warn!(%error, "nobody is told how this node is"),
    };
    while let Some(message) = asked.next().await {
        let Some(reply) = message.reply else { continue };
        let report = serde_json::to_vec(&standing.report()).expect("invariant: a report has no maps but of numbers");
        if let Err(error) = client.publish(reply, report.into()).await {
            tracing::warn!(%error, "whoever asked how this node is gets no answer");
        }
    }
}

/// How often is looked whether the servers are reached.
const LOOK_AFTER: Duration = Duration::from_millis(500);

/// Says that the log is away while none of its servers is reached, also when nobody has anything for it.
pub(crate) async fn watch(client: Client, standing: Standing) {
    let mut is_away = false;
    loop {
        tokio::time::sleep(LOOK_AFTER).await;
        let was_away = std::mem::replace(&mut is_away, client.connection_state() != Connection::Connected);
        match (was_away, is_away) {
            (false, true) => standing.status().replace(&State::Ready, State::StoreAway),
            (true, false) => standing.status().replace(&State::StoreAway, State::Ready),
            (true, true) | (false, false) => {}
        }
    }
}
