//! Commits batches, one transaction each, and finds out whether a batch was committed when the connection breaks. It
//! never writes a batch twice and never reports one that is not committed.
//!
//! A batch is one statement outside a transaction block, so it is committed as a whole or not at all. It first moves
//! the sequence row from the batch's beginning to its end, and fails if the row is not at the beginning in this
//! server's epoch. So the row always says whether a batch was committed, and a batch that is sent again after its
//! commit does nothing. If commits wait for a standby, the row counts only after a later commit of this server has
//! succeeded: a broken connection may leave rows that only this database has.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::batch_statement::BatchStatement;
use crate::effects::{Effects, Head};
use crate::error::{ErrorClass, StoreError, classify, final_error};
use crate::load::{self, Loaded};
use crate::parts::{self, PartEnds};
use crate::session::{Backend, Connector, Purpose, Session};
use crate::standing::{self, Epoch, Question, Standing};
use crate::stop::{Stop, unless_stopped};

/// Pauses between attempts to reach a database that is away: from the first, doubling, to the last.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The limits of waits.
#[derive(Clone, Copy)]
struct Patience {
    answer: Duration,
    /// The limit for a new connection.
    connect: Duration,
}

/// The patience of a commit, longer than anyone lives: nothing is lost by waiting.
const FOR_EVER: Patience = Patience { answer: CENTURY, connect: CENTURY };
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// The patience of a probe, which blocks the next commit. A connection takes some twenty round trips, so it is made in
/// time where one takes less than 0.2 s.
const PROBE: Patience = Patience { answer: Duration::from_secs(2), connect: Duration::from_secs(5) };

/// The one server that writes to a database, since it took over.
pub struct Writer {
    // The link stands before the runtime, so that it is dropped while it can still close its connection.
    link: Option<Link>,
    runtime: Runtime,
    connector: Connector,
    epoch: Epoch,
    /// The head of the rows, as far as this writer knows.
    head: Head,
    /// The process of the last connection, which is ended if it outlives the connection.
    last: Option<Backend>,
    /// Whether an error was returned after which nothing more can be committed.
    poisoned: bool,
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

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The database answers, with the head that this writer left.
    Answered,
    /// The database does not answer at the moment.
    Missed { fault: String },
}

