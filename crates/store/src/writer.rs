//! The writer of a database: its connection, which it opens anew when that breaks, and the lock. The rules of its
//! commits are those of commits.rs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::batch_statement::BatchStatement;
use crate::commits::{Attempt, Commits, Connection, Patience, Probe};
use crate::effects::{Effects, Head};
use crate::error::{ErrorClass, StoreError, classify, final_error};
use crate::load::{self, Loaded};
use crate::parts::{self, PartEnds};
use crate::session::{Backend, Connector, Purpose, Session};
use crate::standing::{self, Epoch, Question, Standing};
use crate::stop::{Stop, unless_stopped};

/// The one server that writes to a database, since it took over.
pub struct Writer {
    commits: Commits<Way>,
}

/// The way to the database.
pub(crate) struct Way {
    // The link stands before the runtime, so that it is dropped while it can still close its connection.
    link: Option<Link>,
    runtime: Runtime,
    connector: Connector,
    /// The process of the last connection, which is ended if it outlives the connection.
    last: Option<Backend>,
    stop: Stop,
}

/// A connection that is ready to write.
struct Link {
    session: Arc<Session>,
    batch: BatchStatement,
    question: Question,
    /// The ends of the existing parts.
    ends: PartEnds,
    /// Whether this connection holds the lock. The process of the previous connection may have held it for longer.
    locked: bool,
}

impl Link {
    async fn new(session: Session, locked: bool) -> Result<Link, tokio_postgres::Error> {
        let batch = BatchStatement::new(&session).await?;
        let question = Question::new(&session).await?;
        let ends = parts::ends(&session).await?;
        Ok(Link { session: Arc::new(session), batch, question, ends, locked })
    }

    /// Asks for the database's standing.
    async fn ask(&mut self) -> Result<Standing, tokio_postgres::Error> {
        self.take_lock().await?;
        self.question.ask(&self.session).await
    }

    /// Takes the lock, if this connection does not hold it and it is free now.
    async fn take_lock(&mut self) -> Result<(), tokio_postgres::Error> {
        if !self.locked && standing::try_lock(&self.session).await? {
            tracing::info!("the database's lock is this server's again");
            self.locked = true;
        }
        Ok(())
    }

    /// Commits a batch. Before that it makes missing parts for the batch's rows.
    async fn write(&mut self, effects: &Effects, epoch: Epoch) -> Result<(), tokio_postgres::Error> {
        self.take_lock().await?;
        if !self.ends.have_room_for(&effects.after) {
            self.ends = parts::make(&self.session, epoch, &effects.after).await?;
        }
        self.batch.write(&self.session, effects, epoch).await
    }
}

impl Writer {
    /// Makes the writer of a session that holds the lock and has just raised the epoch.
    pub(crate) fn new(
        runtime: Runtime,
        connector: Connector,
        session: Session,
        standing: &Standing,
        stop: Stop,
    ) -> Result<Writer, StoreError> {
        let (last, place) = (session.backend().clone(), connector.place());
        let link = runtime.block_on(Link::new(session, true)).map_err(|error| final_error(&error, "write", &place))?;
        let way = Way { link: Some(link), runtime, connector, last: Some(last), stop };
        Ok(Writer { commits: Commits::new(way, standing.epoch, standing.head) })
    }

    /// The epoch of this writer.
    pub fn epoch(&self) -> Epoch {
        self.commits.epoch()
    }

    /// The head of the rows, where the next effects begin.
    pub fn head(&self) -> Head {
        self.commits.head()
    }

    /// Reads the committed market, which no one can have changed since this writer took over. Done orders and the seed
    /// are those of [`engine::Engine::new`]. Errors: `Unsound`, `Unreachable`, `Unreadable`.
    pub fn load(&mut self, hash_seed: u64, done_orders: engine::DoneOrders) -> Result<Loaded, StoreError> {
        let Way { runtime, connector, .. } = &self.commits.connection;
        let loaded = runtime.block_on(async {
            let session = connector.open(Purpose::Read).await;
            let session = session.map_err(|error| final_error(&error, "read the market", &connector.place()))?;
            load::load(&session, hash_seed, done_orders).await
        })?;
        match (loaded.standing.epoch, loaded.standing.head) == (self.epoch(), self.head()) {
            true => Ok(loaded),
            false => Err(self.commits.displaced(&loaded.standing)),
        }
    }

    /// Commits effects that begin where the last ones ended. Returns when they are durable. While the database is away
    /// it waits and tries again, for ever unless told to stop. After an error nothing more can be committed, and
    /// nothing of these effects may be acknowledged.
    pub fn commit(&mut self, effects: &Effects) -> Result<(), StoreError> {
        self.commits.commit(effects)
    }

