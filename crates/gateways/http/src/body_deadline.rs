//! Gives the body of a request a deadline, like its head, so that no client keeps a place by sending a byte now and
//! then.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::listener::ASKING_PATIENCE;

/// Passes on a request whose body fails when it is late.
pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    match request.body().is_end_stream() {
        true => next.run(request).await,
        false => next.run(request.map(timely)).await,
    }
}

fn timely(body: Body) -> Body {
    let until = Instant::now() + ASKING_PATIENCE;
    let parts = stream::unfold(Some(body.into_data_stream()), move |coming| async move {
        let mut coming = coming?;
        match timeout_at(until, coming.next()).await {
            Ok(part) => part.map(|part| (part, Some(coming))),
            Err(_) => Some((Err(axum::Error::new(late())), None)),
        }
    });
    Body::from_stream(parts)
}

fn late() -> String {
    format!("it was not there {} s after its head", ASKING_PATIENCE.as_secs())
}
