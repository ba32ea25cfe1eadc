//! The URL of a log: `nats://[user:password@]host[:port][,host[:port]…][/name]`. Its text leaves the password out.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use crate::client::LogError;

const NAME_BYTES_MAX: usize = 32;

/// The servers that keep a log, and its name there.
#[derive(Clone, PartialEq, Eq)]
pub struct LogUrl {
    /// The scheme. With `tls`, the system's authorities must have signed the servers' certificate.
    scheme: &'static str,
    /// User and password.
    login: Option<(String, String)>,
    hosts: Vec<String>,
    name: String,
}

impl LogUrl {
    /// The servers, each as a URL.
    pub(crate) fn servers(&self) -> Vec<String> {
        self.hosts.iter().map(|host| format!("{}://{host}", self.scheme)).collect()
    }

    /// User and password, if the URL has them.
    pub(crate) fn login(&self) -> Option<&(String, String)> {
        self.login.as_ref()
    }

    /// The log's name among others on the same servers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a text is meant to be such a URL.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("nats://") || text.starts_with("tls://")
    }
}

impl FromStr for LogUrl {
    type Err = LogError;

    fn from_str(text: &str) -> Result<LogUrl, LogError> {
        let wrong = |what: &str| LogError(format!("the log's URL {what}: it is nats://host:port,host:port,…/name"));
        let (scheme, rest) = match (text.strip_prefix("nats://"), text.strip_prefix("tls://")) {
            (Some(rest), _) => ("nats", rest),
            (None, Some(rest)) => ("tls", rest),
            (None, None) => return Err(wrong("begins with neither nats:// nor tls://")),
        };
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(decoded(login).ok_or_else(|| wrong("names no user and password"))?), rest),
            None => (None, rest),
        };
        let (hosts, name) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts: Vec<String> = hosts.split(',').map(|host| host.trim().to_owned()).collect();
        if hosts.iter().any(String::is_empty) {
            return Err(wrong("names no host"));
        }
        let name = if name.is_empty() { "pricetime" } else { name };
        let is_legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        match name.len() <= NAME_BYTES_MAX && name.chars().all(is_legal) {
            true => Ok(LogUrl { scheme, login, hosts, name: name.to_owned() }),
            false => Err(wrong("has a name of other than 1 to 32 letters, digits, - and _")),
        }
    }
}

/// Decodes the part before the `@`: `user:password`, with `%` and two digits for characters that have a meaning in
/// URLs.
fn decoded(login: &str) -> Option<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned);
    let (user, password) = login.split_once(':')?;
    Some((decoded(user)?, decoded(password)?))
}

impl fmt::Display for LogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.hosts.join(","), self.name)
    }
}

impl fmt::Debug for LogUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_servers_and_whoever_logs_in_and_shows_no_password() {
        let url: LogUrl = "tls://node:a%40b%2Fc@one,two:4333/market".parse().expect("it is one");
        assert_eq!(url.servers(), ["tls://one", "tls://two:4333"]);
        assert_eq!(url.login(), Some(&("node".to_owned(), "a@b/c".to_owned())));
        assert_eq!((url.to_string().as_str(), url.name()), ("tls://one,two:4333/market", "market"));
        let url: LogUrl = "nats://one".parse().expect("it is one");
        assert_eq!((url.login(), url.name()), (None, "pricetime"));
        for wrong in ["nats://", "nats://user@one", "nats://one/a.b", "http://one", "nats://u:%ff@one"] {
            assert!(wrong.parse::<LogUrl>().is_err(), "{wrong}");
        }
    }
}
