//! The address of the database: the URL with its TLS mode, and its text without the password.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::StoreError;

/// Time limits that apply unless the URL has others. A host that dies silently is noticed after 15 s, with or without
/// data on its way.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);
const KEEPALIVES_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVES_RETRIES: u32 = 2;

/// The advice for a password with one of these characters, at which the URL would split it.
const ESCAPE: &str = "in a password write @ as %40, / as %2F and ? as %3F";

/// The trust in the database's certificate: the meaning that libpq gives to `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Any certificate (`disable`, `prefer`, `require`): the connection is encrypted at most.
    Any,
    /// A certificate that a trusted authority signed (`verify-ca`, or `require` with an authority).
    Authority,
    /// A certificate that also names the URL's host (`verify-full`).
    Full,
}

/// A parsed URL. Neither its Display nor its Debug shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// The text as it was given.
    secret: String,
    pub(crate) config: Config,
    pub(crate) trust: Trust,
    /// A PEM file of authorities, instead of the system's.
    pub(crate) roots: Option<String>,
    shown: String,
}

impl StoreUrl {
    /// The text as it was given, with its password.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The URL of another database of the same PostgreSQL. Errors: `Url`, when the database is named behind the `?`.
    pub fn of_database(&self, name: &str) -> Result<StoreUrl, StoreError> {
        let (scheme, rest) = self.secret.split_once("://").unwrap_or_default();
        let (credentials, place) = rest.split_at(rest.find('@').map_or(0, |at| at + 1));
        let (hosts, behind) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
        let query = behind.find('?').map_or("", |from| &behind[from..]);
        let other: StoreUrl = format!("{scheme}://{credentials}{hosts}/{name}{query}").parse()?;
        match other.config.get_dbname() == Some(name) {
            true => Ok(other),
            false => Err(StoreError::Url { fault: "names its database behind the ?: name it before".to_owned() }),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…&sslrootcert=FILE`, and all other settings that
    /// tokio-postgres reads. Errors: `Url`.
    fn from_str(text: &str) -> Result<StoreUrl, StoreError> {
        let fail = |fault: String| StoreError::Url { fault };
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(fail("does not begin with postgres://".to_owned()));
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut trust, mut encrypt, mut roots) = (Trust::Any, None, None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => (encrypt, trust) = ssl_mode(mode).map_err(fail)?,
                Some(("sslrootcert", file)) => roots = Some(percent_decoded(file).map_err(fail)?),
                _ => rest.push(pair),
            }
        }
        let others = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        let mut config: Config = format!("{address}{others}").parse().map_err(|error: tokio_postgres::Error| {
            // The driver's message may then contain half of a password.
            let split = query.contains('@');
            let why = if split { ESCAPE.to_owned() } else { crate::error::with_cause(&error) };
            fail(format!("cannot be read ({why})"))
        })?;
        if let Some(mode) = encrypt {
            config.ssl_mode(mode);
        }
        if encrypt == Some(SslMode::Require) && trust == Trust::Any && roots.is_some() {
            // libpq does the same: an operator who names an authority wants its check.
            trust = Trust::Authority;
        }
        set_defaults(&mut config);
        let shown = shown(&config) + &encryption(query);
        Ok(StoreUrl { secret: text.to_owned(), config, trust, roots, shown })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

fn ssl_mode(mode: &str) -> Result<(Option<SslMode>, Trust), String> {
    match mode {
        "disable" => Ok((Some(SslMode::Disable), Trust::Any)),
        "prefer" => Ok((Some(SslMode::Prefer), Trust::Any)),
        "require" => Ok((Some(SslMode::Require), Trust::Any)),
        "verify-ca" => Ok((Some(SslMode::Require), Trust::Authority)),
        "verify-full" => Ok((Some(SslMode::Require), Trust::Full)),
        _ => Err("has an unknown sslmode; there are disable, prefer, require, verify-ca and verify-full".to_owned()),
    }
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.split_at_checked(2).and_then(|(digits, behind)| {
            rest = behind;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
        bytes.push(digits.ok_or("has a % that two hexadecimal digits do not follow")?);
    }
    String::from_utf8(bytes).map_err(|_| "names a file that is no UTF-8".to_owned())
}

fn set_defaults(config: &mut Config) {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(TCP_USER_TIMEOUT);
    }
    // The driver's own default is two hours, like the system's.
    if config.get_keepalives_idle() == Duration::from_secs(2 * 60 * 60) {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVES_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVES_RETRIES);
    }
}

/// The settings of encryption in a URL's query; other settings may be secret.
fn encryption(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| ["sslmode=", "sslrootcert="].iter().any(|name| pair.starts_with(name)));
    let pairs: Vec<&str> = pairs.collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn shown(config: &Config) -> String {
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(place, host)| {
            let port = config.get_ports().get(place).or(config.get_ports().first()).copied().unwrap_or(5432);
            match host {
                // The text before an @ is the rest of a password that contains one.
                Host::Tcp(name) => format!("{}:{port}", name.rsplit('@').next().unwrap_or_default()),
                Host::Unix(folder) => format!("{}:{port}", folder.display()),
            }
        })
        .collect();
    format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        let url: StoreUrl = "postgres://me:secret@db.example:5433/market?sslmode=verify-full".parse().unwrap();
        assert_eq!(url.to_string(), "postgres://me@db.example:5433/market?sslmode=verify-full");
        assert_eq!(format!("{url:?}"), url.to_string());
        assert_eq!(url.config.get_password(), Some(&b"secret"[..]));
        assert_eq!((url.trust, url.config.get_ssl_mode()), (Trust::Full, SslMode::Require));
        let error = "postgres://me:secret@db.example:port/market".parse::<StoreUrl>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        for text in [
            "postgres://me:s3@cret@db/market",
            "postgres://me:s3?cret@db/market",
            "postgres://me@db/market?password=s3cret",
        ] {
            assert_eq!(text.parse::<StoreUrl>().unwrap().to_string(), "postgres://me@db:5432/market");
        }
        let error = "postgres://me:a@b?s3cret=1@db/market".parse::<StoreUrl>().unwrap_err().to_string();
        assert!(!error.contains("s3cret") && error.contains("%3F"), "{error}");
    }

    #[test]
    fn another_database_of_the_same_server_has_the_rest_of_the_url() {
        let check = |given: &str, expected: &str| {
            let url: StoreUrl = given.parse().unwrap();
            assert_eq!(url.of_database("bench").unwrap().secret(), expected);
        };
        check("postgres://me:s3cret@db:5433/market", "postgres://me:s3cret@db:5433/bench");
        check("postgresql://me@db/market?sslmode=require", "postgresql://me@db/bench?sslmode=require");
        check("postgres://db", "postgres://db/bench");
        check("postgres://me@?host=/run/pg", "postgres://me@/bench?host=/run/pg");
        let elsewhere: StoreUrl = "postgres://db/?dbname=market".parse().unwrap();
        assert!(elsewhere.of_database("bench").is_err());
    }

    #[test]
    fn a_url_may_name_its_authorities_and_other_settings() {
        let url: StoreUrl =
            "postgresql://me@/market?host=/run/pg&sslrootcert=/etc/my%20ca.pem&connect_timeout=2".parse().unwrap();
        assert_eq!(url.roots.as_deref(), Some("/etc/my ca.pem"));
        assert_eq!(url.config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        assert_eq!(url.to_string(), "postgres://me@/run/pg:5432/market?sslrootcert=/etc/my%20ca.pem");
    }

    #[test]
    fn a_host_that_dies_silently_is_noticed_in_fifteen_seconds_unless_the_url_says_otherwise() {
        let url: StoreUrl = "postgres://me@db/market".parse().unwrap();
        let [idle, interval] = [Some(url.config.get_keepalives_idle()), url.config.get_keepalives_interval()];
        let probes = Duration::from_secs(u64::from(url.config.get_keepalives_retries().unwrap()));
        let noticed = idle.unwrap() + interval.unwrap() * probes.as_secs() as u32;
        assert_eq!((noticed, url.config.get_tcp_user_timeout()), (Duration::from_secs(15), Some(&noticed)));
        let others = "keepalives_idle=60&keepalives_interval=7&keepalives_retries=9&tcp_user_timeout=90";
        let url: StoreUrl = format!("postgres://me@db/market?{others}").parse().unwrap();
        assert_eq!(url.config.get_keepalives_idle(), Duration::from_secs(60));
        assert_eq!(url.config.get_keepalives_interval(), Some(Duration::from_secs(7)));
        assert_eq!(url.config.get_keepalives_retries(), Some(9));
        assert_eq!(url.config.get_tcp_user_timeout(), Some(&Duration::from_secs(90)));
    }

    #[test]
    fn whoever_requires_encryption_and_names_an_authority_is_sure_of_it() {
        let trust = |text: &str| text.parse::<StoreUrl>().unwrap().trust;
        assert_eq!(trust("postgres://me@db/market?sslmode=require&sslrootcert=ca.pem"), Trust::Authority);
        assert_eq!(trust("postgres://me@db/market?sslrootcert=ca.pem&sslmode=verify-full"), Trust::Full);
        assert_eq!(trust("postgres://me@db/market?sslmode=require"), Trust::Any);
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in ["", "host=x", "mysql://x/y", "postgres://x/y?sslmode=maybe", "postgres://x/y?sslrootcert=%zz"] {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.starts_with("the store's URL "), "{error}");
        }
    }
}
