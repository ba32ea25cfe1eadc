//! The upgrade of a request to a WebSocket. This is our own code and not axum's, so that a message can leave in pieces:
//! the framing library would copy the whole of a long message for each client that does not read.

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::listener::Life;
use crate::problem::Problem;
use crate::problem_code::Code;

/// A WebSocket.
pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Bytes of the longest message from a client, and of the longest part of one.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the library's buffer for reading. The library fills all of it with zeros each time that it reads.
const READ_BYTES: usize = 1024;
/// Bytes that the library hands to the kernel at once.
const WRITE_BYTES: usize = 16 * 1024;
/// Bytes that the library may hold back when the kernel takes nothing: a full buffer, a piece of a message, and answers
/// to pings. Nothing is read while something waits to be written, so this bound is never reached.
const WRITE_BYTES_MAX: usize = 256 * 1024;

/// A request to become a WebSocket.
pub struct Upgrade {
    accept: String,
    on_upgrade: OnUpgrade,
    /// The state of the connection.
    pub(crate) life: Life,
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Upgrade, Problem> {
        let headers = &parts.headers;
        let key = headers.get(header::SEC_WEBSOCKET_KEY);
        let asks = has_word(headers, header::CONNECTION, "upgrade") && has_word(headers, header::UPGRADE, "websocket");
        let (Some(key), true) = (key, asks) else {
            return Err(refusal("this path is a WebSocket: it takes requests to become one, and no others"));
        };
        if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
            return Err(refusal("sec-websocket-version is 13"));
        }
        let accept = derive_accept_key(key.as_bytes());
        let on_upgrade = parts.extensions.remove::<OnUpgrade>();
        let on_upgrade = on_upgrade.ok_or_else(|| refusal("this connection cannot become a WebSocket"))?;
        let life = parts.extensions.get::<ConnectInfo<Life>>().map(|ConnectInfo(life)| life.clone());
        let life = life.ok_or_else(|| refusal("this connection cannot become a WebSocket"))?;
        Ok(Upgrade { accept, on_upgrade, life })
    }
}

impl Upgrade {
    /// Answers that the connection becomes a WebSocket, and runs `talk` when it is one.
    pub(crate) fn then<Talk>(self, talk: impl FnOnce(Socket) -> Talk + Send + 'static) -> Response
    where
        Talk: Future<Output = ()> + Send,
    {
        let Upgrade { accept, on_upgrade, .. } = self;
        tokio::spawn(async move {
            // A client that hung up meanwhile does not want to talk.
            let Ok(upgraded) = on_upgrade.await else { return };
            let socket = Socket::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config())).await;
            talk(socket).await;
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        let accept = HeaderValue::try_from(accept).expect("invariant: base64 may stand in a header");
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        response
    }
}

/// Returns the bounds of every connection.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        // The library makes room for a frame when its length comes.
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_write_buffer_size(WRITE_BYTES_MAX)
}

fn refusal(detail: &str) -> Problem {
    Problem::new(Code::Malformed, detail)
}

/// Whether a header's list has a word, in any case.
fn has_word(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}
