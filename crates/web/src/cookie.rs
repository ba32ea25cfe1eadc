//! The cookie of the page's session: its name, the token in a request, how it is set. It is given and taken where a
//! token is: under TLS, or on this machine.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::listener::Life;
use crate::problem::Problem;

/// The name's part that is the same everywhere.
const NAME: &str = "pricetime-session";
/// Its name in the descriptions.
pub(crate) const DESCRIBED: &str = "__Host-pricetime-session-PORT";

/// Its name on a connection. A browser keeps cookies by host alone, so the port stands in it; and under TLS one with
/// this prefix is set by this host over TLS, and by nobody else.
fn name(life: &Life) -> String {
    let prefix = if life.is_tls() { "__Host-" } else { "" };
    format!("{prefix}{NAME}-{}", life.port())
}

/// The token of a session. Errors: there are two, of which one is somebody else's; or others may have read it.
pub(crate) fn token<'a>(headers: &'a HeaderMap, life: &Life) -> Result<Option<&'a str>, Problem> {
    let name = name(life);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut tokens = pairs.filter(|(named, _)| *named == name).map(|(_, token)| token);
    match (tokens.next(), tokens.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => {
            Err(Problem::unauthenticated(format!("the cookie {name} came twice, and one session asks: delete both")))
        }
        (Some(_), None) if !life.is_private() => Err(Problem::not_private()),
        (Some(token), None) => Ok(Some(token)),
    }
}

/// Sets it, or with an empty token takes it away. No script reads it, no other site's page sends it along, and one that
/// came encrypted is sent so alone.
pub(crate) fn set(response: &mut Response, token: &str, life: &Life) {
    let gone = if token.is_empty() { "; Max-Age=0" } else { "" };
    let secure = if life.is_tls() { "; Secure" } else { "" };
    let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/{secure}{gone}", name(life));
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(life: &Life, cookies: &[&str]) -> Result<Option<String>, u16> {
        let headers = cookies.iter().map(|cookie| (header::COOKIE, HeaderValue::from_str(cookie).expect("a header")));
        let headers = headers.collect();
        token(&headers, life).map(|token| token.map(str::to_owned)).map_err(|problem| problem.status().as_u16())
    }

    #[test]
    fn a_cookie_is_taken_by_its_port_once_and_where_nobody_reads_along() {
        let life = |there: &str, is_tls| Life::of(there.parse().expect("an address"), 8080, is_tls);
        let here = life("127.0.0.1", false);
        let token = Ok(Some("t".to_owned()));
        assert_eq!(taken(&here, &["a=b; pricetime-session-8080=t"]), token);
        assert_eq!(taken(&here, &["pricetime-session=t; pricetime-session-8081=t"]), Ok(None));
        assert_eq!(taken(&here, &["pricetime-session-8080=t; pricetime-session-8080=t"]), Err(401));
        assert_eq!(taken(&here, &["pricetime-session-8080=t", "pricetime-session-8080=u"]), Err(401));
        let far = life("192.0.2.1", false);
        assert_eq!(taken(&far, &["pricetime-session-8080=t"]), Err(401));
        assert_eq!(taken(&far, &["other=t"]), Ok(None));
        let encrypted = life("192.0.2.1", true);
        assert_eq!(taken(&encrypted, &["__Host-pricetime-session-8080=t"]), token);
        assert_eq!(taken(&encrypted, &["pricetime-session-8080=t"]), Ok(None), "a plain page can set it");
    }
}
