//! A subset of Binance's spot interface, so that clients written for that exchange trade here unmodified: REST,
//! streams, and the WebSocket API. It is only a translation: it reads and submits the same as `/api/v1`.
//! docs/BINANCE.md describes it.

mod account;
mod all_tickers;
mod amend;
mod cancel;
mod cancel_restriction;
mod client_names;
mod empty_lists;
mod events;
mod fees;
mod find_order;
mod history;
mod klines;
mod list_events;
mod market;
mod names;
mod numbers;
mod oco;
mod order;
mod order_counts;
mod order_lists;
mod order_test;
mod orders;
mod oto;
mod pairs;
mod parameters;
mod place;
mod refusal;
mod replace;
mod reports;
mod rolling;
mod self_trade;
mod signer;
mod socket;
mod socket_api;
mod stream;
mod streams;
mod tickers;
mod time_unit;
mod trailing;
mod used_weight;
mod wallet;
mod window;
mod wording;
mod ws_call;
mod ws_methods;
mod zoned;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::map_request;
use axum::routing::{any, get, post, put};

use crate::app_state::AppState;

pub(crate) use refusal::Refusal;
pub(crate) use streams::Streams;
pub(crate) use used_weight::{UsedWeights, tell_used_weight};
pub(crate) use wording::word_refusals;

/// The prefix of all paths.
const PREFIX: &str = "/binance";

/// Whether a request is for this interface, and gets its kind of refusals.
pub(crate) fn is_for(request: &Request) -> bool {
    request.uri().path().strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn routes() -> Router<AppState> {
    let trading = Router::new()
        .route("/uiKlines", get(klines::klines))
        .route("/avgPrice", get(tickers::average_price))
        .route("/ticker", get(rolling::rolling))
        .route("/ticker/tradingDay", get(rolling::trading_day))
        .route("/account", get(account::account))
        .route("/account/commission", get(wallet::commission))
        .route("/rateLimit/order", get(order_counts::limits))
        .route("/myTrades", get(account::trades))
        .route("/myAllocations", get(empty_lists::allocations))
        .route("/myPreventedMatches", get(empty_lists::prevented_matches))
        .route("/order", get(orders::one).post(place::place).delete(cancel::cancel))
        .route("/order/test", post(order_test::test))
        .route("/order/cancelReplace", post(replace::replace))
        .route("/order/amend/keepPriority", put(amend::amend))
        .route("/order/amendments", get(amend::amendments))
        .route("/order/oco", post(oco::place_legacy_oco))
        .route("/orderList/oco", post(oco::place))
        .route("/orderList/oto", post(oto::place_oto))
        .route("/orderList/otoco", post(oto::place_otoco))
        .route("/orderList", get(order_lists::one).delete(order_lists::cancel))
        .route("/openOrderList", get(order_lists::open))
        .route("/allOrderList", get(order_lists::all))
        .route("/openOrders", get(orders::open).delete(cancel::cancel_open))
        .route("/allOrders", get(orders::all));
    let wallet = Router::new()
        .route("/system/status", get(wallet::system_status))
        .route("/asset/tradeFee", get(wallet::trade_fee))
        .route("/asset/assetDetail", get(wallet::asset_detail))
        .route("/capital/config/getall", get(wallet::coins))
        .route("/spot/delist-schedule", get(wallet::no_pairs))
        .route("/margin/allPairs", get(wallet::no_pairs))
        .route("/margin/isolated/allPairs", get(wallet::no_pairs));
    let refusing = |router: Router<AppState>| router.fallback(nothing_here).method_not_allowed_fallback(wrong_method);
    let all = Router::new()
        .nest("/api/v3", refusing(trading.merge(of_both_versions())))
        .nest("/api/v1", refusing(of_both_versions()))
        .nest("/sapi/v1", refusing(wallet))
        .route("/ws", get(socket::upgrade_bare))
        .route("/ws/{*streams}", get(socket::upgrade_raw))
        .route("/stream", get(socket::upgrade_combined))
        .route("/ws-api/v3", get(socket_api::upgrade));
    // Nested routes do not match the prefix followed by a slash alone.
    Router::new().nest(PREFIX, refusing(all)).route(&format!("{PREFIX}/"), any(nothing_here))
}

/// Routes of the first version, which clients still use.
fn of_both_versions() -> Router<AppState> {
    Router::new()
        .route("/ping", get(market::ping))
        .route("/time", get(market::time))
        .route("/exchangeInfo", get(market::exchange_info))
        .route("/depth", get(market::depth))
        .route("/trades", get(market::trades))
        .route("/historicalTrades", get(market::historical_trades))
        .route("/aggTrades", get(market::aggregate_trades))
        .route("/klines", get(klines::klines))
        .route("/ticker/24hr", get(tickers::day))
        .route("/ticker/price", get(tickers::price))
        .route("/ticker/bookTicker", get(tickers::book))
        .route("/userDataStream", post(account::listen).put(account::keep_listening).delete(account::stop_listening))
}

/// Serves the same interface at the root: `routes` answers each request as if it had our prefix, and nothing else.
pub(crate) fn at_root(routes: Router) -> Router {
    Router::new().fallback_service(routes).layer(map_request(under_prefix))
}

async fn under_prefix(mut request: Request) -> Result<Request, Refusal> {
    let mut parts = request.uri().clone().into_parts();
    let asked = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
    parts.path_and_query = Some(format!("{PREFIX}{asked}").parse().map_err(|_| Refusal::nothing_here())?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Refusal::nothing_here())?;
    Ok(request)
}

async fn nothing_here() -> Refusal {
    Refusal::nothing_here()
}

async fn wrong_method() -> Refusal {
    Refusal::wrong_method()
}
