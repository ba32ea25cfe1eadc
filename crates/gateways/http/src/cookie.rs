//! The cookies of the page: of its session, and of the device that a member has logged in from. How each is named, set,
//! and found in a request. The server sets and accepts them where it accepts a token: under TLS, or on this machine.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::listener::Life;
use crate::problem::Problem;

/// The constant part of the session's name.
const SESSION: &str = "pricetime-session";
/// The constant part of the device's name.
const DEVICE: &str = "pricetime-device";
/// The session's name in the descriptions.
pub(crate) const DESCRIBED: &str = "__Host-pricetime-session-PORT";
/// Seconds after its last login for which a browser keeps the device's cookie: half a year.
const DEVICE_KEPT_SECONDS: u32 = 180 * 24 * 3600;
/// Cookies of a device that are looked at. On plain loopback any program of the host can set further ones.
const DEVICES_MAX: usize = 4;

/// Returns the name of a cookie on a connection. A browser keeps cookies by host alone, so the name has the port; and
/// under TLS the prefix lets only this host set it, and only over TLS.
fn name(constant: &str, life: &Life) -> String {
    let prefix = if life.is_tls() { "__Host-" } else { "" };
    format!("{prefix}{constant}-{}", life.port())
}

/// Iterates over the values of the cookies with this name.
fn values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(named, _)| *named == name).map(|(_, value)| value)
}

/// Returns the token of a session. Errors: there are two, one of which another server set; or others may have read it.
pub(crate) fn token<'a>(headers: &'a HeaderMap, life: &Life) -> Result<Option<&'a str>, Problem> {
    let name = name(SESSION, life);
    let mut tokens = values(headers, &name);
    match (tokens.next(), tokens.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => {
            Err(Problem::unauthenticated(format!("the cookie {name} came twice, and one session asks: delete both")))
        }
        (Some(_), None) if !life.is_private() => Err(Problem::not_private()),
        (Some(token), None) => Ok(Some(token)),
    }
}

/// Returns the first few tokens of the device, unless others may have read them.
pub(crate) fn device_tokens<'a>(headers: &'a HeaderMap, life: &Life) -> Vec<&'a str> {
    let most = if life.is_private() { DEVICES_MAX } else { 0 };
    values(headers, &name(DEVICE, life)).take(most).collect()
}

/// Sets the session's cookie, or removes it with an empty token.
pub(crate) fn set(response: &mut Response, token: &str, life: &Life) {
    let kept = if token.is_empty() { "; Max-Age=0" } else { "" };
    append(response, &name(SESSION, life), token, kept, life);
}

/// Sets the device's cookie, which stays when the member logs out.
pub(crate) fn set_device(response: &mut Response, token: &str, life: &Life) {
    append(response, &name(DEVICE, life), token, &format!("; Max-Age={DEVICE_KEPT_SECONDS}"), life);
}

/// Appends a cookie. No script can read it, no other site's page sends it along, and a cookie that was set over TLS is
/// sent only over TLS.
fn append(response: &mut Response, name: &str, value: &str, kept: &str, life: &Life) {
    let secure = if life.is_tls() { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}{kept}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
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

    #[test]
    fn the_cookie_of_a_device_is_found_by_its_port_where_nobody_reads_along() {
        let life = |there: &str, is_tls| Life::of(there.parse().expect("an address"), 8080, is_tls);
        let found = |life: &Life, cookies: &'static str| {
            let headers = [(header::COOKIE, HeaderValue::from_static(cookies))].into_iter().collect();
            device_tokens(&headers, life).join(" ")
        };
        let (here, far, encrypted) = (life("127.0.0.1", false), life("192.0.2.1", false), life("192.0.2.1", true));
        assert_eq!(found(&here, "pricetime-session-8080=t; pricetime-device-8080=d"), "d");
        assert_eq!(found(&here, "pricetime-device-8081=d; pricetime-session-8080=t"), "");
        assert_eq!(found(&far, "pricetime-device-8080=d"), "");
        assert_eq!(found(&encrypted, "__Host-pricetime-device-8080=d"), "d");
        // Another program of the host set one with a longer path, which a browser sends first.
        assert_eq!(found(&here, "pricetime-device-8080=x; pricetime-device-8080=d"), "x d");
        let five = "pricetime-device-8080=a; pricetime-device-8080=b; pricetime-device-8080=c; \
            pricetime-device-8080=d; pricetime-device-8080=e";
        assert_eq!(found(&here, five), "a b c d");
    }
}
