//! The fresh database of a run: created on a given PostgreSQL, and dropped again. It knows no market and no schema.

use std::error::Error as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use store::StoreUrl;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use crate::loads::block_on;

/// The start of its name; the process and a number follow.
const NAME_START: &str = "pricetime_bench";
/// The name in the database's list of connections.
const NAME: &str = "bench";
/// Time that creating or dropping may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Names that are tried: those of the same process on another machine may be taken.
const NAMES_MAX: usize = 100;

static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database, dropped when it is dropped.
pub struct FreshDatabase {
    /// The URL through which it is created and dropped.
    given: StoreUrl,
    name: String,
    /// Its own URL.
    pub url: StoreUrl,
    /// `PostgreSQL 15.14`.
    pub version: String,
    synchronous_commit: String,
    /// The settings among `fsync` and `full_page_writes` that are off.
    off: Vec<&'static str>,
}

impl FreshDatabase {
    /// Creates one on the PostgreSQL of this URL. Errors: it cannot be reached; its role may not create databases.
    pub fn create(given: &StoreUrl) -> Result<FreshDatabase, String> {
        let failed = |error: Error| match error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            true => format!(
                "{given}: its role may not create databases, and every run needs a fresh one ({}); as a superuser: ALTER ROLE … \
                 CREATEDB",
                sql_error(error)
            ),
            false => format!("{given}: {}", sql_error(error)),
        };
        let (facts, name) = on_server(given, async |client| {
            let sql =
                "SELECT split_part(current_setting('server_version'), ' ', 1), current_setting('synchronous_commit'),
                current_setting('fsync'), current_setting('full_page_writes')";
            let facts = client.query_one(sql, &[]).await.map_err(failed)?;
            Ok((facts, create_under_a_free_name(client).await.map_err(failed)?))
        })?;
        let settings = [("fsync", 2), ("full_page_writes", 3)].into_iter();
        let off = settings.filter(|(_, at)| facts.get::<_, &str>(at) == "off").map(|(setting, _)| setting).collect();
        let version = format!("PostgreSQL {}", facts.get::<_, &str>(0));
        let (given, url, synchronous_commit) = (given.clone(), given.clone(), facts.get(1));
        let mut database = FreshDatabase { given, name, url, version, synchronous_commit, off };
        // Dropping it here removes it if its URL cannot be made.
        database.url = database.given.of_database(&database.name).map_err(|error| error.to_string())?;
        Ok(database)
    }

    /// Returns the durability of a reply of a server with its market in here.
    pub fn durability(&self) -> String {
        // The server turns it on where it is off.
        let setting = if self.synchronous_commit == "off" { "on" } else { &self.synchronous_commit };
        format!("committed to PostgreSQL, synchronous_commit {setting}")
    }

    /// Returns a warning about figures from it.
    pub fn warning(&self) -> Option<String> {
        let off = self.off.join(" and ");
        (!off.is_empty()).then(|| format!("the database's {off} is off: a power cut may lose what it committed"))
    }
}

async fn create_under_a_free_name(client: &Client) -> Result<String, Error> {
    let mut tries = 0;
    loop {
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME_START}_{}_{number}", std::process::id());
        tries += 1;
        // template0 has nothing that a site adds to its databases, and no connections.
        match client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).await {
            Err(error) if error.code() == Some(&SqlState::DUPLICATE_DATABASE) && tries < NAMES_MAX => {}
            created => return created.map(|()| name),
        }
    }
}

impl Drop for FreshDatabase {
    fn drop(&mut self) {
        let (name, given) = (&self.name, &self.given);
        // The server may have ended a moment ago: its connections go with the database.
        let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        let drop = async |client: &Client| client.batch_execute(&statement).await.map_err(sql_error);
        if let Err(fault) = on_server(given, drop) {
            eprintln!(
                "pricetime-bench: the database {name} is left at {given}: {fault}; drop it there: DROP DATABASE {name}"
            );
        }
    }
}

/// Runs `work` on a connection of its own. Errors: its own; no connection; a server that does not answer.
fn on_server<T>(url: &StoreUrl, work: impl AsyncFnOnce(&Client) -> Result<T, String>) -> Result<T, String> {
    let talk = async { work(&store::connect(url, NAME).await.map_err(|error| error.to_string())?).await };
    block_on(async {
        let within = tokio::time::timeout(PATIENCE, talk).await;
        within.unwrap_or_else(|_| Err(format!("{url}: no answer within {} s", PATIENCE.as_secs())))
    })
}

/// Returns an error with all of its causes: the driver's own text is `db error`.
pub fn sql_error(error: tokio_postgres::Error) -> String {
    let mut text = format!("PostgreSQL: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
