//! Errors of the database, for operators: what failed, why, and what to do. They also say which faults pass by
//! themselves, so that the writer waits and tries again.

use std::error::Error;
use std::io::ErrorKind;

use engine::ImportError;
use terms::{Sequence, Time};
use tokio_postgres::error::{DbError, SqlState};

/// The reason why the database cannot be used, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL is unusable.
    #[error("the store's URL {fault}; it looks like postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full")]
    Url {
        /// The fault in it.
        fault: String,
    },
    /// Certificates for TLS are unusable, or the two ends do not agree on TLS.
    #[error("TLS to the database: {fault}")]
    Tls {
        /// The fault.
        fault: String,
    },
    /// The connection is missing or broke. The writer tries again by itself; other operations do not.
    #[error("cannot reach the database {place}: {fault}; see that it runs and accepts connections from here")]
    Unreachable {
        /// The address of the database, without the password.
        place: String,
        /// The words of the system or the database.
        fault: String,
    },
    /// The database refused an operation.
    #[error("the database refused to {action}: {fault}")]
    Refused {
        /// The action that was refused.
        action: &'static str,
        /// The words of the database, with its code.
        fault: String,
    },
    /// The role lacks rights.
    #[error(
        "the role lacks a right to {action}: {fault}; connect as the owner of the schema pricetime, or, for a first start, \
         run as a superuser: GRANT CREATE ON DATABASE … TO …"
    )]
    Rights {
        /// The action that was refused.
        action: &'static str,
        /// The words of the database.
        fault: String,
    },
    /// Another server holds the database.
    #[error(
        "another server writes to this database: {name} since {since}; stop it first, or use --standby to wait for it"
    )]
    AnotherServer {
        /// The name that it gave itself.
        name: String,
        /// The time at which it took over or connected.
        since: String,
    },
    /// Another server has taken over.
    #[error(
        "the server {name} took over this database at {since}: this one has stopped writing, and nothing that it had not \
         committed was acknowledged"
    )]
    Fenced {
        /// The name that it gave itself.
        name: String,
        /// The time at which it took over.
        since: String,
    },
    /// The sequence row has a value that no server of this program can have written.
    #[error(
        "the database stands at command {found} where this server knows {expected}: somebody changed \
         pricetime.command_sequence by hand, or the database was restored; start the server again, so that it reads what is \
         there"
    )]
    Displaced {
        /// The sequence in the row.
        found: Sequence,
        /// The expected sequence.
        expected: Sequence,
    },
    /// Rows differ from those that the server left.
    #[error(
        "{fault}: somebody else changes the market's tables; nothing more is acknowledged; see docs/POSTGRES.md, when \
         someone else writes"
    )]
    ForeignWrite {
        /// The difference.
        fault: String,
    },
    /// A build before the first release made the schema.
    #[error(
        "the schema pricetime was made by a build before 0.1.0 (its first migration is {name}, this program's is {ours}): \
         this program cannot read it, and changed nothing; go on with the build that made it, or name an empty database"
    )]
    EarlierBuild {
        /// The name of its first migration.
        name: String,
        /// The name of this program's first migration.
        ours: &'static str,
    },
    /// A later program made the schema.
    #[error(
        "the schema pricetime is at version {found}, and this program knows versions to {known}: start the newer program"
    )]
    NewerSchema {
        /// The version found.
        found: i64,
        /// The last version that this program knows.
        known: i64,
    },
    /// An earlier program made the schema.
    #[error(
        "the schema pricetime is at version {found}, and this program needs {known}: start a server with it once, which migrates"
    )]
    OlderSchema {
        /// The version found.
        found: i64,
        /// The version needed.
        known: i64,
    },
    /// A migration was applied with another text.
    #[error(
        "migration {version} ({name}) was applied with another text than this program has: the program or the table \
         pricetime.migrations was altered; start the program that made this schema"
    )]
    AlteredMigration {
        /// The number of the migration.
        version: i64,
        /// The name of the migration.
        name: String,
    },
    /// A migration is missing between others.
    #[error("migration {version} is missing in pricetime.migrations though later ones are there: restore the table")]
    MissingMigration {
        /// The number of the migration.
        version: i64,
    },
    /// Another program made the schema.
    #[error(
        "there is a schema pricetime that this program did not make (no table pricetime.migrations): name another \
         database, or rename that schema"
    )]
    ForeignSchema,
    /// The database has no schema yet.
    #[error(
        "there is no market in this database yet (no schema pricetime): start a server with it once, or import one"
    )]
    NoSchema,
    /// An import needs an empty market.
    #[error("the database holds a market already (its sequence stands at {sequence}): import into an empty one")]
    NotEmpty {
        /// The sequence of the market that is there.
        sequence: Sequence,
    },
    /// An import by commands has begun and not ended.
    #[error(
        "an import into this database was stopped, or is under way, so a part of its market is missing: if nothing imports any \
         more, remove what is there (DROP SCHEMA pricetime CASCADE) and import again"
    )]
    HalfImported,
    /// A value that the server cannot have written.
    #[error("the column {column} holds a value that is out of its range: somebody else wrote it")]
    Unreadable {
        /// The column.
        column: String,
    },
    /// The rows make no sound exchange.
    #[error("the rows make no sound market: {0}; somebody else changed them: restore the database from a backup")]
    Unsound(#[from] ImportError),
    /// Rows that contradict each other.
    #[error("the rows contradict each other: {0}; somebody else changed them: restore the database from a backup")]
    Inconsistent(String),
    /// A list given to an import has a fault.
    #[error("what is to be imported is not sound: {0}")]
    Import(String),
    /// Retention removed these rows. All removed events happened up to this time.
    #[error("no longer kept: the database keeps what is newer")]
    NoLongerKept {
        /// The time of the last removed event.
        until: Time,
    },
    /// The writer was told to stop while the database was away.
    #[error("told to stop while the database was away: what was not acknowledged may or may not be committed")]
    Stopped,
    /// The system refused an operation.
    #[error("cannot {action}: {source}")]
    System {
        /// The action that was refused.
        action: &'static str,
        /// The words of the system.
        source: std::io::Error,
    },
}

