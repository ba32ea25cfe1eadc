//! Health over HTTP, for whoever supervises the server. It knows only the [`Status`] that it is given.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::extract::State as Given;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::listener::bind_error;
use crate::status::{State, Status};

/// A running HTTP server: `/health` and `/ready`. Dropping it stops it.
pub struct Http {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Listens on `address` and answers from `status`, on a thread of its own.
    /// Errors: the address is in use, is not ours or may not be used; the text says which setting to change.
    pub fn start(address: SocketAddr, status: Status) -> io::Result<Http> {
        let listener = TcpListener::bind(address).map_err(|error| bind_error(address, "--http", error))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("http".to_string()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    served = serve(listener, status) => {
                        if let Err(error) = served {
                            tracing::error!(%error, "the HTTP server ended; the exchange goes on without it");
                        }
                    }
                    () = stopped.notified() => {}
                }
            });
        })?;
        Ok(Http { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            drop(thread.join());
        }
    }
}

async fn serve(listener: TcpListener, status: Status) -> io::Result<()> {
    let routes = Router::new().route("/health", get(health)).route("/ready", get(ready)).with_state(status);
    axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
}

/// Whether the process is worth keeping.
async fn health(Given(status): Given<Status>) -> (StatusCode, Json<Value>) {
    match status.get() {
        State::Standby | State::Recovering | State::StoreAway | State::Ready | State::Stopping => {
            (StatusCode::OK, Json(json!({"status": "ok"})))
        }
        State::Failed(reason) => failed(&reason),
    }
}

/// Whether clients are served.
async fn ready(Given(status): Given<Status>) -> (StatusCode, Json<Value>) {
    match status.get() {
        State::Ready => (StatusCode::OK, Json(json!({"status": "ok"}))),
        State::Recovering => not_ready("recovering", "what the server knew is being read"),
        State::Standby => not_ready("standby", "another server is active; this one takes over when that ends"),
        State::StoreAway => not_ready("store-away", "the database cannot be reached"),
        State::Stopping => not_ready("stopping", "the server was asked to stop"),
        State::Failed(reason) => failed(&reason),
    }
}

fn failed(reason: &str) -> (StatusCode, Json<Value>) {
    not_ready("failed", reason)
}

fn not_ready(status: &str, reason: &str) -> (StatusCode, Json<Value>) {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": status, "reason": reason})))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn start(status: &Status) -> Http {
        Http::start("127.0.0.1:0".parse().unwrap(), status.clone()).unwrap()
    }

    fn check(http: &Http, path: &str, code: u16, body: &str) {
        let mut stream = TcpStream::connect(http.local_addr()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{path}: {answer}");
        assert_eq!(answer.split("\r\n\r\n").nth(1), Some(body), "{path}");
    }

    #[test]
    fn health_and_readiness_follow_the_state() {
        let status = Status::new();
        let http = start(&status);
        let ok = r#"{"status":"ok"}"#;
        check(&http, "/health", 200, ok);
        check(&http, "/ready", 503, r#"{"reason":"what the server knew is being read","status":"recovering"}"#);
        status.set(State::Ready);
        check(&http, "/health", 200, ok);
        check(&http, "/ready", 200, ok);
        status.set(State::Stopping);
        check(&http, "/health", 200, ok);
        check(&http, "/ready", 503, r#"{"reason":"the server was asked to stop","status":"stopping"}"#);
        status.set(State::Failed("the journal cannot be written".to_string()));
        let failed = r#"{"reason":"the journal cannot be written","status":"failed"}"#;
        check(&http, "/health", 503, failed);
        check(&http, "/ready", 503, failed);
    }

    #[test]
    fn a_taken_address_names_the_setting_to_change() {
        let first = start(&Status::new());
        let address = first.local_addr();
        let text = Http::start(address, Status::new()).err().unwrap().to_string();
        assert_eq!(
            text,
            format!("{address} is in use by another program; stop it or choose another address with --http")
        );
    }

    #[test]
    fn it_stops_when_it_is_dropped() {
        let http = start(&Status::new());
        let address = http.local_addr();
        drop(http);
        assert!(TcpStream::connect(address).is_err());
    }
}
