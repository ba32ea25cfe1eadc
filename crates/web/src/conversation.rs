//! A WebSocket connection, whatever is spoken over it: what is heard goes to a party, what waits in an outbox is sent, and
//! whoever does not read is disconnected.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use futures_util::SinkExt;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::outbox::Outbox;
use crate::site::Site;

/// The longest message from a client.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// The library fills this much with zeros whenever it looks whether a client sent something.
const READ_BYTES: usize = 1024;
/// Messages sent before the socket is flushed.
const SENT_AT_ONCE: usize = 256;

/// Who speaks on this side.
pub(crate) trait Party: Send {
    /// Does what a client asks for, and answers.
    fn heard(&mut self, text: &str) -> impl Future<Output = ()> + Send;

    /// A client sent what is no text.
    fn no_text(&mut self);

    /// What a client that proved too slow is told, if anything.
    fn farewell(&self) -> Option<Utf8Bytes>;
}

/// With the bounds of every connection.
pub(crate) fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(MESSAGE_BYTES_MAX).read_buffer_size(READ_BYTES)
}

/// Speaks until either side ends it.
pub(crate) async fn converse(
    site: &Site,
    mut socket: WebSocket,
    party: &mut impl Party,
    outbox: &Outbox,
    mut messages: UnboundedReceiver<Utf8Bytes>,
) {
    let _counted = site.instruments().websockets.enter();
    loop {
        tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(Message::Text(text))) => party.heard(&text).await,
                // Pongs are sent by the library.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => party.no_text(),
                Some(Ok(Message::Close(_))) => return answer_close(socket).await,
                Some(Err(_)) | None => return,
            },
            Some(message) = messages.recv() => {
                let sending = site.telling().count(send(&mut socket, message, &mut messages, outbox));
                tokio::select! {
                    sent = sending => if sent.is_err() { return },
                    () = outbox.too_slow() => return too_slow(socket, party.farewell()).await,
                }
            }
            () = outbox.too_slow() => return too_slow(socket, party.farewell()).await,
        }
    }
}

/// How long a client has to take the last that it is told.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(1);

/// A client said that it ends: the library answers so, when it gets to write.
async fn answer_close(mut socket: WebSocket) {
    // Whoever does not wait for it does not want it.
    let _ = tokio::time::timeout(FAREWELL_PATIENCE, SinkExt::<Message>::close(&mut socket)).await;
}

/// Sends a message and those that wait behind it, then flushes.
async fn send(
    socket: &mut WebSocket,
    first: Utf8Bytes,
    messages: &mut UnboundedReceiver<Utf8Bytes>,
    outbox: &Outbox,
) -> Result<(), axum::Error> {
    let mut next = Some(first);
    for _ in 0..SENT_AT_ONCE {
        let Some(message) = next else { break };
        let length = message.len();
        socket.feed(Message::Text(message)).await?;
        outbox.sent(length);
        next = messages.try_recv().ok();
    }
    if let Some(message) = next {
        let length = message.len();
        socket.feed(Message::Text(message)).await?;
        outbox.sent(length);
    }
    socket.flush().await
}

/// Says so, if the client still listens, and ends.
async fn too_slow(mut socket: WebSocket, farewell: Option<Utf8Bytes>) {
    let frame = CloseFrame { code: close_code::AGAIN, reason: "too-slow".into() };
    let told = async {
        if let Some(farewell) = farewell {
            let _ = socket.send(Message::Text(farewell)).await;
        }
        let _ = socket.send(Message::Close(Some(frame))).await;
    };
    let _ = tokio::time::timeout(FAREWELL_PATIENCE, told).await;
}
