//! The rights that a request of this interface needs, by its route. A route that is missing here is refused to all.

use http_gateway::route_needs::Need;

/// Methods, routes behind the prefix, and needs. Handlers check the signatures; public routes need the market.
pub(crate) const ROUTES: [(&str, &str, Need); 67] = [
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

/// Bases of paths under which the market is read.
const BASES: [&str; 3] = ["/api/v3/", "/api/v1/", "/sapi/v1/"];
/// Paths under them that are about the server itself. They are answered also while the database is away.
const OF_THE_SERVER: [&str; 3] = ["time", "ping", "system/status"];

/// Whether a path behind the prefix is about the market, and not about the server itself.
pub(crate) fn is_of_the_market(path: &str) -> bool {
    let what = BASES.iter().find_map(|base| path.strip_prefix(base));
    what.is_some_and(|what| !OF_THE_SERVER.contains(&what))
}

#[cfg(test)]
mod tests {
    use http_gateway::route_needs::RouteNeeds;

    use super::*;

    #[test]
    fn each_route_stands_here_once() {
        let needs = RouteNeeds::of(&ROUTES);
        let found = ROUTES.iter().filter(|(method, route, its)| needs.get(method, route) == Some(*its));
        assert_eq!(found.count(), ROUTES.len());
        let routes: std::collections::HashSet<_> = ROUTES.iter().map(|(method, route, _)| (method, route)).collect();
        assert_eq!(routes.len(), ROUTES.len());
        assert_eq!(needs.get("HEAD", "/api/v3/order"), Some(Need::Signature));
        assert_eq!((needs.get("GET", "/metrics"), needs.get("PATCH", "/api/v3/order")), (None, None));
    }

    #[test]
    fn the_market_is_read_where_it_is_shown() {
        for (path, is_market) in
            [("/api/v3/depth", true), ("/api/v3/ping", false), ("/sapi/v1/system/status", false), ("/ws", false)]
        {
            assert_eq!(is_of_the_market(path), is_market, "{path}");
        }
    }
}