    /// Returns after the database has said, later than the call, that no other server has taken over, so that this
    /// server knew everything committed then. It serves answers to queries, which commit nothing. While the database is
    /// away it waits and asks again, for ever unless told to stop. Errors: those of `commit`, whose next call would
    /// fail.
    pub fn confirm(&mut self) -> Result<(), StoreError> {
        self.commits.confirm()
    }

    /// Reads the standing of the database, on a new connection if necessary, for a writer without work. Waits a few
    /// seconds at most. Errors: those of `commit`, whose next call would fail.
    pub fn probe(&mut self) -> Result<Probe, StoreError> {
        self.commits.probe()
    }

    /// The commits alone.
    pub(crate) fn into_commits(self) -> Commits<Way> {
        self.commits
    }

    /// Closes the connection, and with it gives up the lock.
    pub fn close(mut self) {
        let way = &mut self.commits.connection;
        if let Some(link) = way.link.take() {
            drop(link);
            // The connection's task notices that its client is gone, and closes the connection.
            way.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
        }
    }
}

impl Connection for Way {
    fn write(&mut self, effects: &Effects, epoch: Epoch) -> Result<(), Attempt> {
        let Some(link) = &mut self.link else { return Err(Attempt::Again("there is no connection".to_owned())) };
        let written = link.write(effects, epoch);
        match self.runtime.block_on(unless_stopped(written, &self.stop)) {
            Some(Ok(())) => said_to_wait(link, ()),
            Some(Err(error)) => Err(self.judge(&error)),
            None => Err(Attempt::Over(StoreError::Stopped)),
        }
    }

    fn ask(&mut self, patience: Patience) -> Result<Standing, Attempt> {
        if self.link.as_ref().is_none_or(|link| link.session.client.is_closed()) {
            self.link = None;
            self.reconnect(patience.connect)?;
        }
        let Some(link) = &mut self.link else { return Err(Attempt::Again("there is no connection".to_owned())) };
        let answer = in_time(link.ask(), patience.answer);
        match self.runtime.block_on(unless_stopped(answer, &self.stop)) {
            Some(Some(Ok(standing))) => said_to_wait(link, standing),
            Some(Some(Err(error))) => Err(self.judge(&error)),
            Some(None) => Err(Attempt::Again(format!("no answer in {:?}", patience.answer))),
            None => Err(Attempt::Over(StoreError::Stopped)),
        }
    }

    fn rest(&mut self, pause: Duration) -> Result<(), StoreError> {
        match self.runtime.block_on(unless_stopped(async { tokio::time::sleep(pause).await }, &self.stop)) {
            Some(()) => Ok(()),
            None => Err(StoreError::Stopped),
        }
    }
}

impl Way {
    /// Opens a connection, ends the process of the last one if it still runs, and takes the lock again if it is free.
    fn reconnect(&mut self, patience: Duration) -> Result<(), Attempt> {
        let Way { runtime, connector, last, stop, .. } = self;
        let opening = async {
            let session = connector.open(Purpose::Write).await?;
            if let Some(last) = &*last {
                session.end(last).await?;
            }
            // Where this takes too long, because somebody has locked a table, the next attempt ends this process.
            *last = Some(session.backend().clone());
            let locked = standing::try_lock(&session).await?;
            Link::new(session, locked).await
        };
        match runtime.block_on(unless_stopped(in_time(opening, patience), stop)) {
            Some(Some(Ok(link))) => {
                if !link.locked {
                    // The holder is either our old process, which ends after a while, or a server that is about to
                    // raise the epoch, which the row will show.
                    tracing::warn!("another session holds the database's lock");
                }
                tracing::info!("connected to the database again");
                self.link = Some(link);
                Ok(())
            }
            Some(Some(Err(error))) => Err(self.judge(&error)),
            Some(None) => Err(Attempt::Again(format!("no connection in {patience:?}"))),
            None => Err(Attempt::Over(StoreError::Stopped)),
        }
    }

    fn judge(&self, error: &tokio_postgres::Error) -> Attempt {
        match classify(error, "write", &self.connector.place()) {
            // The sequence moved: by an attempt of this server that was committed after all, or by another server.
            ErrorClass::Passing | ErrorClass::NotAtTheSequence => Attempt::Again(crate::error::with_cause(error)),
            ErrorClass::Lasting(error) => Attempt::Over(error),
        }
    }
}

/// Returns `value` if its commit waited for the standby. Errors: the commit did not wait.
fn said_to_wait<T>(link: &Link, value: T) -> Result<T, Attempt> {
    match link.session.broken_wait() {
        Some(fault) => Err(Attempt::Again(fault.to_owned())),
        None => Ok(value),
    }
}

/// Returns the result of `future`, if it comes in time.
async fn in_time<T>(future: impl Future<Output = T>, patience: Duration) -> Option<T> {
    tokio::time::timeout(patience, future).await.ok()
}
