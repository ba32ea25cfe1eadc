//! Any page that a browser shows can send requests to a server on its own machine: so a request must name this server as
//! its host, and a write that comes from a page must come from ours.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::binance;
use crate::problem::Problem;
use crate::site::Site;

/// Lets a request through, or refuses it.
pub(crate) async fn guard(State(site): State<Site>, request: Request, next: Next) -> Response {
    match check(&site, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) if binance::is_for(&request) => binance::Refusal::from(problem).into_response(),
        Err(problem) => problem.into_response(),
    }
}

fn check(site: &Site, request: &Request) -> Result<(), Problem> {
    // Probes name whatever they were configured with, and learn nothing.
    if matches!(request.uri().path(), "/health" | "/ready") {
        return Ok(());
    }
    let host = text(request.headers(), header::HOST);
    if !host.is_some_and(|host| is_ours(host, site.hosts())) {
        let detail = format!(
            "requests to the host {:?} are not answered; name it with --http-hosts if it is this server",
            host.unwrap_or_default()
        );
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign-host", "Foreign host", detail));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let upgrades = request.headers().contains_key(header::UPGRADE);
    let Some(origin) = request.headers().get(header::ORIGIN).filter(|_| upgrades || !reads) else { return Ok(()) };
    let ours = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    if ours.is_none() || ours != host {
        let detail = "only pages of this server may send this request from a browser";
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign-origin", "Foreign origin", detail));
    }
    Ok(())
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// An address is nobody's name, so that no name server can make a foreign page's name point at it; nor can it at
/// `localhost`.
fn is_ours(host: &str, hosts: &[String]) -> bool {
    let name = without_port(host);
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_server_are_answered() {
        let hosts = ["exchange.example".to_owned()];
        for ours in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "Exchange.Example:80"] {
            assert!(is_ours(ours, &hosts), "{ours}");
        }
        for foreign in ["evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "", ":8080"] {
            assert!(!is_ours(foreign, &hosts), "{foreign}");
        }
    }
}
