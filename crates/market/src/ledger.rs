//! A ledger keeps a market: it fixes the order of commands, and says when their answers may be released. One loop
//! ([`crate::turn`]) runs over any ledger.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Engine;
use exchange::{Batch, Caller, Lag, Metrics};
use terms::{Command, Event, Op, Sequence, Time};

/// Keeps the commands of a market, or their effects.
///
/// The loop calls it for each turn, in this order: each command (`command`), their callers (`asked_by`), the end of the
/// commands (`order`), each event (`event`), the end of a request (`request_applied`), the end of the turn (`applied`),
/// and the batches with their answers (`release`). Between turns it looks after what it keeps (`tend`, `idle`). An
/// error ends the loop; nothing of the turn in which it came is released.
pub trait Ledger {
    type Error: std::fmt::Display;

    /// The room of the next turn. Waits until there is some. None while nothing can be kept; then the waiting batches
    /// are refused.
    fn room(&mut self) -> Option<Room>;

    /// The writers of its commands.
    fn writers(&self) -> Writers {
        Writers::This
    }

    /// The time of a command that is given now, when the loop's clock shows this, unless the last one had a later time.
    /// Deadlines, auctions, days and candles end by this time.
    fn now(&mut self, shows: Time) -> Time {
        shows
    }

    /// Whether only commands that free something are admitted.
    fn is_nearly_full(&self) -> bool;

    /// The lag of those who follow the events.
    fn lag(&self) -> Lag {
        Lag::None
    }

    /// Takes the next command of the turn.
    fn command(&mut self, command: &Command);

    /// Gives the caller of the next of these commands, in order, where callers are kept; none for commands of the loop.
    fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32);

    /// Ends the commands of the turn, while the loop's clock shows `time`. Returns the time of the commands when they
    /// may be applied; the first of them is then the engine's next command. A ledger with other writers applies their
    /// commands before. Calls `abandon` if the order stays unknown for longer than clients are to wait: their batches
    /// go back without answers, and the turn still waits.
    fn order(&mut self, engine: &mut Engine, time: Time, abandon: &mut dyn FnMut()) -> Result<Time, Self::Error>;

    /// Whether the ledger needs calls of `event`.
    fn needs_events(&self) -> bool;

    /// Takes an event of a command of the turn.
    fn event(&mut self, sequence: Sequence, time: Time, event: Event);

    /// Called after a command of a request was applied; `next` is the op behind it, if there is one. The events of a
    /// request that does very much may go to the followers before it ends.
    #[inline]
    fn command_applied(&mut self, _: &Engine, _next: Option<&Op>) {}

    /// Called after a request of the turn, or a command of the loop, was applied: readers may see the market as it is
    /// now.
    fn request_applied(&mut self, engine: &Engine);

    /// Called after the whole turn was applied, so that no more events of it come.
    fn applied(&mut self, engine: &mut Engine);

    /// The time that the disk took to sync the commands of the turn; none if it synced nothing, or others keep them.
    fn sync_time(&self) -> Option<Duration> {
        None
    }

    /// Records the duration of the turn in the metrics.
    fn measure(&self, metrics: &Metrics, turn: &Measured);

    /// Gives the batches of the turn back as soon as their answers are kept. They were applied at `applied`.
    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, applied: Instant);

    /// Called when no batch waits. `passed` is the time since a fixed moment.
    fn tend(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), Self::Error>;

    /// Called when no batch came for `patience`.
    fn idle(&mut self, engine: &mut Engine, passed: Duration) -> Result<(), Self::Error>;

    /// The time for which the loop may sleep before `idle` has something to do; none if it has nothing to do.
    fn patience(&self) -> Option<Duration>;

    /// Ends the ledger. Keeps what is not kept yet, as far as the loop has to wait for that.
    fn close(&mut self, engine: &mut Engine) -> Result<(), Self::Error>;
}

/// The writers of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writers {
    /// Only this server writes.
    #[default]
    This,
    /// Several servers write, and this is one of them.
    Several,
    /// Others alone: this server only follows.
    Others,
    /// No server can write now, because the shared log is away. Queries are answered with what is known.
    Nobody,
}

/// The most that a turn may take. It always takes its first batch, whatever its size.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub ops: usize,
    pub batches: usize,
}

impl Room {
    /// The number of batches that the turn takes.
    pub(crate) fn for_first_of(&self, batches: &[Box<Batch>]) -> usize {
        let mut ops = 0;
        let cut = batches.iter().position(|batch| {
            ops += batch.requests.ops().len();
            ops > self.ops
        });
        cut.map_or(batches.len(), |cut| cut.max(1)).min(self.batches)
    }
}

/// The content of a turn, and its times.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub requests: usize,
    pub ops: usize,
    /// The ops that waited when the turn began, its own included.
    pub waiting: usize,
    pub begun: Instant,
    /// The time at which the order of its commands was fixed.
    pub ordered: Instant,
    /// The time at which all of it was applied.
    pub applied: Instant,
}
