//! The cookie of the page's session: its name, the token in a request, how it is set. The server sets and accepts it
//! where it accepts a token: under TLS, or on this machine.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::listener::Life;
use crate::problem::Problem;

/// The constant part of the name.
const NAME: &str = "pricetime-session";
/// Its name in the descriptions.
pub(crate) const DESCRIBED: &str = "__Host-pricetime-session-PORT";

/// Returns its name on a connection. A browser keeps cookies by host alone, so the name has the port; and under TLS the
/// prefix lets only this host set it, and only over TLS.
fn name(life: &Life) -> String {
    let prefix = if life.is_tls() { "__Host-" } else { "" };
    format!("{prefix}{NAME}-{}", life.port())
}

/// Returns the token of a session. Errors: there are two, one of which another server set; or others may have read it.
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

/// Sets the cookie, or removes it with an empty token. No script can read it, no other site's page sends it along, and
/// a cookie that was set over TLS is sent only over TLS.
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
