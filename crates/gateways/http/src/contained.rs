//! Contains panics: a panic in answering one request ends that request. Its client gets an error, the log has the
//! request, and no other client is affected.

use axum::extract::Request;
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use exchange::containment::{Containing, Part, shown};
use tokio::task::JoinHandle;

use crate::outbox::Outbox;
use crate::problem::Problem;

pub(crate) async fn contained(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    answered(&method, &uri, next.run(request)).await
}

async fn answered(method: &Method, uri: &Uri, answer: impl Future<Output = Response>) -> Response {
    match Containing::new(Part::Http, answer).await {
        Ok(response) => response,
        Err(panicked) => {
            let (path, query) = (shown(uri.path().as_bytes()), shown(uri.query().unwrap_or_default().as_bytes()));
            tracing::error!(%method, path, query, %panicked, "a request over HTTP ended by a fault of the server; please report it");
            Problem::fault().into_response()
        }
    }
}

/// Runs a task that sends to one WebSocket beside its conversation. A panic in it ends the WebSocket, which would get
/// nothing more.
pub(crate) fn tell_beside(outbox: Outbox, telling: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(panicked) = Containing::new(Part::Http, telling).await {
            tracing::error!(%panicked, "a WebSocket ended by a fault of the server; please report it");
            outbox.overflow();
        }
    })
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

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
            runtime.block_on(answered(&Method::GET, &uri, answer)).status()
        };
        assert_eq!(ask(true), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(ask(false), StatusCode::OK);
    }
}
