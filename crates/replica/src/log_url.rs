//! Where a log is: `nats://[user:password@]host[:port][,host[:port]…][/name]`. Shown without the password.

use std::fmt;
use std::str::FromStr;

use crate::client::LogError;

const NAME_BYTES_MAX: usize = 32;

/// The servers that keep a log, and its name there.
#[derive(Clone, PartialEq, Eq)]
pub struct LogUrl {
    /// With `tls`, its certificate is checked against those that the system trusts.
    scheme: &'static str,
    /// User and password, as they stand before the `@`.
    login: Option<String>,
    hosts: Vec<String>,
    name: String,
}

impl LogUrl {
    /// The servers, each as a URL.
    pub(crate) fn servers(&self) -> Vec<String> {
        let login = self.login.as_ref().map(|login| format!("{login}@")).unwrap_or_default();
        self.hosts.iter().map(|host| format!("{}://{login}{host}", self.scheme)).collect()
    }

    /// The log's name among others on the same servers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a text is meant to be one.
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
            Some((login, rest)) => (Some(login.to_owned()), rest),
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
