//! The standing of the database: the sequence row with its epoch, and the lock by which servers notice each other
//! early. The lock is a courtesy, since it ends with its connection while writes may be on their way; the epoch in the
//! sequence row is what keeps an old server from writing.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use terms::{OrderId, Sequence};
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

use crate::column::Single;
use crate::effects::Head;
use crate::error::StoreError;
use crate::fields::Fields;
use crate::session::{APPLICATION, Session};

/// The number of take-overs of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// The sequence row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The head: the last command whose effects are in the rows.
    pub head: Head,
    /// The epoch of the last take-over.
    pub epoch: Epoch,
    /// The server that took over.
    pub writer: String,
    /// The time of the take-over, as text.
    pub since: String,
}

/// The advisory lock that a server holds: "pricetim" in ASCII.
const LOCK_KEY: i64 = i64::from_be_bytes(*b"pricetim");

/// The sequence row, and whether a commit waits for another server of the database.
macro_rules! row {
    () => {
        "sequence, time, next_order, next_execution, epoch, writer, to_char(since, 'YYYY-MM-DD HH24:MI:SS TZ'),
        current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') NOT IN ('off', 'local')"
    };
}
const STANDING: &str = concat!("SELECT ", row!(), " FROM pricetime.command_sequence");
/// Changes nothing, but is a commit: it comes after everything that it sees, so a standby that has it has all of that.
const SETTLE: &str = concat!("UPDATE pricetime.command_sequence SET epoch = epoch RETURNING ", row!());

/// Reads the sequence row.
pub(crate) async fn standing(session: &Session) -> Result<Standing, tokio_postgres::Error> {
    let statement = session.client.prepare(STANDING).await?;
    Ok(stands(session, &statement).await?.0)
}

/// The rule by which a standing counts: one that was read, or one that a commit saw if commits wait for another server.
/// A query may show a transaction whose connection broke and that is only on this database's disk, while its commit
/// still waits for the standby. And a database that a standby has replaced can still be read, but can no longer commit.
#[derive(Default)]
pub(crate) struct Settling {
    /// Whether commits waited for another server at the last question of this connection.
    commits_wait: bool,
}

/// The statement by which a standing was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandingStatement {
    Read,
    /// A commit that changes nothing.
    Settled,
}

impl Settling {
    pub(crate) fn first(&self) -> StandingStatement {
        if self.commits_wait { StandingStatement::Settled } else { StandingStatement::Read }
    }

    /// Notes whether an answer says that commits wait. Returns the next statement; none if the answer counts.
    pub(crate) fn next(&mut self, asked: StandingStatement, commits_wait: bool) -> Option<StandingStatement> {
        match asked {
            StandingStatement::Read => commits_wait.then_some(StandingStatement::Settled),
            StandingStatement::Settled => {
                self.commits_wait = commits_wait;
                None
            }
        }
    }
}

/// Asks for the database's standing, mostly in one round trip.
pub(crate) struct Question {
    read: Statement,
    settle: Statement,
    settling: Settling,
    /// A question that was sent, and whose answer nobody waited for to the end. No other is asked before it is there:
    /// while a standby is away each would be one more commit that waits.
    /// The lock is never waited for: it lets threads share a writer.
    unanswered: Mutex<Option<Answer>>,
}

/// An answer that is on its way.
type Answer = Pin<Box<dyn Future<Output = Result<(Standing, bool), tokio_postgres::Error>> + Send>>;

impl Question {
    pub(crate) async fn new(session: &Session) -> Result<Question, tokio_postgres::Error> {
        let (read, settle) = (session.client.prepare(STANDING).await?, session.client.prepare(SETTLE).await?);
        Ok(Question { read, settle, settling: Settling::default(), unanswered: Mutex::new(None) })
    }

    pub(crate) async fn ask(&mut self, session: &Arc<Session>) -> Result<Standing, tokio_postgres::Error> {
        if let Some(former) = self.unanswered() {
            // What it says is of then.
            let _ = former.await;
            *self.unanswered() = None;
        }
        let mut way = self.settling.first();
        loop {
            let statement = match way {
                StandingStatement::Read => self.read.clone(),
                StandingStatement::Settled => self.settle.clone(),
            };
            let (standing, commits_wait) = self.answer(session, statement).await?;
            match self.settling.next(way, commits_wait) {
                None => return Ok(standing),
                Some(next) => way = next,
            }
        }
    }

