//! Guards against other web pages: any page in a browser can send requests to a server on the same machine. So a
//! request must name this server as its host, and a write that comes from a page must come from this server's page.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use exchange::TurnedAway;

use crate::app_state::AppState;
use crate::listener::Life;
use crate::problem::{self, Problem};
use crate::problem_code::Code;

/// Headers of every answer, unless it sets them itself. They keep a browser from guessing another content type, from
/// letting other sites show or use the answer, and from keeping a copy.
const SAID_ALWAYS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Passes a request on, or refuses it.
pub(crate) async fn check_origin(
    State(app): State<AppState>,
    ConnectInfo(life): ConnectInfo<Life>,
    request: Request,
    next: Next,
) -> Response {
    let is_for_a_person = takes_pages(&request);
    let mut response = match check(app.hosts(), &life, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            app.count_turned_away(TurnedAway::Foreign, life.there());
            problem.into_response()
        }
    };
    let headers = response.headers_mut();
    // Firefox would show an empty page for a content type that it cannot show.
    if is_for_a_person && headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == problem::KIND) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in SAID_ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whether a person will look at the answer: a browser that opens an address says that it takes a page.
fn takes_pages(request: &Request) -> bool {
    request
        .headers()
        .get(header::ACCEPT)
        .and_then(|takes| takes.to_str().ok())
        .is_some_and(|takes| takes.contains("text/html"))
}

fn check(hosts: &[String], life: &Life, request: &Request) -> Result<(), Problem> {
    // Probes use any host name, and their answer reveals nothing.
    if matches!(request.uri().path(), "/health" | "/ready") {
        return Ok(());
    }
    let host = only(request, header::HOST)?;
    // A request may name the host in its path, and then the header does not count.
    let named = request.uri().authority().map(|authority| authority.as_str());
    for host in [host, named.or(host)] {
        if !host.is_some_and(|host| is_ours(host, life.here(), hosts)) {
            let detail = format!(
                "requests to the host {:?} are not answered; name it with --http-hosts if it is this server",
                host.unwrap_or_default()
            );
            return Err(Problem::new(Code::ForeignHost, detail));
        }
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let upgrades = request.headers().contains_key(header::UPGRADE);
    if reads && !upgrades || !request.headers().contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = only(request, header::ORIGIN)?;
    // A page that came unencrypted may be anyone's. Where TLS ends in front of this server, the page came encrypted.
    let origin = origin.and_then(|origin| origin.split_once("://"));
    let ours = origin.filter(|(scheme, _)| *scheme == "https" || !life.is_tls()).map(|(_, authority)| authority);
    if ours.is_none() || ours != named.or(host) {
        let detail = "only pages of this server may send this request from a browser";
        return Err(Problem::new(Code::ForeignOrigin, detail));
    }
    Ok(())
}

/// Returns the one value of a header, if it is text.
fn only(request: &Request, name: HeaderName) -> Result<Option<&str>, Problem> {
    let mut values = request.headers().get_all(&name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Problem::field(name.as_str(), format!("a request has one {name}")));
    }
    Ok(first.and_then(|value| value.to_str().ok()))
}

/// Whether a host is this server. A page of another site names that site as the host, and a name server can make such a
/// name lead here. It cannot do so with an address or `localhost`, so these are accepted; of addresses only ours.
fn is_ours(host: &str, here: IpAddr, hosts: &[String]) -> bool {
    let name = without_port(host);
    let address = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => name.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    let is_our_address = address.map(|address| address.to_canonical());
    is_our_address.is_some_and(|address| address.is_loopback() || address == here)
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
        let here = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
        for ours in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "Exchange.Example:80"] {
            assert!(is_ours(ours, here, &hosts), "{ours}");
        }
        for ours in ["192.0.2.7", "192.0.2.7:8080", "[::ffff:192.0.2.7]:8080"] {
            assert!(is_ours(ours, here, &hosts), "{ours}");
        }
        for foreign in ["evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "", ":8080"] {
            assert!(!is_ours(foreign, here, &hosts), "{foreign}");
        }
        for foreign in ["192.0.2.8", "]127.0.0.1[", "[127.0.0.1]", "::1", "[::1", "[[::1]]", "[2001:db8::1]", "0x7f.1"]
        {
            assert!(!is_ours(foreign, here, &hosts), "{foreign}");
        }
    }
}
