//! Where the own server of a run keeps its market, as people say it, and how a database's URL is shown without its password.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;

/// Applies unless the URL names another.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a market is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// In the journal of a fresh data folder.
    #[default]
    Journal,
    /// In a fresh database of the PostgreSQL at this URL.
    Postgres(DatabaseUrl),
}

impl Store {
    /// As records have them.
    pub const JOURNAL: &'static str = "journal";
    pub const POSTGRES: &'static str = "postgres";

    pub fn name(&self) -> &'static str {
        match self {
            Store::Journal => Store::JOURNAL,
            Store::Postgres(_) => Store::POSTGRES,
        }
    }

    /// What each run gets.
    pub fn fresh(&self) -> &'static str {
        match self {
            Store::Journal => "a fresh data folder",
            Store::Postgres(_) => "a fresh database",
        }
    }

    /// What the figures of a server leave out: a sentence.
    pub fn not_counted(&self) -> &'static str {
        match self {
            Store::Journal => "",
            Store::Postgres(_) => " The processor time of PostgreSQL is not counted as the server's.",
        }
    }
}

impl FromStr for Store {
    type Err = String;

    /// Errors: neither `journal` nor a URL that can be used. They do not show what was given: it may hold a password.
    fn from_str(text: &str) -> Result<Store, String> {
        let wrong = |fault: String| {
            format!(
                "--store {fault}; say `journal`, or postgres://USER:PASSWORD@HOST:5432/DATABASE of a role that may create databases"
            )
        };
        match text {
            Store::JOURNAL => Ok(Store::Journal),
            url => url.parse().map(Store::Postgres).map_err(wrong),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Journal => f.write_str(Store::JOURNAL),
            Store::Postgres(url) => url.fmt(f),
        }
    }
}

/// The URL of a database that can be reached without TLS. Neither its Display nor its Debug shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// With its password.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// How to connect to it. Errors: what keeps it from being used.
    pub fn config(&self) -> Result<Config, String> {
        let mut config: Config = self.0.parse().map_err(|error| format!("cannot be read ({})", with_cause(&error)))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        Ok(config)
    }

    /// Of another database of the same PostgreSQL. Errors: the URL names its database in its query, too.
    pub fn of_database(&self, name: &str) -> Result<DatabaseUrl, String> {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        let (credentials, place) = rest.split_at(rest.find('@').map_or(0, |at| at + 1));
        let (hosts, behind) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
        let query = behind.find('?').map_or("", |from| &behind[from..]);
        let other = DatabaseUrl(format!("{scheme}://{credentials}{hosts}/{name}{query}"));
        match other.config()?.get_dbname() == Some(name) {
            true => Ok(other),
            false => Err(format!("{self}: name the database before the ?, and not behind it")),
        }
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<DatabaseUrl, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err("is neither `journal` nor a URL that begins with postgres://".to_string());
        }
        if ["sslmode=require", "sslmode=verify", "sslrootcert="].iter().any(|asked| text.contains(asked)) {
            return Err("asks for TLS, and databases are created and dropped without: leave sslmode out".to_string());
        }
        let url = DatabaseUrl(text.to_string());
        url.config().map(|_| url)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        // Behind the ? there may be a password, too; and one with @ or ? in it is wrong, but no reason to show half of it.
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            return write!(f, "{scheme}://…");
        }
        let (credentials, place) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
        match credentials.split([':', '@']).next().filter(|user| !user.is_empty()) {
            Some(user) => write!(f, "{scheme}://{user}@{place}"),
            None => write!(f, "{scheme}://{place}"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error with what caused it.
pub fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_cause(cause)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> DatabaseUrl {
        text.parse().expect("a URL")
    }

    #[test]
    fn the_password_is_never_shown() {
        for text in [
            "postgres://me:s3cret@db.example:5433/market",
            "postgres://me@db.example:5433/market?password=s3cret",
            "postgres://me:s3@cret@db.example:5433/market",
        ] {
            let store: Store = text.parse().expect(text);
            let shown = format!("{store} {store:?}");
            assert_eq!(shown.replace("postgres://me@db.example:5433/market", "URL"), "URL Postgres(URL)");
        }
        assert_eq!(url("postgres://me:s3@db/market?password=s3@cret").to_string(), "postgres://…");
        assert_eq!(url("postgres://db/market").to_string(), "postgres://db/market");
        for text in
            ["mysql://me:s3cret@x/y", "postgres://me:s3cret@x:port/y", "postgres://me:s3cret@x/y?sslmode=require"]
        {
            let error = text.parse::<Store>().expect_err(text);
            assert!(!error.contains("s3cret") && error.contains("say `journal`"), "{error}");
        }
    }

    #[test]
    fn another_database_of_the_same_server_has_the_rest_of_the_url() {
        let check = |given: &str, expected: &str| {
            assert_eq!(url(given).of_database("bench").expect("a URL").secret(), expected);
        };
        check("postgres://me:s3cret@db:5433/market", "postgres://me:s3cret@db:5433/bench");
        check("postgresql://me@db/market?connect_timeout=2", "postgresql://me@db/bench?connect_timeout=2");
        check("postgres://db", "postgres://db/bench");
        check("postgres://me@?host=/run/pg", "postgres://me@/bench?host=/run/pg");
        assert!(url("postgres://db/?dbname=market").of_database("bench").is_err());
        assert_eq!("journal".parse::<Store>(), Ok(Store::Journal));
    }
}