    fn unanswered(&mut self) -> &mut Option<Answer> {
        self.unanswered.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(
        &mut self,
        session: &Arc<Session>,
        statement: Statement,
    ) -> Result<(Standing, bool), tokio_postgres::Error> {
        let session = Arc::clone(session);
        let answer: Answer = Box::pin(async move { stands(&session, &statement).await });
        let answer = self.unanswered().insert(answer).await;
        *self.unanswered() = None;
        answer
    }
}

async fn stands(session: &Session, statement: &Statement) -> Result<(Standing, bool), tokio_postgres::Error> {
    let row = session.client.query_one(statement, &[]).await?;
    Ok((read(&row).unwrap_or_else(|_| unreadable()), row.get(7)))
}

/// The standing of a row that cannot be read: a sequence that no server expects.
fn unreadable() -> Standing {
    let head = Head { sequence: Sequence(u64::MAX), ..Head::ZERO };
    Standing { head, epoch: Epoch(0), writer: "nobody".to_owned(), since: "an unreadable time".to_owned() }
}

fn read(row: &tokio_postgres::Row) -> Result<Standing, StoreError> {
    let mut fields = Fields::of(row);
    let head = Head {
        sequence: Sequence(fields.next()?),
        time: fields.next()?,
        next_order: OrderId(fields.next()?),
        next_execution: fields.next()?,
    };
    let epoch = Epoch(fields.next()?);
    Ok(Standing { head, epoch, writer: fields.next::<&str>()?.to_owned(), since: fields.next::<&str>()?.to_owned() })
}

/// Raises the epoch in the name of `name`: no transaction that an earlier server still sends is committed from now on.
/// Removes positions of zero, which say the same as none.
pub(crate) async fn raise_epoch(session: &Session, name: &str) -> Result<Standing, StoreError> {
    let action = "take over the database";
    let raise = "
        UPDATE pricetime.command_sequence SET epoch = epoch + 1, writer = $1, since = now()
        RETURNING sequence, time, next_order, next_execution, epoch, writer, to_char(since, 'YYYY-MM-DD HH24:MI:SS TZ')";
    // Read committed: the statement waits for a batch that is being committed, and comes behind it.
    session.run("BEGIN ISOLATION LEVEL READ COMMITTED", action).await?;
    let raised = async {
        let row = session.client.query_one(raise, &[&name]).await?;
        let removed = session.client.execute("DELETE FROM pricetime.positions WHERE shares = 0", &[]).await?;
        Ok((row, removed))
    };
    let raised = raised.await.map_err(|error| session.error(&error, action));
    let ended = session.run(if raised.is_ok() { "COMMIT" } else { "ROLLBACK" }, action).await;
    let (row, removed) = raised?;
    ended?;
    if removed > 0 {
        tracing::info!(rows = removed, "rows of positions with zero shares are removed");
    }
    read(&row)
}

/// Takes the lock if it is free. Returns whether it did.
pub(crate) async fn try_lock(session: &Session) -> Result<bool, tokio_postgres::Error> {
    let row = session.client.query_typed_one("SELECT pg_try_advisory_lock($1)", &[(&LOCK_KEY, Type::INT8)]).await?;
    Ok(row.get(0))
}

/// The holder of the lock, as an error.
pub(crate) async fn lock_holder(session: &Session) -> StoreError {
    let holder = "
        SELECT coalesce(a.application_name, '?'), to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')
        FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (l.classid::bigint << 32) | l.objid::bigint = $1";
    match session.client.query_opt(holder, &[&Single(LOCK_KEY.unsigned_abs())]).await {
        Ok(row) => {
            let name: Option<String> = row.as_ref().map(|row| row.get(0));
            let name = name.unwrap_or_else(|| "?".to_owned());
            let since: Option<String> = row.and_then(|row| row.get(1));
            StoreError::AnotherServer {
                name: name.strip_prefix(APPLICATION).unwrap_or(&name).to_owned(),
                since: since.unwrap_or_else(|| "an unknown time".to_owned()),
            }
        }
        Err(error) => session.error(&error, "look who holds the lock"),
    }
}
