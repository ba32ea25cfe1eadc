//! The rights that a request needs, by its route: one table for all of HTTP. Where there are members, a route that is
//! missing here is refused to all.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The right that the asker needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// No right.
    Nothing,
    /// No right: the asker gets or leaves something about itself.
    Login,
    /// Looking at the market.
    Market,
    /// Looking at all accounts.
    AllAccounts,
    /// Looking at the server.
    Venue,
    /// Looking at an account, or acting for it: the one in the path or in the query.
    Read(AccountPlace),
    Act(AccountPlace),
    /// Creating accounts and shares.
    Issue,
    /// Being an operator.
    Operator,
    /// Being a member: the exchange checks the command.
    Command,
    /// A signature of the compatible interface, which its handler checks.
    Signature,
    /// The right to each topic, checked when a client subscribes to it.
    Topics,
}

/// The place of the account in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountPlace {
    Path,
    Query,
}

/// Routes under `/api/v1`, and beside it.
const OURS: [(&str, &str, Need); 63] = [
    ("GET", "/health", Need::Nothing),
    ("GET", "/ready", Need::Nothing),
    ("GET", "/metrics", Need::Venue),
    // Each topic is checked, too.
    ("GET", "/ws/v1", Need::Market),
    ("GET", "/api/v1/openapi.json", Need::Nothing),
    ("GET", "/api/v1/asyncapi.json", Need::Nothing),
    ("GET", "/api/v1/time", Need::Nothing),
    ("GET", "/api/v1/status", Need::Market),
    ("GET", "/api/v1/sandbox", Need::Market),
    ("PUT", "/api/v1/sandbox", Need::Operator),
    // An asker that may not look at the venue gets its own commands.
    ("GET", "/api/v1/audit", Need::Market),
    ("GET", "/api/v1/sessions", Need::Login),
    ("POST", "/api/v1/sessions", Need::Login),
    ("DELETE", "/api/v1/sessions", Need::Login),
    ("GET", "/api/v1/symbols", Need::Market),
    ("GET", "/api/v1/symbols/{symbol}", Need::Market),
    ("GET", "/api/v1/symbols/{symbol}/book", Need::Market),
    // The answer names the accounts of orders.
    ("GET", "/api/v1/symbols/{symbol}/book/orders", Need::AllAccounts),
    // A named account is checked, too.
    ("GET", "/api/v1/symbols/{symbol}/past/book", Need::Read(AccountPlace::Query)),
    ("GET", "/api/v1/symbols/{symbol}/past/book/orders", Need::AllAccounts),
    ("GET", "/api/v1/symbols/{symbol}/past/events", Need::Read(AccountPlace::Query)),
    ("GET", "/api/v1/symbols/{symbol}/trades", Need::Market),
    ("GET", "/api/v1/symbols/{symbol}/candles", Need::Market),
    ("GET", "/api/v1/symbols/{symbol}/fees", Need::Market),
    ("PUT", "/api/v1/symbols/{symbol}/fees", Need::Command),
    ("PUT", "/api/v1/symbols/{symbol}/rules", Need::Command),
    ("PUT", "/api/v1/symbols/{symbol}/phase", Need::Command),
    ("POST", "/api/v1/symbols/{symbol}/shares", Need::Issue),
    // The answer lists accounts that the asker may look at.
    ("GET", "/api/v1/accounts", Need::Market),
    ("POST", "/api/v1/accounts", Need::Issue),
    ("GET", "/api/v1/accounts/{account}", Need::Read(AccountPlace::Path)),
    ("GET", "/api/v1/accounts/{account}/executions", Need::Read(AccountPlace::Path)),
    ("GET", "/api/v1/accounts/{account}/orders", Need::Read(AccountPlace::Path)),
    ("DELETE", "/api/v1/accounts/{account}/orders", Need::Act(AccountPlace::Path)),
    ("PUT", "/api/v1/accounts/{account}/tier", Need::Command),
    ("PUT", "/api/v1/accounts/{account}/group", Need::Command),
    ("PUT", "/api/v1/accounts/{account}/kill", Need::Command),
    ("GET", "/api/v1/accounts/{account}/limits", Need::Read(AccountPlace::Path)),
    ("PUT", "/api/v1/accounts/{account}/limits", Need::Command),
    ("PUT", "/api/v1/symbols/{symbol}/kill", Need::Command),
    ("GET", "/api/v1/kill", Need::Market),
    ("PUT", "/api/v1/kill", Need::Command),
    ("POST", "/api/v1/orders", Need::Command),
    ("POST", "/api/v1/order-lists", Need::Command),
    ("GET", "/api/v1/orders/{order}", Need::Read(AccountPlace::Query)),
    ("GET", "/api/v1/orders/{order}/place", Need::Read(AccountPlace::Query)),
    ("DELETE", "/api/v1/orders/{order}", Need::Act(AccountPlace::Query)),
    ("PUT", "/api/v1/orders/{order}", Need::Command),
    ("PATCH", "/api/v1/orders/{order}", Need::Command),
    ("GET", "/api/v1/orders/by-client-id/{*client_order_id}", Need::Read(AccountPlace::Query)),
    ("DELETE", "/api/v1/orders/by-client-id/{*client_order_id}", Need::Act(AccountPlace::Query)),
    ("PUT", "/api/v1/orders/by-client-id/{*client_order_id}", Need::Command),
    ("PATCH", "/api/v1/orders/by-client-id/{*client_order_id}", Need::Command),
    ("GET", "/api/v1/members", Need::Venue),
    ("POST", "/api/v1/members", Need::Operator),
    ("PUT", "/api/v1/members/{member}", Need::Operator),
    ("DELETE", "/api/v1/members/{member}", Need::Operator),
    ("POST", "/api/v1/members/{member}/keys", Need::Operator),
    ("DELETE", "/api/v1/members/{member}/keys/{key}", Need::Operator),
    ("PUT", "/api/v1/members/{member}/kill", Need::Command),
    ("GET", "/api/v1/mode", Need::Market),
    ("PUT", "/api/v1/mode", Need::Operator),
    ("GET", "/api/v1/status/seconds", Need::Market),
];

