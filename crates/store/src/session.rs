//! One connection to the database, with the settings that its purpose needs. This file does not know the schema.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Connection, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{StoreError, final_error};
use crate::tls;
use crate::url::StoreUrl;

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Commits batches. Its plans are the same on an empty table as on a full one: by index, one row at a time.
    Write,
    /// Looks up rows by their keys.
    LookUp,
    /// Reads whole tables.
    Read,
    /// Removes rows that are no longer kept.
    Remove,
}

/// Settings of all sessions: their reads and writes depend on no setting of the role or the database, and a commit is
/// durable (stricter settings than `on`, and `local`, are the operator's choice).
const SETTINGS: &str = "
    SET search_path = pg_catalog, pg_temp;
    SET TimeZone = 'UTC';
    SET client_min_messages = warning;
    SET default_transaction_isolation = 'repeatable read';
    SET jit = off;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";
const WRITE_SETTINGS: &str = "
    SET pricetime.server = 'on';
    SET default_transaction_read_only = off;";
/// Settings for plans by index, which is right for a batch, whatever the statistics say of a growing table.
const BY_INDEX_SETTINGS: &str = "
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;";
const READ_SETTINGS: &str = "
    SET work_mem = '256MB';";

/// Opens a connection without a session's settings, for programs that make and measure databases; pg_stat_activity
/// shows `name`. It must run on the runtime that will use it. Errors: `Tls`, `Unreachable`, `Refused`.
pub async fn connect(url: &StoreUrl, name: &str) -> Result<Client, StoreError> {
    let connector = Connector::new(url, name)?;
    let connected = connector.client(BrokenWait::default()).await;
    connected.map_err(|error| final_error(&error, "connect", &connector.place()))
}

/// Opens connections to one database.
pub(crate) struct Connector {
    url: StoreUrl,
    tls: MakeRustlsConnect,
}

/// An open connection.
pub(crate) struct Session {
    pub(crate) client: Client,
    /// The address, without the password.
    pub(crate) place: String,
    backend: Backend,
    broken_wait: BrokenWait,
}

/// Whether the database was told not to wait any longer for its synchronous standby. It reports that with a warning,
/// and then reports the transaction as committed: it is on the database's own disk, and a failover may lose it.
#[derive(Clone, Debug, Default)]
struct BrokenWait(Arc<AtomicBool>);

impl BrokenWait {
    /// The function of PostgreSQL that waits. The warning's text is translated, and this name is not.
    const WAITS: &str = "SyncRepWaitForLSN";
    const TOLD: &str = "the database was told to wait no longer for its standby: the commit may not be there yet";
}

/// The database's process behind a connection.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    process: i32,
    started: String,
}

impl Connector {
    /// Makes a connector to the database of `url`; pg_stat_activity shows `name`. Errors: `Tls`.
    pub(crate) fn new(url: &StoreUrl, name: &str) -> Result<Connector, StoreError> {
        let tls = tls::connector(url)?;
        let mut url = url.clone();
        url.config.application_name(format!("{APPLICATION}{name}"));
        Ok(Connector { url, tls })
    }

    pub(crate) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Opens a connection. Must run on the runtime that will use it.
    pub(crate) async fn open(&self, purpose: Purpose) -> Result<Session, tokio_postgres::Error> {
        let broken_wait = BrokenWait::default();
        let client = self.client(broken_wait.clone()).await?;
        let more = match purpose {
            Purpose::Write => [WRITE_SETTINGS, BY_INDEX_SETTINGS].concat(),
            Purpose::LookUp => BY_INDEX_SETTINGS.to_owned(),
            Purpose::Read => READ_SETTINGS.to_owned(),
            Purpose::Remove => [WRITE_SETTINGS, READ_SETTINGS].concat(),
        };
        client.batch_execute(&[SETTINGS, &more].concat()).await?;
        let row = client.query_typed_one(WHO_AM_I, &[]).await?;
        let (fsync, full_page_writes): (&str, &str) = (row.get(2), row.get(3));
        if purpose == Purpose::Write && (fsync, full_page_writes) != ("on", "on") {
            tracing::warn!(fsync, full_page_writes, "the database is set to lose what it committed in a power cut");
        }
        let backend = Backend { process: row.get(0), started: row.get(1) };
        Ok(Session { client, place: self.place(), backend, broken_wait })
    }

    async fn client(&self, broken_wait: BrokenWait) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = self.url.config.connect(self.tls.clone()).await?;
        tokio::spawn(pass_on(connection, broken_wait));
        Ok(client)
    }
}

/// Passes messages on in both directions. Ends when the client is dropped or the connection breaks, which the client's
/// calls report.
async fn pass_on<S, T>(mut connection: Connection<S, T>, broken_wait: BrokenWait)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message {
            tracing::info!("the database says {}: {}", notice.severity(), notice.message());
            if notice.routine() == Some(BrokenWait::WAITS) {
                broken_wait.0.store(true, Ordering::Release);
            }
        }
    }
}

/// The beginning of application_name.
pub(crate) const APPLICATION: &str = "pricetime ";

const WHO_AM_I: &str = "
    SELECT pid, backend_start::text, current_setting('fsync'), current_setting('full_page_writes')
    FROM pg_stat_activity WHERE pid = pg_backend_pid()";

impl Session {
    /// The database's process at the other end.
    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Ends the process of an earlier connection of this server, which may not have noticed its end and may hold the
    /// lock.
    pub(crate) async fn end(&self, other: &Backend) -> Result<(), tokio_postgres::Error> {
        let end = "
            SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
            WHERE pid = $1 AND backend_start::text = $2 AND pid <> pg_backend_pid()";
        let given: [(&(dyn ToSql + Sync), Type); 2] = [(&other.process, Type::INT4), (&other.started, Type::TEXT)];
        self.client.query_typed(end, &given).await.map(drop)
    }

    /// Prepares a statement. Errors: those of `action`.
    pub(crate) async fn prepare(&self, sql: &str, action: &'static str) -> Result<Statement, StoreError> {
        self.client.prepare(sql).await.map_err(|error| self.error(&error, action))
    }

    /// Runs statements in a row. Errors: those of `action`; `Unreachable` if a commit did not wait for its standby.
    pub(crate) async fn run(&self, sql: &str, action: &'static str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).await.map_err(|error| self.error(&error, action))?;
        match self.broken_wait() {
            Some(fault) => Err(StoreError::Unreachable { place: self.place.clone(), fault: fault.to_owned() }),
            None => Ok(()),
        }
    }

    /// A message, if a commit since the last call did not wait for its standby.
    pub(crate) fn broken_wait(&self) -> Option<&'static str> {
        self.broken_wait.0.swap(false, Ordering::AcqRel).then_some(BrokenWait::TOLD)
    }

    /// Makes the error of an operation that is not tried again.
    pub(crate) fn error(&self, error: &tokio_postgres::Error, action: &'static str) -> StoreError {
        final_error(error, action, &self.place)
    }
}