/// The result of an attempt that failed.
enum Attempt {
    /// Try again after the sequence row has said what was committed.
    Again(String),
    Over(StoreError),
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
        Ok(Writer {
            last: Some(last),
            link: Some(link),
            runtime,
            connector,
            epoch: standing.epoch,
            head: standing.head,
            poisoned: false,
            stop,
        })
    }

    /// The epoch of this writer.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The head of the rows, where the next effects begin.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Reads the committed market, which no one can have changed since this writer took over. Done orders and the seed
    /// are those of [`engine::Engine::new`]. Errors: `Unsound`, `Unreachable`, `Unreadable`.
    pub fn load(&mut self, hash_seed: u64, done_orders: engine::DoneOrders) -> Result<Loaded, StoreError> {
        let loaded = self.runtime.block_on(async {
            let session = self.connector.open(Purpose::Read).await;
            let place = self.connector.place();
            let session = session.map_err(|error| final_error(&error, "read the market", &place))?;
            load::load(&session, hash_seed, done_orders).await
        })?;
        match loaded.standing.epoch == self.epoch && loaded.standing.head == self.head {
            true => Ok(loaded),
            false => Err(self.displaced(&loaded.standing)),
        }
    }

    /// Commits effects that begin where the last ones ended. Returns when they are durable. While the database is away
    /// it waits and tries again, for ever unless told to stop. After an error nothing more can be committed, and
    /// nothing of these effects may be acknowledged.
    pub fn commit(&mut self, effects: &Effects) -> Result<(), StoreError> {
        assert!(!self.poisoned, "invariant: a writer that failed is not used again");
        assert!(effects.before == self.head, "invariant: effects begin where the last ones ended");
        if effects.is_empty() {
            return Ok(());
        }
        let outcome = self.commit_at_last(effects);
        match &outcome {
            Ok(()) => self.head = effects.after,
            Err(_) => self.poisoned = true,
        }
        outcome
    }

    /// Returns after the database has said, later than the call, that no other server has taken over, so that this
    /// server knew everything committed then. It serves answers to queries, which commit nothing. While the database is
    /// away it waits and asks again, for ever unless told to stop. Errors: those of `commit`, whose next call would
    /// fail.
    pub fn confirm(&mut self) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        while let Probe::Missed { fault } = self.see(FOR_EVER)? {
            tracing::warn!(fault, "the database does not say who writes to it; asking again");
            self.rest(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(())
    }

    /// Reads the standing of the database, on a new connection if necessary, for a writer without work. Waits a few
    /// seconds at most. Errors: those of `commit`, whose next call would fail.
    pub fn probe(&mut self) -> Result<Probe, StoreError> {
        self.see(PROBE)
    }

    /// Whether the database is at the head that this writer left.
    fn see(&mut self, patience: Patience) -> Result<Probe, StoreError> {
        assert!(!self.poisoned, "invariant: a writer that failed is not used again");
        match self.ask(patience) {
            Ok(standing) if (standing.epoch, standing.head) == (self.epoch, self.head) => Ok(Probe::Answered),
            Ok(standing) => Err(self.over(self.displaced(&standing))),
            Err(Attempt::Again(fault)) => Ok(Probe::Missed { fault }),
            Err(Attempt::Over(StoreError::Stopped)) => Err(StoreError::Stopped),
            Err(Attempt::Over(error)) => Err(self.over(error)),
        }
    }

    /// Closes the connection, and with it gives up the lock.
    pub fn close(mut self) {
        if let Some(link) = self.link.take() {
            drop(link);
            // The connection's task notices that its client is gone, and closes the connection.
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
        }
    }

    fn commit_at_last(&mut self, effects: &Effects) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        let mut fault = match self.write(effects) {
            Ok(()) => return Ok(()),
            Err(Attempt::Over(error)) => return Err(error),
            Err(Attempt::Again(fault)) => fault,
        };
        loop {
            tracing::warn!(fault, "the database does not take a commit; trying again");
            let tried = match self.look(effects) {
                Ok(Outcome::Committed) => return Ok(()),
                Ok(Outcome::Not) => self.write(effects),
                Err(attempt) => Err(attempt),
            };
            fault = match tried {
                Ok(()) => return Ok(()),
                Err(Attempt::Over(error)) => return Err(error),
                Err(Attempt::Again(fault)) => fault,
            };
            self.rest(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Sends the batch and waits for its commit.
    fn write(&mut self, effects: &Effects) -> Result<(), Attempt> {
        let Some(link) = &mut self.link else { return Err(Attempt::Again("there is no connection".to_owned())) };
        let written = link.write(effects, self.epoch);
        match self.runtime.block_on(unless_stopped(written, &self.stop)) {
            Some(Ok(())) => said_to_wait(link, ()),
            Some(Err(error)) => Err(self.judge(&error)),
            None => Err(Attempt::Over(StoreError::Stopped)),
        }
    }

    /// Reads from the sequence row whether a batch was committed, on a new connection if necessary.
    fn look(&mut self, effects: &Effects) -> Result<Outcome, Attempt> {
        let standing = self.ask(FOR_EVER)?;
        if standing.epoch == self.epoch && standing.head == effects.after {
            return Ok(Outcome::Committed);
        }
        if standing.epoch == self.epoch && standing.head == effects.before {
            return Ok(Outcome::Not);
        }
        Err(Attempt::Over(self.displaced(&standing)))
    }

    /// Asks for the database's standing, on a new connection if necessary.
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

    /// Opens a connection, ends the process of the last one if it still runs, and takes the lock again if it is free.
    fn reconnect(&mut self, patience: Duration) -> Result<(), Attempt> {
        let opening = async {
            let session = self.connector.open(Purpose::Write).await?;
            if let Some(last) = &self.last {
                session.end(last).await?;
            }
            let locked = standing::try_lock(&session).await?;
            Link::new(session, locked).await
        };
        match self.runtime.block_on(unless_stopped(in_time(opening, patience), &self.stop)) {
            Some(Some(Ok(link))) => {
                if !link.locked {
                    // The holder is either our old process, which ends after a while, or a server that is about to
                    // raise the epoch, which the row will show.
                    tracing::warn!("another session holds the database's lock");
                }
                tracing::info!("connected to the database again");
                self.last = Some(link.session.backend().clone());
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

    fn displaced(&self, standing: &Standing) -> StoreError {
        match standing.epoch > self.epoch {
            true => StoreError::Fenced { name: standing.writer.clone(), since: standing.since.clone() },
            false => StoreError::Displaced { found: standing.head.sequence, expected: self.head.sequence },
        }
    }

    /// Notes that nothing more can be committed.
    fn over(&mut self, error: StoreError) -> StoreError {
        self.poisoned = true;
        error
    }

    fn rest(&self, pause: Duration) -> Result<(), StoreError> {
        match self.runtime.block_on(unless_stopped(async { tokio::time::sleep(pause).await }, &self.stop)) {
            Some(()) => Ok(()),
            None => Err(StoreError::Stopped),
        }
    }
}

/// The outcome of a batch.
enum Outcome {
    Committed,
    Not,
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