/// Routes under `/binance`. Their handlers check the signatures; public routes need the market.
const COMPATIBLE: [(&str, &str, Need); 67] = [
    ("GET", "/ws", Need::Topics),
    ("GET", "/ws/{*streams}", Need::Topics),
    ("GET", "/stream", Need::Topics),
    ("GET", "/ws-api/v3", Need::Topics),
    ("GET", "/api/v1/ping", Need::Nothing),
    ("GET", "/api/v1/time", Need::Nothing),
    ("GET", "/api/v1/exchangeInfo", Need::Market),
    ("GET", "/api/v1/depth", Need::Market),
    ("GET", "/api/v1/trades", Need::Market),
    ("GET", "/api/v1/historicalTrades", Need::Market),
    ("GET", "/api/v1/aggTrades", Need::Market),
    ("GET", "/api/v1/klines", Need::Market),
    ("GET", "/api/v1/ticker/24hr", Need::Market),
    ("GET", "/api/v1/ticker/price", Need::Market),
    ("GET", "/api/v1/ticker/bookTicker", Need::Market),
    // Their handlers check the key's proof, which may be a session.
    ("POST", "/api/v1/userDataStream", Need::Login),
    ("PUT", "/api/v1/userDataStream", Need::Login),
    ("DELETE", "/api/v1/userDataStream", Need::Login),
    ("GET", "/api/v3/ping", Need::Nothing),
    ("GET", "/api/v3/time", Need::Nothing),
    ("GET", "/api/v3/exchangeInfo", Need::Market),
    ("GET", "/api/v3/depth", Need::Market),
    ("GET", "/api/v3/trades", Need::Market),
    ("GET", "/api/v3/historicalTrades", Need::Market),
    ("GET", "/api/v3/aggTrades", Need::Market),
    ("GET", "/api/v3/klines", Need::Market),
    ("GET", "/api/v3/ticker/24hr", Need::Market),
    ("GET", "/api/v3/ticker/price", Need::Market),
    ("GET", "/api/v3/ticker/bookTicker", Need::Market),
    ("POST", "/api/v3/userDataStream", Need::Login),
    ("PUT", "/api/v3/userDataStream", Need::Login),
    ("DELETE", "/api/v3/userDataStream", Need::Login),
    ("GET", "/api/v3/uiKlines", Need::Market),
    ("GET", "/api/v3/avgPrice", Need::Market),
    ("GET", "/api/v3/ticker", Need::Market),
    ("GET", "/api/v3/ticker/tradingDay", Need::Market),
    ("GET", "/api/v3/account", Need::Signature),
    ("GET", "/api/v3/account/commission", Need::Signature),
    ("GET", "/api/v3/rateLimit/order", Need::Signature),
    ("GET", "/api/v3/myTrades", Need::Signature),
    ("GET", "/api/v3/myAllocations", Need::Signature),
    ("GET", "/api/v3/myPreventedMatches", Need::Signature),
    ("GET", "/api/v3/order", Need::Signature),
    ("POST", "/api/v3/order", Need::Signature),
    ("DELETE", "/api/v3/order", Need::Signature),
    ("POST", "/api/v3/order/test", Need::Signature),
    ("POST", "/api/v3/order/cancelReplace", Need::Signature),
    ("PUT", "/api/v3/order/amend/keepPriority", Need::Signature),
    ("GET", "/api/v3/order/amendments", Need::Signature),
    ("POST", "/api/v3/order/oco", Need::Signature),
    ("POST", "/api/v3/orderList/oco", Need::Signature),
    ("POST", "/api/v3/orderList/oto", Need::Signature),
    ("POST", "/api/v3/orderList/otoco", Need::Signature),
    ("GET", "/api/v3/orderList", Need::Signature),
    ("DELETE", "/api/v3/orderList", Need::Signature),
    ("GET", "/api/v3/openOrderList", Need::Signature),
    ("GET", "/api/v3/allOrderList", Need::Signature),
    ("GET", "/api/v3/openOrders", Need::Signature),
    ("DELETE", "/api/v3/openOrders", Need::Signature),
    ("GET", "/api/v3/allOrders", Need::Signature),
    ("GET", "/sapi/v1/system/status", Need::Nothing),
    ("GET", "/sapi/v1/asset/tradeFee", Need::Signature),
    ("GET", "/sapi/v1/asset/assetDetail", Need::Signature),
    ("GET", "/sapi/v1/capital/config/getall", Need::Signature),
    // The answers are empty, and a key is enough.
    ("GET", "/sapi/v1/spot/delist-schedule", Need::Signature),
    ("GET", "/sapi/v1/margin/allPairs", Need::Signature),
    ("GET", "/sapi/v1/margin/isolated/allPairs", Need::Signature),
];

