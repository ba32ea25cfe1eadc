//! Contains panics: a panic in answering one request ends that request. Its client gets an error, the log has the
//! request, and no other client is affected.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use exchange::containment::{Containing, Part, SHOWN_BYTES_MAX, shown};
use futures_util::TryStreamExt;
use tokio::task::AbortHandle;

use crate::outbox::Outbox;
use crate::problem::Problem;
use crate::problem_code::Code;

pub(crate) async fn contained(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let body = BodyStart::default();
    let request = match request.body().is_end_stream() {
        true => request,
        false => request.map(|coming| body.noting(coming)),
    };
    answered((&method, &uri, &body), next.run(request)).await
}

/// The first bytes of a request's body, as far as they came, for the log of a fault of ours.
#[derive(Clone, Default)]
struct BodyStart(Arc<Mutex<Vec<u8>>>);

impl BodyStart {
    /// Passes a body on, and notes its first bytes.
    fn noting(&self, body: Body) -> Body {
        let start = self.clone();
        Body::from_stream(body.into_data_stream().inspect_ok(move |part| start.note(part)))
    }

    fn note(&self, part: &Bytes) {
        let mut start = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let more = part.len().min(SHOWN_BYTES_MAX.saturating_sub(start.len()));
        start.extend_from_slice(&part[..more]);
    }

    fn shown(&self) -> String {
        shown(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn answered(
    (method, uri, body): (&Method, &Uri, &BodyStart),
    answer: impl Future<Output = Response>,
) -> Response {
    let log = |panicked: &dyn Display| {
        let (path, query) = (shown(uri.path().as_bytes()), shown(uri.query().unwrap_or_default().as_bytes()));
        let body = body.shown();
        tracing::error!(%method, path, query, body, %panicked, "a request over HTTP ended by a fault of the server; please report it");
    };
    match Containing::new(Part::Http, answer).await {
        Ok(response) => {
            if response.extensions().get::<Problem>().is_some_and(|problem| problem.code == Code::InternalFault) {
                log(&"a question that it asked; the log has its fault, too");
            }
            response
        }
        Err(panicked) => {
            log(&panicked);
            Problem::fault().into_response()
        }
    }
}

/// A task beside a conversation, which runs until it is over or this is dropped.
pub(crate) struct TaskBeside(AbortHandle);

impl Drop for TaskBeside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs a task that sends to one WebSocket beside its conversation. A panic in it ends the WebSocket, which would get
/// nothing more.
pub(crate) fn tell_beside(outbox: Outbox, telling: impl Future<Output = ()> + Send + 'static) -> TaskBeside {
    let task = tokio::spawn(async move {
        if let Err(panicked) = Containing::new(Part::Http, telling).await {
            tracing::error!(%panicked, "a WebSocket ended by a fault of the server; please report it");
            outbox.overflow();
        }
    });
    TaskBeside(task.abort_handle())
}

#[cfg(test)]
mod tests {
    use std::io;

    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn;
    use axum::routing::post;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    /// The lines of the log.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The log of a request with this body to a route that panics, or whose question did. While another test's thread
    /// logs from the same place for the first time, a subscriber gets nothing from there; the next one does.
    fn logged(path: &str, body: &str) -> String {
        (0..9).map(|_| logged_once(path, body)).find(|log| !log.is_empty()).unwrap_or_default()
    }

    fn logged_once(path: &str, body: &str) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let routes = Router::new()
            .route("/panics", post(async |_: Bytes| -> String { panic!("planted in a request") }))
            .route("/asks", post(async |_: Bytes| -> Response { Problem::fault().into_response() }))
            .layer(from_fn(contained));
        let request = Request::post(path).body(Body::from(body.to_owned())).expect("a request");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let answer = tracing::subscriber::with_default(subscriber, || {
            runtime.block_on(TowerToHyperService::new(routes).call(request)).expect("an answer")
        });
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        String::from_utf8(lines.0.lock().expect("no panic").clone()).expect("text")
    }

    #[test]
    fn the_log_has_what_a_request_that_panics_sent_but_no_secret() {
        let order = r#"{"account":"1","symbol":"SPY","shares":"10"}"#;
        for (path, why) in [("/panics?a=1", "planted in a request"), ("/asks?a=1", "a question that it asked")] {
            let line = logged(path, order);
            assert!(line.contains("a=1") && line.contains(why) && line.contains("SPY"), "{line}");
        }
        let long = logged("/panics", &format!("{order}{}", "x".repeat(10_000)));
        assert!(long.contains("SPY") && long.len() < 2_000, "{long}");
        for word in ["password", "secret", "key"] {
            let line = logged("/panics", &format!(r#"{{"name":"alice","{word}":"hidden"}}"#));
            assert!(!line.contains("hidden") && line.contains("may hold a secret"), "{line}");
        }
    }

    #[test]
    fn a_request_that_panics_is_refused_and_the_next_one_is_answered() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let ask = |panics: bool| {
            let answer = async move {
                tokio::task::yield_now().await;
                assert!(!panics, "planted");
                "here".into_response()
            };
            let uri = Uri::from_static("/somewhere?a=1");
            runtime.block_on(answered((&Method::GET, &uri, &BodyStart::default()), answer)).status()
        };
        assert_eq!(ask(true), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(ask(false), StatusCode::OK);
    }
}
