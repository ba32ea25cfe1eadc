//! A subset of Binance's spot interface, so that clients written for that exchange trade here unmodified: REST, streams, and
//! the WebSocket API as far as user streams need it. A translation and nothing else: what it asks and does is what
//! `/api/v1` asks and does. docs/BINANCE.md is its interface.

mod account;
mod events;
mod history;
mod market;
mod names;
mod numbers;
mod order;
mod parameters;
mod place;
mod refusal;
mod reports;
mod socket;
mod socket_api;
mod stream;
mod streams;
mod tickers;
mod used_weight;

use axum::Router;
use axum::extract::Request;
use axum::routing::{get, post};

use crate::site::Site;

pub(crate) use refusal::Refusal;
pub(crate) use streams::Streams;
pub(crate) use used_weight::{UsedWeights, tell_used_weight};

/// All of it is under this.
const PREFIX: &str = "/binance";

/// Whether a request is for this interface, and wants its kind of refusals.
pub(crate) fn is_for(request: &Request) -> bool {
    request.uri().path().strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn routes() -> Router<Site> {
    let rest = Router::new()
        .route("/ping", get(market::ping))
        .route("/time", get(market::time))
        .route("/exchangeInfo", get(market::exchange_info))
        .route("/depth", get(market::depth))
        .route("/trades", get(market::trades))
        .route("/historicalTrades", get(market::historical_trades))
        .route("/aggTrades", get(market::aggregate_trades))
        .route("/klines", get(market::klines))
        .route("/avgPrice", get(tickers::average_price))
        .route("/ticker/24hr", get(tickers::day))
        .route("/ticker/price", get(tickers::price))
        .route("/ticker/bookTicker", get(tickers::book))
        .route("/account", get(account::account))
        .route("/myTrades", get(account::trades))
        .route("/order", get(order::one).post(place::place).delete(order::cancel))
        .route("/order/test", post(place::test))
        .route("/openOrders", get(order::open).delete(order::cancel_open))
        .route("/allOrders", get(order::all))
        .route("/userDataStream", post(account::listen).put(account::keep_listening).delete(account::stop_listening))
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method);
    let all = Router::new()
        .nest("/api/v3", rest)
        .route("/ws", get(socket::upgrade_bare))
        .route("/ws/{*streams}", get(socket::upgrade_raw))
        .route("/stream", get(socket::upgrade_combined))
        .route("/ws-api/v3", get(socket_api::upgrade))
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method);
    Router::new().nest(PREFIX, all)
}

async fn nothing_here() -> Refusal {
    Refusal::nothing_here()
}

async fn wrong_method() -> Refusal {
    Refusal::wrong_method()
}
