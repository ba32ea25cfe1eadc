//! REST, under `/api/v1`: docs/API.md is its interface.

mod accounts;
mod orders;
mod status;
mod symbols;

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::routing::{get, post};
use feed::HistoryError;

use crate::problem::Problem;
use crate::site::Site;
pub(crate) use status::now;

pub(crate) fn routes() -> Router<Site> {
    Router::new()
        .route("/status", get(status::status))
        .route("/time", get(status::time))
        .route("/symbols", get(symbols::list))
        .route("/symbols/{symbol}", get(symbols::one))
        .route("/symbols/{symbol}/book", get(symbols::book))
        .route("/symbols/{symbol}/book/orders", get(symbols::queues))
        .route("/symbols/{symbol}/trades", get(symbols::trades))
        .route("/symbols/{symbol}/candles", get(symbols::candles))
        .route("/symbols/{symbol}/shares", post(symbols::issue))
        .route("/accounts", get(accounts::list).post(accounts::create))
        .route("/accounts/{account}", get(accounts::one))
        .route("/accounts/{account}/orders", get(orders::list).delete(orders::cancel_all))
        .route("/accounts/{account}/executions", get(accounts::executions))
        .route("/orders", post(orders::place))
        .route(
            "/orders/by-client-id/{*client_order_id}",
            get(orders::one_by_client_id).delete(orders::cancel_by_client_id),
        )
        .route("/orders/{order}", get(orders::one).delete(orders::cancel))
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
}

async fn nothing_here() -> Problem {
    let detail = "there is nothing at this path; docs/API.md lists what there is";
    Problem::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
}

async fn wrong_method(method: Method) -> Problem {
    let detail = format!("{method} is not for this path; docs/API.md lists what is");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed", detail)
}

/// The history cannot be read: the server is at fault, and says why in its log.
fn unreadable(error: HistoryError) -> Problem {
    tracing::error!(%error, "a question cannot be answered");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "history-unreadable", "History unreadable", error.to_string())
}

/// There is no history with a database: SQL has it.
fn no_history() -> Problem {
    let detail =
        "this server keeps no history of its own: its database has it, in pricetime.order_history and pricetime.trades";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "no-history", "No history", detail)
}

/// `before` is where a page before ended.
fn bad_cursor() -> Problem {
    Problem::field("before", "before is the `next` of a page of the same list")
}
