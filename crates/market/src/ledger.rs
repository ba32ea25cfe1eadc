//! A ledger keeps a market: it says when the order of commands is known, and when their answers may be released. One
//! loop ([`crate::turn`]) runs over any ledger.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Command, Engine, Event, Op, Sequence, Time};
use exchange::{Batch, Caller, Metrics};

/// Keeps the commands of a market, or what came of them.
///
/// The loop tells it of each turn, in this order: each command (`command`), whose they are (`asked_by`), that these are
/// all (`order`), each event (`event`), where a request ends (`request_applied`), that all is applied (`applied`), and
/// the batches with their answers (`release`). Between turns it looks after what it keeps (`tend`, `idle`). An error
/// ends the loop; of the turn that it came in nothing is released.
pub trait Ledger {
    type Error: std::fmt::Display;

    /// How much the next turn may take. Waits until there is room for something. None while nothing can be kept; then
    /// the batches that wait are refused.
    fn room(&mut self) -> Option<Room>;

    /// Who writes commands to it.
    fn writers(&self) -> Writers {
        Writers::This
    }

    /// The time that a command would have which is given now, when the loop's clock shows this; not before that of the last one. What is
    /// due is due by it.
    fn now(&mut self, engine: &Engine, shows: Time) -> Time {
        shows.max(engine.time())
    }

    /// Whether only commands that free something are admitted.
    fn is_nearly_full(&self) -> bool;

    /// The next command of the turn.
    fn command(&mut self, command: &Command);

    /// Whose the next ones of those commands are, in order, where that is kept: nobody asked for those of none.
    fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32);

    /// All commands of the turn were given, and the loop's clock shows `time`. Gives the time that they have; they are applied when it
    /// returns, and the first of them is the engine's next command. A ledger that others write to as well applies theirs before.
    fn order(&mut self, engine: &mut Engine, time: Time) -> Result<Time, Self::Error>;

    /// Whether `event` is to be called.
    fn needs_events(&self) -> bool;

    /// What a command of the turn did.
    fn event(&mut self, sequence: Sequence, time: Time, event: Event);

    /// Called when a command of a request is applied, and `next` comes behind it, if anything does. The events of a
    /// request that does very much may go to those who follow before it ends.
    #[inline]
    fn command_applied(&mut self, _: &Engine, _next: Option<&Op>) {}

    /// Called when a request of the turn is applied, or a command of the loop's own: readers may see the market as it
    /// is now.
    fn request_applied(&mut self, engine: &Engine);

    /// All of the turn is applied, and there are no more events of it.
    fn applied(&mut self, engine: &mut Engine);

    /// How long the disk took to sync the commands of the turn; none if it synced nothing, or others keep them.
    fn sync_time(&self) -> Option<Duration> {
        None
    }

    /// Records in the metrics how long the turn took.
    fn measure(&self, metrics: &Metrics, turn: &Measured);

    /// Gives the batches of the turn back as soon as what they tell is kept. They were applied at `applied`.
    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, applied: Instant);

    /// Called when no batch waits. `passed` is the time since a fixed moment.
    fn tend(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), Self::Error>;

    /// Called when nothing came for `patience`.
    fn idle(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), Self::Error>;

    /// How long the loop may sleep before `idle` has something to do; none if it has nothing to do.
    fn patience(&self) -> Option<Duration>;

    /// Called at the end. Keeps what is not kept yet, as far as the loop has to wait for that.
    fn close(&mut self, engine: &mut Engine) -> Result<(), Self::Error>;
}

/// Who writes commands to a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writers {
    /// This server alone.
    #[default]
    This,
    /// This server and others.
    Several,
    /// Others alone: this server only follows.
    Others,
    /// Nobody now: the log that this server and others write to is away. What is known is told.
    Nobody,
}

/// How much a turn may take. It always takes its first batch, however large that is.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub ops: usize,
    pub batches: usize,
}

impl Room {
    /// How many of the batches the turn takes.
    pub(crate) fn for_first_of(&self, batches: &[Box<Batch>]) -> usize {
        let mut ops = 0;
        let cut = batches.iter().position(|batch| {
            ops += batch.requests.ops().len();
            ops > self.ops
        });
        cut.map_or(batches.len(), |cut| cut.max(1)).min(self.batches)
    }
}

/// What a turn took, and when.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub requests: usize,
    pub ops: usize,
    /// Ops that waited when the turn began, its own included.
    pub waiting: usize,
    pub begun: Instant,
    /// When the order of its commands was known.
    pub ordered: Instant,
    /// When all of it was applied.
    pub applied: Instant,
}
