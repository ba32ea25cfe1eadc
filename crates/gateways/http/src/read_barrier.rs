//! Makes reads over HTTP as certain as commits: before it answers a request from the view or from rows, this server
//! checks that the database is still its own. For a market in files this costs nothing.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app_state::AppState;

/// The paths under which the market is read.
const BASES: [&str; 4] = ["/api/v1/", "/binance/api/v3/", "/binance/api/v1/", "/binance/sapi/v1/"];
/// Paths under them that are about the server itself. They are answered also while the database is away.
const OF_THE_SERVER: [&str; 6] = ["status", "time", "ping", "openapi.json", "asyncapi.json", "system/status"];

/// Passes a request on once its reads are certain. A request that writes is certain by its commit, or checks by itself.
pub(crate) async fn ascertain(State(app): State<AppState>, request: Request, next: Next) -> Response {
    if !reads_the_market(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    match app.ascertain().await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn reads_the_market(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD) && is_of_the_market(path)
}

/// Whether a path is about the market, and not about the server itself.
pub(crate) fn is_of_the_market(path: &str) -> bool {
    let what = BASES.iter().find_map(|base| path.strip_prefix(base));
    what.is_some_and(|what| !OF_THE_SERVER.contains(&what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_market_is_read_where_it_is_shown() {
        for path in ["/api/v1/accounts/1", "/api/v1/orders/7", "/binance/api/v3/depth", "/api/v1/status/"] {
            assert!(reads_the_market(&Method::GET, path) && reads_the_market(&Method::HEAD, path), "{path}");
            assert!(!reads_the_market(&Method::POST, path), "{path}");
        }
        for path in [
            "/api/v1/status",
            "/binance/api/v3/ping",
            "/binance/sapi/v1/system/status",
            "/ready",
            "/metrics",
            "/ws/v1",
            "/",
            "/binance/ws",
        ] {
            assert!(!reads_the_market(&Method::GET, path), "{path}");
        }
    }
}