type Needs = HashMap<(&'static str, &'static str), Need>;

static OURS_BY_ROUTE: LazyLock<Needs> = LazyLock::new(|| by_route(&OURS));
static COMPATIBLE_BY_ROUTE: LazyLock<Needs> = LazyLock::new(|| by_route(&COMPATIBLE));

fn by_route(all: &[(&'static str, &'static str, Need)]) -> Needs {
    all.iter().map(|(method, path, need)| ((*method, *path), *need)).collect()
}

/// Returns the need of a method and a route, with the names of the path's parts between braces; `None` if the tables
/// lack it.
pub(crate) fn need(method: &str, route: &str) -> Option<Need> {
    let method = if method == "HEAD" { "GET" } else { method };
    match route.strip_prefix("/binance") {
        Some(rest) => COMPATIBLE_BY_ROUTE.get(&(method, rest)).copied(),
        None => OURS_BY_ROUTE.get(&(method, route)).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_stands_here_once() {
        assert_eq!((OURS_BY_ROUTE.len(), COMPATIBLE_BY_ROUTE.len()), (OURS.len(), COMPATIBLE.len()));
        assert_eq!(need("HEAD", "/metrics"), Some(Need::Venue));
        assert_eq!(need("GET", "/binance/api/v3/order"), Some(Need::Signature));
        for unknown in ["/metrics/", "/api/v1/secret", "/binance/metrics", ""] {
            assert_eq!(need("GET", unknown), None, "{unknown}");
        }
        assert_eq!(need("PATCH", "/metrics"), None);
    }
}
