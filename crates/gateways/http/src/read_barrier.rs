//! Makes reads over HTTP as certain as commits: before it answers a request from the view or from rows, this server
//! checks that the database is still its own. For a market in files this costs nothing.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app_state::AppState;

/// The path under which the market is read.
const BASE: &str = "/api/v1/";
/// Paths under it that are about the server itself. They are answered also while the database is away.
const OF_THE_SERVER: [&str; 4] = ["status", "time", "openapi.json", "asyncapi.json"];

/// Passes a request on once its reads are certain. A request that writes is certain by its commit, or checks by itself.
pub(crate) async fn ascertain(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !(reads && is_of_the_market(&app, request.uri().path())) {
        return next.run(request).await;
    }
    match app.ascertain().await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Whether a path is about the market, and not about the server itself.
pub(crate) fn is_of_the_market(app: &AppState, path: &str) -> bool {
    match app.in_dialect(path) {
        Some((dialect, rest)) => (dialect.is_of_the_market)(rest),
        None => shows_the_market(path),
    }
}

/// Whether a path of our own interface is about the market.
fn shows_the_market(path: &str) -> bool {
    path.strip_prefix(BASE).is_some_and(|what| !OF_THE_SERVER.contains(&what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_market_is_read_where_it_is_shown() {
        for path in ["/api/v1/accounts/1", "/api/v1/orders/7", "/api/v1/status/"] {
            assert!(shows_the_market(path), "{path}");
        }
        for path in ["/api/v1/status", "/ready", "/metrics", "/ws/v1", "/"] {
            assert!(!shows_the_market(path), "{path}");
        }
    }
}
