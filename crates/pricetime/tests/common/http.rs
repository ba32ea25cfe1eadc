//! A plain HTTP client and a plain WebSocket client, with JSON results.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderName;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};
use ureq::Agent;
use ureq::http::{HeaderMap, Request, Response};

use super::server::PATIENCE;

/// The most bytes of an answer that a test reads.
const LONGEST: usize = 1 << 28;

/// Speaks to one server, over connections that it keeps.
#[derive(Clone)]
pub struct Http {
    address: SocketAddr,
    agent: Agent,
}

/// A status and the answer's body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub kind: String,
    pub tag: String,
    pub policy: String,
    pub timing: String,
    pub retry_after: String,
    pub body: Value,
    pub text: String,
}

impl Http {
    pub fn new(address: SocketAddr) -> Http {
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build();
        Http { address, agent: agent.new_agent() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, &[])
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None, &[])
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(&body.to_string()), &[("content-type", "application/json")])
    }

    /// Sends a request with headers of the test's own.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answered = match body {
            Some(body) => self.agent.run(request.body(body.to_owned()).unwrap()),
            None => self.agent.run(request.body(()).unwrap()),
        };
        Answer::of(answered.unwrap())
    }

    /// The headers of an answer and its body as it is on the wire: an encoding that was requested by name stays on.
    pub fn bytes(&self, path: &str, headers: &[(&str, &str)]) -> (HeaderMap, Vec<u8>) {
        let mut request = Request::builder().uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = self.agent.run(request.body(()).unwrap()).unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let body = answer.body_mut().read_to_vec().unwrap();
        (answer.headers().clone(), body)
    }

    /// The status and the headers of an answer.
    pub fn head(&self, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
        let mut request = Request::builder().uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.agent.run(request.body(()).unwrap()).unwrap();
        (answer.status().as_u16(), answer.headers().clone())
    }

    /// Reads a resource; panics unless it is there.
    pub fn read(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.body
    }

    /// Creates a resource; panics unless it is created.
    pub fn make(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body);
        assert_eq!(answer.status, 201, "{path} {body}: {}", answer.text);
        answer.body
    }

    /// Opens a WebSocket.
    pub fn listen(&self) -> Socket {
        self.listen_at("/ws/v1")
    }

    /// Opens a WebSocket at another path.
    pub fn listen_at(&self, path: &str) -> Socket {
        self.listen_with(path, &[])
    }

    /// Opens a WebSocket at another path with headers of the test's own.
    pub fn listen_with(&self, path: &str, headers: &[(&str, &str)]) -> Socket {
        // A market's longest snapshots are messages above the library's default of 64 MiB.
        let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
        let url = format!("ws://{}{path}", self.address);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let (socket, _) = tungstenite::client::connect_with_config(request, Some(config), 0).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        Socket(socket)
    }
}

impl Answer {
    fn of(mut answer: Response<ureq::Body>) -> Answer {
        let header = |name| answer.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let (kind, tag, policy) = (header("content-type"), header("etag"), header("content-security-policy"));
        let (timing, retry_after) = (header("server-timing"), header("retry-after"));
        let text = answer.body_mut().with_config().limit(LONGEST as u64).read_to_string().unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status: answer.status().as_u16(), kind, tag, policy, timing, retry_after, body, text }
    }

    /// The status and code of a refusal; panics unless the answer is one, in the form of refusals.
    pub fn code(&self) -> (u16, &str) {
        assert_eq!(self.kind, "application/problem+json", "{}", self.text);
        assert_eq!(self.body["status"], self.status, "{}", self.text);
        (self.status, self.body["code"].as_str().unwrap())
    }
}

/// A WebSocket connection.
pub struct Socket(WebSocket<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub fn send(&mut self, request: &Value) {
        self.0.send(Message::text(request.to_string())).unwrap();
    }

    /// Sends a text as it is.
    pub fn send_text(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// The next message; none when the server has ended the connection.
    pub fn try_next(&mut self) -> Option<Value> {
        self.told().ok()
    }

    pub fn next(&mut self) -> Value {
        self.told().unwrap_or_else(|end| panic!("the server goes on: {end}"))
    }

    /// The next message. Errors: the end of the connection, or that nothing but pings came in time.
    fn told(&mut self) -> Result<Value, String> {
        let begun = Instant::now();
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => return Ok(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(frame)) => return Err(format!("closed with {frame:?}")),
                Ok(_) if begun.elapsed() > PATIENCE => return Err("nothing but pings came".to_owned()),
                Ok(_) => {}
                // A signal to this process does not end the connection.
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// The remaining messages when the server has ended or is about to end the connection, and its reason. Panics if
    /// the end does not come.
    pub fn read_to_end(mut self) -> (Vec<Value>, Option<(u16, String)>) {
        let mut messages = Vec::new();
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => messages.push(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(frame)) => {
                    return (messages, frame.map(|frame| (frame.code.into(), frame.reason.to_string())));
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    panic!("the connection does not end: {error}");
                }
                Err(_) => return (messages, None),
            }
        }
    }

    /// Reads until a message has this kind and channel; returns it.
    pub fn next_of(&mut self, kind: &str, channel: &str) -> Value {
        loop {
            let message = self.next();
            assert!(message["type"] != "error", "{message}");
            if message["type"] == kind && message["channel"] == channel {
                return message;
            }
        }
    }

    /// Subscribes, and returns the snapshot.
    pub fn subscribe(&mut self, request: Value) -> Value {
        self.send(&request);
        let channel = request["channel"].as_str().unwrap();
        let told = self.next_of("subscribed", channel);
        assert_eq!(told["id"], request["id"]);
        self.next_of("snapshot", channel)
    }

    /// Ends the connection. Panics unless the server agrees, as the protocol demands.
    pub fn close(mut self) {
        self.0.close(None).unwrap();
        let ended = loop {
            match self.0.read() {
                Ok(_) => {}
                Err(ended) => break ended,
            }
        };
        assert!(matches!(ended, tungstenite::Error::ConnectionClosed), "{ended}");
    }

    /// Breaks the connection, as `raw::reset` does.
    pub fn reset(self) {
        if let MaybeTlsStream::Plain(stream) = self.0.get_ref() {
            super::raw::reset(stream.try_clone().unwrap());
        }
    }

    /// Sets the time limit for a message.
    pub fn patience(&mut self, patience: Duration) {
        if let MaybeTlsStream::Plain(stream) = self.0.get_ref() {
            stream.set_read_timeout(Some(patience)).unwrap();
        }
    }
}
