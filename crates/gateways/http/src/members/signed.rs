//! Signed requests: three headers, and the text that is signed.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, Method, Uri};

use crate::clock::now;

/// Times by which a signed request may be old, and its client's clock ahead.
pub(crate) const WINDOW: Duration = Duration::from_secs(5);
const AHEAD_MAX: Duration = Duration::from_secs(1);
/// Time by which the clock of a client whose request is taken may be ahead of the server's: `AHEAD_MAX`, and the part
/// of a millisecond that clients leave out.
pub const SIGNED_AHEAD_MAX: Duration = Duration::from_millis(1001);

const KEY: HeaderName = HeaderName::from_static("pricetime-key");
const TIME: HeaderName = HeaderName::from_static("pricetime-time");
const SIGNATURE: HeaderName = HeaderName::from_static("pricetime-signature");

/// The headers of a request's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignatureHeaders<'a> {
    pub(crate) key: &'a str,
    /// Microseconds since the Unix epoch, as text.
    pub(crate) time: &'a str,
    pub(crate) signature: &'a str,
}

/// The reason why headers hold no valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsigned {
    /// No signature.
    Not,
    /// A part of it is missing, or there twice.
    Partly,
    /// Its time is not recent.
    NotOfNow,
}

impl SignatureHeaders<'_> {
    /// Reads the headers. Errors: there is no signature, or a part of it is missing, or it is not recent.
    pub(crate) fn of(headers: &HeaderMap) -> Result<SignatureHeaders<'_>, Unsigned> {
        let all = [KEY, TIME, SIGNATURE].map(|name| {
            let mut values = headers.get_all(name).iter();
            (values.next(), values.next())
        });
        if all.iter().all(|(first, _)| first.is_none()) {
            return Err(Unsigned::Not);
        }
        let [key, time, signature] = all.map(|values| match values {
            (Some(only), None) => only.to_str().map_err(|_| Unsigned::Partly),
            _ => Err(Unsigned::Partly),
        });
        let signed = SignatureHeaders { key: key?, time: time?, signature: signature? };
        match signed.is_of_now() {
            true => Ok(signed),
            false => Err(Unsigned::NotOfNow),
        }
    }

    pub(crate) fn is_of_now(&self) -> bool {
        is_of_now(self.time, now())
    }

    /// Returns the time; 0 if it is invalid.
    pub(super) fn micros(&self) -> u64 {
        self.time.parse().unwrap_or_default()
    }

    /// Returns the signed text before the body: the method, the path with its query, and the time, a line each.
    pub(crate) fn head(&self, method: &Method, uri: &Uri) -> String {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        format!("{method}\n{path}\n{}\n", self.time)
    }
}

fn is_of_now(time: &str, now: u64) -> bool {
    let in_micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    // A time has one valid form: another one would be another text to sign.
    let is_plain = !time.starts_with('0') && time.bytes().all(|byte| byte.is_ascii_digit());
    let time = time.parse::<u64>().ok().filter(|_| is_plain);
    time.is_some_and(|time| {
        time <= now.saturating_add(in_micros(AHEAD_MAX)) && time.saturating_add(in_micros(WINDOW)) >= now
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_now() {
        let now = 1_700_000_000_000_000;
        for good in [now, now - 5_000_000, now + 1_000_000] {
            assert!(is_of_now(&good.to_string(), now), "{good}");
        }
        for bad in [now - 5_000_001, now + 1_000_001, now / 1000, 0, u64::MAX] {
            assert!(!is_of_now(&bad.to_string(), now), "{bad}");
        }
        for bad in ["", "x", "-1", &format!("0{now}"), &format!("+{now}"), &format!("{now}0")] {
            assert!(!is_of_now(bad, now), "{bad}");
        }
    }

    #[test]
    fn headers_say_all_of_it_or_nothing() {
        let time = now().to_string();
        let headers = |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(HeaderName::from_static(name), time.parse().expect("a header"));
            }
            headers
        };
        let all = ["pricetime-key", "pricetime-time", "pricetime-signature"];
        let fault = |names: &[&'static str]| SignatureHeaders::of(&headers(names)).err();
        assert_eq!(fault(&all), None);
        assert_eq!(fault(&[]), Some(Unsigned::Not));
        for without in 0..3 {
            let others: Vec<_> = all.into_iter().enumerate().filter(|(at, _)| *at != without).collect();
            assert_eq!(fault(&others.iter().map(|(_, name)| *name).collect::<Vec<_>>()), Some(Unsigned::Partly));
        }
        assert_eq!(fault(&[&all[..], &all[..1]].concat()), Some(Unsigned::Partly));
    }
}
