//! Commits batches, one transaction each, and finds out whether a batch was committed when the connection breaks. It
//! never writes a batch twice and never reports one that is not committed. The connection is that of writer.rs, or one
//! that the simulation drives.
//!
//! A batch is one statement outside a transaction block, so it is committed as a whole or not at all. It first moves
//! the sequence row from the batch's beginning to its end, and fails if the row is not at the beginning in this
//! server's epoch. So the row always says whether a batch was committed, and a batch that is sent again after its
//! commit does nothing. If commits wait for a standby, the row counts only after a later commit of this server has
//! succeeded: a broken connection may leave rows that only this database has.

use std::time::Duration;

use crate::effects::{Effects, Head};
use crate::error::StoreError;
use crate::standing::{Epoch, Standing};

/// Pauses between attempts to reach a database that is away: from the first, doubling, to the last.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The limits of waits.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    pub answer: Duration,
    /// The limit for a new connection.
    pub connect: Duration,
}

/// The patience of a commit, longer than anyone lives: nothing is lost by waiting.
const FOR_EVER: Patience = Patience { answer: CENTURY, connect: CENTURY };
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// The patience of a probe, which blocks the next commit. A connection takes some twenty round trips, so it is made in
/// time where one takes less than 0.2 s.
const PROBE: Patience = Patience { answer: Duration::from_secs(2), connect: Duration::from_secs(5) };

/// The connection to a database.
pub(crate) trait Connection {
    /// Sends a batch and waits for its commit. Errors: whether it is committed is not known.
    fn write(&mut self, effects: &Effects, epoch: Epoch) -> Result<(), Attempt>;
    /// Asks for the database's standing, on a new connection if necessary.
    fn ask(&mut self, patience: Patience) -> Result<Standing, Attempt>;
    /// Waits before the next attempt. Errors: `Stopped`.
    fn rest(&mut self, pause: Duration) -> Result<(), StoreError>;
}

/// The result of an attempt that failed.
pub(crate) enum Attempt {
    /// Try again after the sequence row has said what was committed.
    Again(String),
    Over(StoreError),
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The database answers, with the head that this writer left.
    Answered,
    /// The database does not answer at the moment.
    Missed { fault: String },
}

/// The commits of the one server that writes to a database, since it took over.
pub(crate) struct Commits<C> {
    pub(crate) connection: C,
    epoch: Epoch,
    /// The head of the rows, as far as this server knows.
    head: Head,
    /// Whether an error was returned after which nothing more can be committed.
    poisoned: bool,
}

impl<C: Connection> Commits<C> {
    /// Makes the commits of a server that took over and found the rows at `head`.
    pub(crate) fn new(connection: C, epoch: Epoch, head: Head) -> Commits<C> {
        Commits { connection, epoch, head, poisoned: false }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The head of the rows, where the next effects begin.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Commits effects: see [`crate::Writer::commit`].
    pub(crate) fn commit(&mut self, effects: &Effects) -> Result<(), StoreError> {
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

    /// Confirms that no other server has taken over: see [`crate::Writer::confirm`].
    pub(crate) fn confirm(&mut self) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        while let Probe::Missed { fault } = self.see(FOR_EVER)? {
            tracing::warn!(fault, "the database does not say who writes to it; asking again");
            self.connection.rest(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        Ok(())
    }

    /// Reads the standing of the database: see [`crate::Writer::probe`].
    pub(crate) fn probe(&mut self) -> Result<Probe, StoreError> {
        self.see(PROBE)
    }

    /// Whether the database is at the head that this writer left.
    fn see(&mut self, patience: Patience) -> Result<Probe, StoreError> {
        assert!(!self.poisoned, "invariant: a writer that failed is not used again");
        match self.connection.ask(patience) {
            Ok(standing) if (standing.epoch, standing.head) == (self.epoch, self.head) => Ok(Probe::Answered),
            Ok(standing) => Err(self.over(self.displaced(&standing))),
            Err(Attempt::Again(fault)) => Ok(Probe::Missed { fault }),
            Err(Attempt::Over(StoreError::Stopped)) => Err(StoreError::Stopped),
            Err(Attempt::Over(error)) => Err(self.over(error)),
        }
    }

    fn commit_at_last(&mut self, effects: &Effects) -> Result<(), StoreError> {
        let mut pause = PAUSE_MIN;
        let mut fault = match self.connection.write(effects, self.epoch) {
            Ok(()) => return Ok(()),
            Err(Attempt::Over(error)) => return Err(error),
            Err(Attempt::Again(fault)) => fault,
        };
        loop {
            tracing::warn!(fault, "the database does not take a commit; trying again");
            let tried = match self.look(effects) {
                Ok(Outcome::Committed) => return Ok(()),
                Ok(Outcome::Not) => self.connection.write(effects, self.epoch),
                Err(attempt) => Err(attempt),
            };
            fault = match tried {
                Ok(()) => return Ok(()),
                Err(Attempt::Over(error)) => return Err(error),
                Err(Attempt::Again(fault)) => fault,
            };
            self.connection.rest(pause)?;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Reads from the sequence row whether a batch was committed, on a new connection if necessary.
    fn look(&mut self, effects: &Effects) -> Result<Outcome, Attempt> {
        let standing = self.connection.ask(FOR_EVER)?;
        if standing.epoch == self.epoch && standing.head == effects.after {
            return Ok(Outcome::Committed);
        }
        if standing.epoch == self.epoch && standing.head == effects.before {
            return Ok(Outcome::Not);
        }
        Err(Attempt::Over(self.displaced(&standing)))
    }

    pub(crate) fn displaced(&self, standing: &Standing) -> StoreError {
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
}

/// The outcome of a batch.
enum Outcome {
    Committed,
    Not,
}
