//! The interface as the HTTP server serves it: its routes, and its layers around all routes.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_request};
use axum::routing::{any, get, post, put};

use crate::keys::Keys;
use crate::listen_keys::ListenKeys;
use crate::placed_orders::OrderCounts;
use crate::prefix::{PREFIX, under_prefix};
use crate::refusal::Refusal;
use crate::state::{BinanceState, OwnState};
use crate::streams::Streams;
use crate::used_weight::{UsedWeights, tell_used_weight};
use crate::wording::word_refusals;
use crate::{
    account, amend, cancel, empty_lists, klines, market, oco, order_counts, order_lists, order_test, orders, oto,
    place, replace, rolling, route_needs, socket, socket_api, tickers, wallet,
};
use http_gateway::app_state::AppState;
use http_gateway::dialect::Dialect;
use http_gateway::hub::Hub;
use http_gateway::route_needs::{DialectPaths, RouteNeeds};

/// The interface, as a dialect of the HTTP server.
pub struct Binance(Arc<OwnState>);

impl Binance {
    /// Makes the interface, with the keys of the key file.
    pub fn new(keys: Keys) -> Binance {
        let (listen_keys, order_counts) = (ListenKeys::default(), OrderCounts::default());
        Binance(Arc::new(OwnState { keys, listen_keys, order_counts }))
    }
}

/// Returns a hub without subscribers, with the streams of this interface.
pub fn hub() -> Hub {
    Hub::with(Box::new(Streams::default()))
}

impl Dialect for Binance {
    fn paths(&self) -> DialectPaths {
        DialectPaths {
            prefix: PREFIX,
            needs: RouteNeeds::of(&route_needs::ROUTES),
            is_of_the_market: route_needs::is_of_the_market,
        }
    }

    fn routes(&self, app: &AppState) -> Router<AppState> {
        routes().with_state(BinanceState::new(app.clone(), self.0.clone()))
    }

    fn around(&self, routes: Router<AppState>) -> Router<AppState> {
        let counted = from_fn_with_state(UsedWeights::default(), tell_used_weight);
        routes.layer(from_fn(word_refusals)).layer(counted)
    }

    fn at_root(&self, routes: Router) -> Router {
        Router::new().fallback_service(routes).layer(map_request(under_prefix))
    }
}

fn routes() -> Router<BinanceState> {
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
    let refusing =
        |router: Router<BinanceState>| router.fallback(nothing_here).method_not_allowed_fallback(wrong_method);
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
fn of_both_versions() -> Router<BinanceState> {
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

async fn nothing_here() -> Refusal {
    Refusal::nothing_here()
}

async fn wrong_method() -> Refusal {
    Refusal::wrong_method()
}