/// The reason why a question has no answer.
pub(crate) enum Fault {
    /// A fault of the connection or the statement.
    Connection(tokio_postgres::Error),
    /// A fault in the rows.
    Rows(StoreError),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        Fault::Connection(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Rows(error)
    }
}

pub(crate) type StoreResult<T> = Result<T, Fault>;

/// Codes that the schema's own functions raise: see migrations/0001_schema.sql.
pub(crate) const NOT_AT_THE_SEQUENCE: &str = "PT001";
const CHANGE_REFUSED: &str = "PT002";
const UNEXPECTED_ROWS: &str = "PT003";

/// The consequence of an error of the driver.
pub(crate) enum ErrorClass {
    /// The fault passes: connect again if necessary, look what was committed, try again.
    Passing,
    /// The sequence row is not where this server left it.
    NotAtTheSequence,
    /// The fault stays.
    Lasting(StoreError),
}

/// Classifies an error of `action`.
pub(crate) fn classify(error: &tokio_postgres::Error, action: &'static str, place: &str) -> ErrorClass {
    let Some(db) = error.as_db_error() else {
        // Without an answer of the database the connection failed, or cut a message short.
        return ErrorClass::Passing;
    };
    if db.code().code() == NOT_AT_THE_SEQUENCE {
        return ErrorClass::NotAtTheSequence;
    }
    if passes(db.code()) { ErrorClass::Passing } else { ErrorClass::Lasting(lasting(db, action, place)) }
}

/// Makes the error of an operation that is not tried again.
pub(crate) fn final_error(error: &tokio_postgres::Error, action: &'static str, place: &str) -> StoreError {
    match error.as_db_error() {
        Some(db) => lasting(db, action, place),
        None if is_of_tls(error) => {
            let fault = format!("{place}: {}; see sslmode and sslrootcert in docs/POSTGRES.md", with_cause(error));
            StoreError::Tls { fault }
        }
        None => StoreError::Unreachable { place: place.to_owned(), fault: with_cause(error) },
    }
}

/// Whether the two ends do not agree on TLS. The driver says in its text alone that a handshake failed. One may also
/// end with its connection, as when the database is restarted.
fn is_of_tls(error: &tokio_postgres::Error) -> bool {
    let is_broken = error
        .source()
        .and_then(|cause| cause.downcast_ref::<std::io::Error>())
        .is_some_and(|cause| !matches!(cause.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput));
    error.to_string().starts_with("error performing TLS handshake") && !is_broken
}

fn lasting(db: &DbError, action: &'static str, place: &str) -> StoreError {
    let fault = described(db);
    match db.code() {
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::Rights { action, fault },
        code if [CHANGE_REFUSED, UNEXPECTED_ROWS].contains(&code.code()) => StoreError::ForeignWrite { fault },
        // The server's own rows violate no check, key or reference, so a violation shows rows of another writer.
        code if code.code().starts_with("23") => StoreError::ForeignWrite { fault },
        code if passes(code) => StoreError::Unreachable { place: place.to_owned(), fault },
        _ => StoreError::Refused { action, fault },
    }
}

/// Whether an operator, a restart or a moment mends errors of this class.
fn passes(code: &SqlState) -> bool {
    let code = code.code();
    // These are: connection, transaction rollback, resources (disk full, memory, connections), operator intervention
    // (restart, shutdown, statement_timeout), system; and a database that only reads until it is promoted.
    ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        || [SqlState::READ_ONLY_SQL_TRANSACTION.code(), SqlState::LOCK_NOT_AVAILABLE.code()].contains(&code)
}

fn described(db: &DbError) -> String {
    let detail = db.detail().map_or(String::new(), |detail| format!(" ({detail})"));
    format!("{}{detail} [{}]", db.message(), db.code().code())
}

/// The text of an error with its causes.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_cause(cause)),
        None => error.to_string(),
    }
}
