//! The rights that a request needs, by its route: one table for our own interface. Where there are members, a route
//! that is missing here is refused to all.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The right that the asker needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
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
pub enum AccountPlace {
    Path,
    Query,
}

/// Routes under `/api/v1`, and beside it.
const OURS: [(&str, &str, Need); 66] = [
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
    ("DELETE", "/api/v1/accounts/{account}", Need::Command),
    ("GET", "/api/v1/accounts/{account}/executions", Need::Read(AccountPlace::Path)),
    ("GET", "/api/v1/accounts/{account}/orders", Need::Read(AccountPlace::Path)),
    ("DELETE", "/api/v1/accounts/{account}/orders", Need::Act(AccountPlace::Path)),
    ("PUT", "/api/v1/accounts/{account}/tier", Need::Command),
    ("PUT", "/api/v1/accounts/{account}/group", Need::Command),
    ("POST", "/api/v1/accounts/{account}/deposits", Need::Issue),
    ("POST", "/api/v1/accounts/{account}/withdrawals", Need::Command),
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

static NEEDS: LazyLock<RouteNeeds> = LazyLock::new(|| RouteNeeds::of(&OURS));

/// The needs of routes, found by method and route.
pub struct RouteNeeds(HashMap<(&'static str, &'static str), Need>);

impl RouteNeeds {
    /// Makes a table of methods, routes and needs.
    pub fn of(all: &[(&'static str, &'static str, Need)]) -> RouteNeeds {
        RouteNeeds(all.iter().map(|(method, route, need)| ((*method, *route), *need)).collect())
    }

    /// Returns the need of a method and a route, with the names of the path's parts between braces; `None` if the table
    /// lacks it.
    pub fn get(&self, method: &str, route: &str) -> Option<Need> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.0.get(&(method, route)).copied()
    }
}

/// The paths of a dialect.
pub struct DialectPaths {
    /// The prefix of all of them, such as `/binance`.
    pub prefix: &'static str,
    /// The needs of its routes, without the prefix. Where there are members, a route without a need is refused to all.
    pub needs: RouteNeeds,
    /// Whether a path without the prefix is about the market, and not about the server itself.
    pub is_of_the_market: fn(&str) -> bool,
}

/// Returns the need of a method and a route of our own interface.
pub(crate) fn need(method: &str, route: &str) -> Option<Need> {
    NEEDS.get(method, route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_stands_here_once() {
        assert_eq!(NEEDS.0.len(), OURS.len());
        assert_eq!(need("HEAD", "/metrics"), Some(Need::Venue));
        for unknown in ["/metrics/", "/api/v1/secret", "/binance/api/v3/order", ""] {
            assert_eq!(need("GET", unknown), None, "{unknown}");
        }
        assert_eq!(need("PATCH", "/metrics"), None);
    }
}
