//! The schema and its migrations: numbered texts, each applied once, in order, in a transaction of its own, and noted
//! with a checksum. A program refuses a schema that it does not know.

use tokio_postgres::error::SqlState;

use crate::error::StoreError;
use crate::session::Session;

/// A step from one version of the schema to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The number, from 1, without gaps.
    pub version: i64,
    /// The file name.
    pub name: &'static str,
    /// The statements.
    pub sql: &'static str,
}

/// All migrations of this program. The first one makes the whole schema.
pub const MIGRATIONS: &[Migration] =
    &[Migration { version: 1, name: "0001_schema.sql", sql: include_str!("../migrations/0001_schema.sql") }];

/// The result of `migrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version found; 0 for an empty database.
    pub from: i64,
    /// The version now.
    pub to: i64,
}

const MIGRATIONS_TABLE: &str = "
    CREATE TABLE pricetime.migrations (
        version bigint PRIMARY KEY,
        name text NOT NULL,
        checksum text NOT NULL,
        applied timestamptz NOT NULL DEFAULT now()
    );
    COMMENT ON TABLE pricetime.migrations IS 'The steps that made this schema, with the checksums of their texts.';";

impl Migration {
    /// The xxh3-64 of its text, in hexadecimal.
    pub fn checksum(&self) -> String {
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(self.sql.as_bytes()))
    }
}

/// Applies the missing ones of `migrations`. Errors: `EarlierBuild`, `NewerSchema`, `AlteredMigration`,
/// `MissingMigration`, `ForeignSchema`, `Rights`.
pub(crate) async fn migrate(session: &Session, migrations: &[Migration]) -> Result<Migrated, StoreError> {
    let from = match found(session).await? {
        SchemaContent::Nothing => {
            create(session).await?;
            0
        }
        SchemaContent::Schema(applied) => check(&applied, migrations)?,
    };
    for migration in migrations.iter().filter(|migration| migration.version > from) {
        apply(session, migration).await?;
        tracing::info!(migration.version, migration.name, "the database's schema was migrated");
    }
    Ok(Migrated { from, to: from.max(migrations.last().map_or(0, |last| last.version)) })
}

/// Checks that the schema is the one that this program knows. Errors: those of `migrate`, and `NoSchema`,
/// `OlderSchema`.
pub(crate) async fn require(session: &Session) -> Result<(), StoreError> {
    let SchemaContent::Schema(applied) = found(session).await? else { return Err(StoreError::NoSchema) };
    let found = check(&applied, MIGRATIONS)?;
    match MIGRATIONS.last() {
        Some(last) if found < last.version => Err(StoreError::OlderSchema { found, known: last.version }),
        _ => Ok(()),
    }
}

/// The content of a database under the schema's name.
enum SchemaContent {
    Nothing,
    Schema(Vec<Applied>),
}

struct Applied {
    version: i64,
    name: String,
    checksum: String,
}

async fn found(session: &Session) -> Result<SchemaContent, StoreError> {
    let action = "read pricetime.migrations";
    let fail = |error| session.error(&error, action);
    let there = "
        SELECT to_regclass('pricetime.migrations') IS NOT NULL, EXISTS (
            SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'pricetime')";
    let row = session.client.query_one(there, &[]).await.map_err(|error| match error.code() {
        // The database looks the name up with the rights of the role.
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => session.error(&error, "look into the schema pricetime"),
        _ => session.error(&error, action),
    })?;
    match (row.get(0), row.get(1)) {
        (false, false) => return Ok(SchemaContent::Nothing),
        (false, true) => return Err(StoreError::ForeignSchema),
        (true, _) => {}
    }
    let list = "SELECT version, name, checksum FROM pricetime.migrations ORDER BY version";
    let rows = session.client.query(list, &[]).await.map_err(fail)?;
    let applied = rows.iter().map(|row| Applied { version: row.get(0), name: row.get(1), checksum: row.get(2) });
    Ok(SchemaContent::Schema(applied.collect()))
}

/// Compares the applied migrations with those of this program; returns the version.
fn check(applied: &[Applied], migrations: &[Migration]) -> Result<i64, StoreError> {
    let known = migrations.last().map_or(0, |last| last.version);
    // Builds before the first release had other migrations under these numbers, the first one by another name.
    if let (Some(first), Some(ours)) = (applied.first(), migrations.first())
        && first.version == ours.version
        && first.name != ours.name
    {
        return Err(StoreError::EarlierBuild { name: first.name.clone(), ours: ours.name });
    }
    if let Some(last) = applied.last().filter(|last| last.version > known) {
        return Err(StoreError::NewerSchema { found: last.version, known });
    }
    for (applied, migration) in applied.iter().zip(migrations) {
        if applied.version != migration.version {
            return Err(StoreError::MissingMigration { version: migration.version });
        }
        if applied.checksum != migration.checksum() {
            return Err(StoreError::AlteredMigration { version: applied.version, name: applied.name.clone() });
        }
    }
    Ok(applied.last().map_or(0, |last| last.version))
}

async fn create(session: &Session) -> Result<(), StoreError> {
    let sql = format!("BEGIN; CREATE SCHEMA IF NOT EXISTS pricetime; {MIGRATIONS_TABLE} COMMIT");
    in_transaction(session, &sql, "create the schema pricetime").await
}

async fn apply(session: &Session, migration: &Migration) -> Result<(), StoreError> {
    let (version, name, checksum) = (migration.version, migration.name, migration.checksum());
    let note = format!("INSERT INTO pricetime.migrations VALUES ({version}, '{name}', '{checksum}')");
    // A database with a `statement_timeout` is migrated all the same.
    let statements = migration.sql.trim_end().trim_end_matches(';');
    let sql = format!("BEGIN; SET LOCAL statement_timeout = 0; {statements}; {note}; COMMIT");
    in_transaction(session, &sql, "migrate the schema").await
}

async fn in_transaction(session: &Session, sql: &str, action: &'static str) -> Result<(), StoreError> {
    let outcome = session.run(sql, action).await;
    if outcome.is_err() {
        // If even this fails, the connection is gone and the transaction with it.
        let _ = session.client.batch_execute("ROLLBACK").await;
    }
    outcome
}
