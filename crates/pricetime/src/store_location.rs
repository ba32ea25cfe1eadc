//! The place of a market, as a setting: the data folder's journal, a PostgreSQL database, or a log that several servers
//! share.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use cluster::LogUrl;
use serde::{Deserialize, Serialize};
use store::{StoreError, StoreUrl};

/// The place of a market. Its text leaves the password of a URL out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum StoreLocation {
    /// The journal in the data folder.
    #[default]
    Journal,
    /// The market is in this database.
    Database(Box<StoreUrl>),
    /// The market is in this log; the data folder has the messages that were taken of it.
    Log(Box<LogUrl>),
    /// A text that is no place, with the reason. Reading it is no error, because the readers of the command line and of
    /// the settings file print what they cannot read, and it may hold a password.
    Invalid(String),
}

impl StoreLocation {
    /// The kind of the place, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            StoreLocation::Journal | StoreLocation::Invalid(_) => "journal",
            StoreLocation::Database(_) => "postgres",
            StoreLocation::Log(_) => "nats",
        }
    }
}

/// A database on the command line, whose text is not printed when it cannot be read, because it may hold a password.
#[derive(Clone, Debug)]
pub struct GivenUrl(Result<Box<StoreUrl>, String>);

impl GivenUrl {
    /// The URL. Errors: the fault in it, without its text.
    pub fn url(&self) -> Result<&StoreUrl, String> {
        self.0.as_deref().map_err(Clone::clone)
    }
}

impl FromStr for GivenUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<GivenUrl, Infallible> {
        Ok(GivenUrl(text.parse().map(Box::new).map_err(|error: StoreError| error.to_string())))
    }
}

impl From<String> for StoreLocation {
    fn from(text: String) -> StoreLocation {
        match text.as_str() {
            "journal" => StoreLocation::Journal,
            url if LogUrl::is_meant(url) => match url.parse() {
                Ok(url) => StoreLocation::Log(Box::new(url)),
                Err(error) => StoreLocation::Invalid(error.to_string()),
            },
            url => match url.parse() {
                Ok(url) => StoreLocation::Database(Box::new(url)),
                Err(error) => StoreLocation::Invalid(format!(
                    "{error}; or `journal`, for the data folder; or nats://host:4222/name, for a log"
                )),
            },
        }
    }
}

impl FromStr for StoreLocation {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<StoreLocation, Infallible> {
        Ok(StoreLocation::from(text.to_owned()))
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Journal => f.write_str("journal"),
            StoreLocation::Database(url) => url.fmt(f),
            StoreLocation::Log(url) => url.fmt(f),
            StoreLocation::Invalid(fault) => f.write_str(fault),
        }
    }
}

impl From<StoreLocation> for String {
    fn from(place: StoreLocation) -> String {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_and_not_shown() {
        let place = StoreLocation::from("postgres://trader:s3cret@db.example:5432/market".to_owned());
        let shown = place.to_string();
        assert!(shown.contains("db.example") && !shown.contains("s3cret"), "{shown}");
        assert!(!format!("{place:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_no_place_says_what_is_one() {
        let StoreLocation::Invalid(fault) = StoreLocation::from("mysql://me:s3cret@x".to_owned()) else {
            panic!("no place")
        };
        assert!(fault.contains("postgres://") && fault.contains("journal") && !fault.contains("s3cret"), "{fault}");
    }
}
