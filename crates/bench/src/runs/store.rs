//! The store of a run's own server, as the command line names it.

use std::fmt;
use std::str::FromStr;

use store::{StoreError, StoreUrl};

use crate::records::ServerRecord;

/// The store of a market.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// The journal of a fresh data folder.
    #[default]
    Journal,
    /// A fresh database of the PostgreSQL at this URL.
    Postgres(Box<StoreUrl>),
}

impl Store {
    /// The name of the thing that each run gets anew.
    pub fn fresh(&self) -> &'static str {
        match self {
            Store::Journal => "a fresh data folder",
            Store::Postgres(_) => "a fresh database",
        }
    }

    /// Returns a sentence about what the figures of a server leave out.
    pub fn not_counted(&self) -> &'static str {
        match self {
            Store::Journal => "",
            Store::Postgres(_) => " The processor time of PostgreSQL is not counted as the server's.",
        }
    }
}

impl FromStr for Store {
    type Err = String;

    /// Reads a store. Errors: neither `journal` nor a usable URL. They do not show the argument: it may hold a
    /// password.
    fn from_str(text: &str) -> Result<Store, String> {
        if text == ServerRecord::JOURNAL {
            return Ok(Store::Journal);
        }
        text.parse().map(|url| Store::Postgres(Box::new(url))).map_err(|error: StoreError| {
            format!("--store: {error}, of a role that may create databases; or say `journal`")
        })
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Journal => f.write_str(ServerRecord::JOURNAL),
            Store::Postgres(url) => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        let store: Store = "postgres://me:s3cret@db.example:5433/market".parse().expect("a URL");
        assert_eq!(format!("{store} {store:?}").matches("postgres://me@db.example:5433/market").count(), 2);
        for text in ["mysql://me:s3cret@x/y", "postgres://me:s3cret@x:port/y"] {
            let error = text.parse::<Store>().expect_err(text);
            assert!(!error.contains("s3cret") && error.contains("say `journal`"), "{error}");
        }
        assert_eq!("journal".parse::<Store>(), Ok(Store::Journal));
    }
}
